// Loads the transit feeds of a store, and decides whether a user's trips must be derived again with them.
import { type TransitSource, transitOf } from '../analysis/modes/transit-evidence.ts';
import { segmenterWith, shippedSegmenter } from '../analysis/segment.ts';
import type { Segmenter } from '../analysis/segmenter.ts';
import type { PipelineState } from '../model/pipeline-state.ts';
import type { Store } from '../store/store.ts';
import { parseIndex } from '../transit/feed-index.ts';
import { TransitNetwork, touches } from '../transit/network.ts';

export interface TransitFeeds {
  segmenter: Segmenter;
  evidence: TransitSource;
  /**
   * The ids of the feeds that may influence trips in the cells: feeds with stops near a cell, and all feeds of the same
   * agencies, because only one feed of an agency is used on a day. If `cells` is null (unknown): the ids of all feeds.
   */
  touching(cells: readonly string[] | null): string[];
}

/** A cache: making the feeds of five agencies takes 40 ms. */
const made = new WeakMap<Store, { ids: string; feeds: TransitFeeds }>();

/** Returns the feeds of a store; null if none was ever added. Reads them again only if feeds were added or removed. */
export async function loadFeeds(store: Store): Promise<TransitFeeds | null> {
  const listed = await store.feeds.list();
  if (listed.length === 0) return null;
  const present = listed.filter(({ facts }) => facts !== null).map(({ id }) => id);
  const ids = present.join();
  const known = made.get(store);
  if (known?.ids === ids) return known.feeds;
  const texts = await Promise.all(present.map((id) => store.feeds.index(id)));
  const indexes = texts.filter((text) => text !== null).map(parseIndex);
  const evidence = transitOf(new TransitNetwork(indexes));
  const feeds: TransitFeeds = {
    evidence,
    segmenter: indexes.length === 0 ? shippedSegmenter : segmenterWith({}, evidence),
    touching: (visited) => {
      const near = indexes.filter((index) => visited === null || touches(index, visited));
      const agencies = new Set(near.flatMap((index) => index.agencies));
      return indexes.filter((index) => index.agencies.some((agency) => agencies.has(agency))).map(({ id }) => id);
    },
  };
  made.set(store, { ids, feeds });
  return feeds;
}

/** True if the feeds where the user was have changed since the user's trips were derived. */
export function feedsDiffer(
  { analysis_version, cells, feeds: used }: Pick<PipelineState, 'analysis_version' | 'cells' | 'feeds'>,
  feeds: TransitFeeds | null,
): boolean {
  if (feeds === null || analysis_version === null) return false;
  return feeds.touching(cells).join() !== used.join();
}
