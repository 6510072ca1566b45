import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { type Labels, noLabels, readLabels } from '../diary/labels/load-labels.ts';
import { suggestionsReader } from '../diary/labels/load-suggestions.ts';
import type { LabelStore } from '../diary/labels/read-inputs.ts';
import { readStated } from '../diary/observed-time.ts';
import type { Entry } from '../model/entry.ts';
import { allTime, day, justAfter, type TimeRange } from '../model/time.ts';
import type { Store } from '../store/store.ts';
import { readInParts } from '../util/parts-of.ts';
import type { DerivedKey } from './derived-keys.ts';
import { type Element, elementsAt, everyElement } from './elements.ts';
import type { DerivedEntry } from './entries.ts';

export type DerivedTime = 'write_ts' | 'ts' | 'start_ts' | 'end_ts' | 'enter_ts' | 'exit_ts';

export type DerivedStore = LabelStore & Pick<Store, 'pipeline'>;

const batchSize = 50; // elements in memory at one time, with their labels

export async function* derivedEntries(
  store: DerivedStore,
  userId: string,
  keys: readonly DerivedKey[],
  { time, ...range }: TimeRange & { time: DerivedTime },
  withSuggestions = false,
): AsyncGenerator<DerivedEntry, undefined> {
  if (keys.length === 0) return;
  const suggests = withSuggestions && keys.some((key) => key.suggests);
  const suggestionsFor = suggests ? suggestionsReader(store, userId) : null;
  const withLabels = keys.some(({ labels }) => labels);
  const source = time === 'write_ts' ? byWriting(store, userId, range) : byTime(store, userId, range);
  for await (const batch of readInParts(source, batchSize)) {
    const labels = withLabels ? await labelsAround(store, userId, batch) : noLabels;
    const trips = batch.flatMap(({ element }) => (element.kind === 'trip' ? [element.trip] : []));
    const suggestions = (await suggestionsFor?.(trips, labels)) ?? null;
    for (const { element, writtenTs } of batch) {
      const made = keys.flatMap((key) => key.make(element, { userId, writtenTs, labels, suggestions }));
      const found = made.filter((entry) => timeIn(entry, time) >= range.from && timeIn(entry, time) <= range.to);
      yield* found.sort((a, b) => timeIn(a, time) - timeIn(b, time));
    }
  }
}

type Written = { element: Element; writtenTs: number };

/** Returns NaN if the entry does not have the field. */
export function timeIn({ metadata, data }: Entry, time: DerivedTime): number {
  const ts = time === 'write_ts' ? metadata.write_ts : data[time];
  return typeof ts === 'number' ? ts : NaN;
}

async function* byTime(store: DerivedStore, userId: string, { from, to }: TimeRange): AsyncGenerator<Written> {
  // A trip may start a day before its first location. Untracked time is read with the trip after
  // it, so the range includes the first trip after `to`.
  const next = await correctedTrips(store).next(userId, to + day);
  const until = next === null ? to + day : justAfter(next.chain_ts);
  const written = await writingTimes(store, userId, { from: from - day, to: until });
  for await (const element of everyElement(store, userId, { from, to: until })) {
    if (element.start_ts > to && !(element.first && (element.before.exit_ts ?? 0) <= to)) return;
    yield { element, writtenTs: written.get(element.chain_ts) ?? element.end_ts };
  }
}

/** Returns `written_ts` by `chain_ts`, also for the trip under way when the range begins. */
async function writingTimes(store: DerivedStore, userId: string, range: TimeRange) {
  const trips = correctedTrips(store);
  const under = await trips.previous(userId, range.from);
  const spans = await trips.spans(userId, { ...range, from: under?.chain_ts ?? range.from });
  return new Map(spans.map(({ chain_ts, written_ts }) => [chain_ts, written_ts]));
}

async function* byWriting(store: DerivedStore, userId: string, { from, to }: TimeRange): AsyncGenerator<Written> {
  const spans = (await correctedTrips(store).spans(userId, allTime))
    .map(({ chain_ts, written_ts, end_ts }) => ({ chain_ts, writtenTs: written_ts ?? end_ts }))
    .filter(({ writtenTs }) => writtenTs >= from && writtenTs <= to)
    .sort((a, b) => a.writtenTs - b.writtenTs || a.chain_ts - b.chain_ts);
  const stated = await readStated(store, userId);
  for (const { chain_ts, writtenTs } of spans) {
    for (const element of await elementsAt(store, userId, chain_ts, stated)) yield { element, writtenTs };
  }
}

async function labelsAround(store: DerivedStore, userId: string, batch: readonly Written[]): Promise<Labels> {
  const from = Math.min(...batch.map(({ element }) => element.before.enter_ts ?? element.start_ts));
  const to = Math.max(...batch.map(({ element }) => element.after.exit_ts ?? Infinity));
  return readLabels(store, userId, { from, to });
}
