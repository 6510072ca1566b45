import { segmenterWith, shippedSegmenter } from '../analysis/segment.ts';
import type { Segmenter } from '../analysis/segmenter.ts';
import type { PipelineState } from '../model/pipeline-state.ts';
import type { Store } from '../store/store.ts';
import { parseIndex } from '../transit/feed-index.ts';
import { cellsOfFeed, TransitNetwork } from '../transit/network.ts';

/** The transit feeds of a store, as its pipeline uses them. */
export interface TransitFeeds {
  segmenter: Segmenter;
  /** Ids of the feeds with stops in any of the cells, in order; null: cells are not known yet. */
  touching(cells: readonly string[] | null): string[];
}

/** The network of the last set of feeds: making it takes 40 ms for five agencies. */
const made = new WeakMap<Store, { ids: string; feeds: TransitFeeds }>();

/**
 * Reads the feeds of a store; null if it never had one. Indexes are read again only if the set of feeds has changed.
 */
export async function loadFeeds(store: Store): Promise<TransitFeeds | null> {
  const listed = await store.feeds.list();
  if (listed.length === 0) return null;
  const present = listed.filter(({ facts }) => facts !== null).map(({ id }) => id);
  const ids = present.join();
  const known = made.get(store);
  if (known?.ids === ids) return known.feeds;
  const texts = await Promise.all(present.map((id) => store.feeds.index(id)));
  const indexes = texts.filter((text) => text !== null).map(parseIndex);
  const cells = indexes.map((index) => ({ id: index.id, cells: new Set(cellsOfFeed(index)) }));
  const feeds: TransitFeeds = {
    segmenter: indexes.length === 0 ? shippedSegmenter : segmenterWith({}, new TransitNetwork(indexes)),
    touching: (visited) =>
      cells.filter(({ cells: own }) => visited === null || visited.some((cell) => own.has(cell))).map(({ id }) => id),
  };
  made.set(store, { ids, feeds });
  return feeds;
}

/** True if the trips of a user were derived with other feeds than those around them now. */
export function feedsDiffer(
  { analysis_version, cells, feeds: used }: Pick<PipelineState, 'analysis_version' | 'cells' | 'feeds'>,
  feeds: TransitFeeds | null,
): boolean {
  if (feeds === null || analysis_version === null) return false;
  return feeds.touching(cells).join() !== used.join();
}
