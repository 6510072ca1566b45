// Pushing, running the pipeline, and everything that comes of it as values that can be compared.

import { expect } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import type { Log } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import { type PipelineOptions, runPipeline, type UserReport } from '../../src/pipeline/run-pipeline.ts';
import type { EntryCursor, Store } from '../../src/store/store.ts';
import type { Delivery } from './lives.ts';
import { newUser } from './store.ts';

/** The default time of receipt and analysis in tests: no clock of a phone is ahead of it. */
const later = 4_000_000_000;

export function memoryLog(): Log & { lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    write: (level, message) => void lines.push(`${level} ${message}`),
    writeAll: (level, messages) => {
      for (let i = 0; i < messages.length; i += 1) lines.push(`${level} ${messages.at(i)}`);
    },
    enabled: () => true,
  };
}

export async function put(store: Store, userId: string, entries: readonly Entry[], now = later): Promise<void> {
  await store.usercache.put(userId, { entries, unusable: [] }, now);
}

/** One run of the pipeline; fails if the run did. */
export async function pipeline(
  store: Store,
  userId: string,
  options: Partial<PipelineOptions> = {},
): Promise<UserReport> {
  const report = await runPipeline(store, userId, { log: memoryLog(), now: () => later, ...options });
  if (report.status === 'failed') throw new Error(report.message);
  return report;
}

export async function putAndRun(
  store: Store,
  userId: string,
  entries: readonly Entry[],
  options?: Partial<PipelineOptions>,
): Promise<UserReport> {
  await put(store, userId, entries);
  return pipeline(store, userId, options);
}

/** All links of the user's chain, with corrections. */
export function chainOf(store: Store, userId: string): Promise<TripRecord[]> {
  return correctedTrips(store).chain(userId, { limit: 1_000_000 });
}

/** Puts the entries, runs the pipeline, and returns the chain. */
export async function chainAfter(store: Store, userId: string, entries: readonly Entry[]): Promise<TripRecord[]> {
  await putAndRun(store, userId, entries);
  return chainOf(store, userId);
}

/** Every entry of a user in the usercache or the timeseries, by write time. */
export async function allEntries(part: Pick<Store['timeseries'], 'find'>, userId: string): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let after: EntryCursor | null | undefined; after !== null; ) {
    const page = await part.find(userId, { time: 'write_ts', limit: 5000, ...(after && { after }) });
    all.push(...page.entries);
    after = page.next;
  }
  return all;
}

export type Derived = Awaited<ReturnType<typeof derived>>;

/** All that follows from what a user pushed, without the times at which it was written. */
export async function derived(store: Store, userId: string) {
  const documents = await store.documents.list(userId);
  const errors = await store.errors.list(userId, { limit: 100_000 });
  const {
    last_run_ts: _,
    last_run_seconds: _seconds,
    moved_ts: _moved,
    converted_ts: _converted,
    cells: _cells, // also of locations that were read and excluded later: they only decide who looks at a new feed
    ...state
  } = await store.pipeline.get(userId);
  return {
    chain: await chainOf(store, userId),
    documents: documents.map(({ key, data }) => ({ key, data })).sort((a, b) => (a.key < b.key ? -1 : 1)),
    timeseries: await allEntries(store.timeseries, userId),
    errors: errors.map(({ id, entry, reason, message }) => ({ id, entry, reason, message })),
    state,
  };
}

/** Fails unless parts of two outcomes are the same, byte by byte. */
export function expectSame(
  found: Derived,
  expected: Derived,
  parts: readonly (keyof Derived)[] = ['timeseries', 'errors', 'chain', 'documents', 'state'],
): void {
  for (const part of parts)
    expect(JSON.stringify(found[part], null, 1), part).toBe(JSON.stringify(expected[part], null, 1));
}

export const inOnePush = (entries: Entry[]): Delivery => ({ pushes: [{ entries, run: false, stretchSize: 5000 }] });

/** Delivers entries to a new user, whom it erases after `work`. `afterRun` is called after each run but the last. */
export async function deliver<T>(
  store: Store,
  uuid: string,
  { pushes }: Delivery,
  work: () => Promise<T>,
  afterRun: () => Promise<unknown> = async () => {},
): Promise<T> {
  await newUser(store, uuid);
  try {
    for (const { entries, run, stretchSize } of pushes) {
      await put(store, uuid, entries);
      if (!run) continue;
      await pipeline(store, uuid, { stretchSize });
      await afterRun();
    }
    await pipeline(store, uuid);
    return await work();
  } finally {
    await store.erase(uuid);
  }
}
