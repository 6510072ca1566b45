// Metrics as Prometheus text: calls of all processes of a server, and the state of the store.
// Nobody's name is in them.
import { statfs } from 'node:fs/promises';
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { everyUser } from '../store/pages.ts';
import type { Store } from '../store/store.ts';

/** What the calls of one process add up to. Without `/metrics` nothing is counted. */
export interface CallFigures {
  /** Counts an ended call; `handler` is the handler of its route, empty without a route. */
  ended(handler: string, status: number, seconds: number): void;
  /** Entries by what became of them. */
  entries(counts: { inserted: number; updated: number; rejected: number }): void;
  /** Somebody met a limit. */
  limitMet(limit: string): void;
}

/** Counts nothing. */
export const noFigures: CallFigures = { ended: () => {}, entries: () => {}, limitMet: () => {} };

/** Counts calls in a registry of its own, which other processes of the server add up with theirs. */
export function countCalls(): { figures: CallFigures; text: () => Promise<string> } {
  const registers = [new Registry()];
  const calls = new Counter({
    name: 'mobility_calls_total',
    help: 'Calls by route and status',
    labelNames: ['handler', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'mobility_call_seconds',
    help: 'Time from the start of a call to the end of its answer',
    labelNames: ['handler'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const entries = new Counter({
    name: 'mobility_entries_total',
    help: 'Pushed entries by what became of them',
    labelNames: ['verdict'],
    registers,
  });
  const limits = new Counter({
    name: 'mobility_limits_met_total',
    help: 'Calls refused because their caller met a limit',
    labelNames: ['limit'],
    registers,
  });
  AggregatorRegistry.setRegistries(registers);
  new AggregatorRegistry(); // makes a worker answer when the primary collects
  return {
    figures: {
      ended: (handler, status, took) => {
        calls.inc({ handler, status: String(status) });
        seconds.observe({ handler }, took);
      },
      entries: (counts) => {
        for (const [verdict, count] of Object.entries(counts)) if (count > 0) entries.inc({ verdict }, count);
      },
      limitMet: (limit) => limits.inc({ limit }),
    },
    text: () => registers[0]!.metrics(),
  };
}

/** A store that counts what becomes of entries. */
export function countingStore(store: Store, figures: CallFigures): Store {
  const usercache: Store['usercache'] = {
    ...store.usercache,
    put: async (userId, batch, now) => {
      const results = await store.usercache.put(userId, batch, now);
      const inserted = results.filter((result) => result === 'inserted').length;
      figures.entries({ inserted, updated: results.length - inserted, rejected: batch.unusable.length });
      return results;
    },
  };
  return { ...store, usercache };
}

const freshFor = 60_000; // ms that figures of the store stay valid: they need a query for every user

/** Where the store stands, asked at most once a minute, however many want to know. */
export class StoreFigures {
  readonly #store: Store;
  readonly #now: () => number;
  #asked = Number.NEGATIVE_INFINITY;
  #text: Promise<string> = Promise.resolve('');

  /** `now`: seconds since the epoch. */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The figures as Prometheus text. */
  text(): Promise<string> {
    if (performance.now() - this.#asked >= freshFor) {
      this.#asked = performance.now();
      this.#text = storeText(this.#store, this.#now());
      this.#text.catch(() => {
        this.#asked = Number.NEGATIVE_INFINITY;
      });
    }
    return this.#text;
  }
}

async function storeText(store: Store, now: number): Promise<string> {
  const registers = [new Registry()];
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers });
  const users = gauge('mobility_users', 'Registered users');
  const waiting = gauge('mobility_waiting_entries', 'Entries that the pipeline has not moved yet');
  const age = gauge('mobility_waiting_age_seconds', 'How long ago the oldest waiting entry was written');
  const errors = gauge('mobility_set_aside_entries', 'Entries in the error timeseries', 'reason');
  const failed = gauge('mobility_failed_users', 'Users whose last run failed');
  const lastRun = gauge('mobility_last_run_timestamp_seconds', 'When the pipeline last did something for somebody');
  const lag = gauge(
    'mobility_diary_lag_seconds',
    'From the last entry of a phone of the last day to what its diary reaches',
    'quantile',
  );
  const disk = gauge('mobility_disk_free_bytes', 'Free space on the disk of the store');
  const lags: number[] = [];
  let oldest = now;
  for await (const { uuid } of everyUser(store)) {
    const [{ count, oldest_ts }, aside, state, profile] = await Promise.all([
      store.usercache.summary(uuid),
      store.errors.summary(uuid),
      store.pipeline.get(uuid),
      store.profiles.get(uuid),
    ]);
    users.inc();
    waiting.inc(count);
    if (oldest_ts !== null) oldest = Math.min(oldest, oldest_ts);
    for (const { reason, count: some } of aside) errors.inc({ reason }, some);
    if (state.last_error !== null) failed.inc();
    if (state.last_run_ts !== null)
      lastRun.set(Math.max(state.last_run_ts, (await lastRun.get()).values[0]?.value ?? 0));
    const newest = profile?.last_phone_data_ts;
    if (typeof newest === 'number' && newest > now - 86_400 && newest <= now && state.complete_until !== null) {
      lags.push(Math.max(0, newest - state.complete_until));
    }
  }
  age.set(now - oldest);
  lags.sort((a, b) => a - b);
  for (const quantile of lags.length === 0 ? [] : [0.5, 0.95]) {
    lag.set({ quantile: String(quantile) }, lags[Math.min(lags.length - 1, Math.floor(quantile * lags.length))]!);
  }
  const folder = /^(?:sqlite:)(.*)$/.exec(store.address)?.[1];
  if (folder !== undefined) {
    const { bavail, bsize } = await statfs(folder);
    disk.set(bavail * bsize);
  }
  return registers[0]!.metrics();
}
