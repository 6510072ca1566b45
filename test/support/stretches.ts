// A history that is read and analysed in stretches.
import { analyse } from '../../src/analysis/analyse.ts';
import { keys } from '../../src/model/keys.ts';
import type { Carry, TripRecord } from '../../src/model/trip.ts';
import { readStretch, type StretchStore } from '../../src/pipeline/read-stretch.ts';

/** The chain, read in stretches whose sizes follow each other as listed, over and over. */
export async function chainIn(
  store: StretchStore,
  sizes: readonly number[],
  segmenter?: Parameters<typeof analyse>[1],
): Promise<TripRecord[]> {
  const records: TripRecord[] = [];
  let carry: Carry | null = null;
  let longer = 1;
  for (let i = 0; ; i += 1) {
    const size = sizes[i % sizes.length]! * longer;
    const stretch = await readStretch(store, 'u', keys.filteredLocation, carry, size);
    const found = analyse({ userId: 'u', ...stretch, carry }, segmenter);
    records.push(...found.records);
    if (stretch.loadedUntil === Number.POSITIVE_INFINITY) return records;
    const stuck: boolean = found.records.length === 0 && found.nextState?.resume_ts === carry?.resume_ts;
    longer = stuck ? longer * 2 : 1;
    carry = found.nextState;
  }
}

/** The chain, read as a whole. */
export const chainOfWhole = (store: StretchStore, segmenter?: Parameters<typeof analyse>[1]): Promise<TripRecord[]> =>
  chainIn(store, [1_000_000], segmenter);
