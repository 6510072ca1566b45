// A ride by bus as a phone pushes it, and the feed of its line.
import type { Store } from '../../src/store/store.ts';
import { formatIndex } from '../../src/transit/feed-index.ts';
import { android, pushedMotions, pushedMove, pushedTransition } from '../support/pushes.ts';
import { type GtfsTexts, indexOf } from './town.ts';

/** Rests, walks to the stop, waits, rides east for 4 km at 5 m/s beside the bus line, and rests. */
export const ride = [
  ...pushedMove(android, { from: 0, to: 2900, east: -270 }),
  ...pushedMove(android, { from: 2930, to: 3130, speed: 1.35, every: 10, east: -270 }),
  ...pushedMove(android, { from: 3160, to: 3600 }),
  ...pushedMove(android, { from: 3630, to: 4430, speed: 5, every: 10 }),
  ...pushedMove(android, { from: 4460, to: 6000, east: 4000 }),
  ...pushedMotions(android, 2930, 3130, 'walking'),
  ...pushedMotions(android, 3140, 3620, 'still'),
  ...pushedMotions(android, 3630, 4430, 'automotive'),
  pushedTransition(android, 6000, 'STOPPED_MOVING'),
];

export async function addFeed(store: Store, id: string, changes: GtfsTexts = {}): Promise<void> {
  const index = formatIndex(await indexOf(id, changes));
  await store.feeds.add({ id, facts: {}, index }, (async function* () {})());
}
