// Finds problems of the transit feeds of a store.
//
//   today: 2024-03-08
//   feed 1  A Transit until 2020-12-31   no finding: feed 2 of the same agency is newer
//   feed 2  A Transit until 2030-12-31   no finding
//   feed 3  B Rail    until 2020-12-31   "ended on 2020-12-31: add the current feed of B Rail"
//           "40 of its 52 stops are in areas (0.5 degrees) that no person visited"
import type { FeedFacts } from '../import/add-feed.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { parseIndex } from '../transit/feed-index.ts';
import { coarseCell } from '../transit/network.ts';

export type ListedFeed = { id: string } & FeedFacts;

type FeedFinding = Pick<ListedFeed, 'id' | 'name'> & { problem: string };

/** The findings reveal no area that a person visited. */
export async function checkFeeds(store: Store, feeds: readonly ListedFeed[], today: string): Promise<FeedFinding[]> {
  const visited = new Set<string>();
  for await (const { uuid } of everyUser(store))
    for (const cell of (await store.pipeline.get(uuid)).cells ?? []) visited.add(cell);
  const findings: FeedFinding[] = [];
  for (const { id, name, notes, last_day, ...feed } of feeds) {
    const newest = feed.agencies.filter((agency) =>
      feeds.every((other) => !other.agencies.includes(agency) || other.last_day <= last_day),
    );
    const problems = lacksOf(notes);
    if (last_day < today && newest.length > 0)
      problems.unshift(`ended on ${last_day}: add the current feed of ${newest.join(', ')}`);
    const index = await store.feeds.index(id); // null: the feed was removed meanwhile
    const stops = index === null ? [] : parseIndex(index).stops;
    const outside = stops.filter((stop) => !visited.has(coarseCell(stop))).length;
    if (outside > 0 && visited.size > 0)
      problems.push(`${outside} of its ${stops.length} stops are in areas (0.5 degrees) that no person visited`);
    findings.push(...problems.map((problem) => ({ id, name, problem })));
  }
  return findings;
}

export function lacksOf(notes: FeedFacts['notes']): string[] {
  const counts = [
    [notes.no_shape, 'patterns without a shape: only their stops show the path'],
    [notes.no_times, 'patterns without times'],
    [notes.stops_left_out, 'stops left out: without a position, or with the id of another stop'],
    [notes.trips_left_out, 'trips left out: with fewer than two stops'],
    [notes.routes_left_out, 'routes left out: of a kind that the analysis does not use'],
    [notes.patterns_left_out, 'rare patterns left out'],
  ] as const;
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
}
