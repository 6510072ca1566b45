// Where the store stands, for whoever watches: counted at most once a minute, as Prometheus text. It names nobody.
import { Gauge, Registry } from 'prom-client';
import { everyUser } from '../store/pages.ts';
import type { Store } from '../store/store.ts';

const freshFor = 60_000; // ms that figures stay valid: they need some queries for every user
const recently = 3600; // s; runs of this time are told
const pushedLately = 86_400; // s; the delay of diaries is that of people who pushed in this time

/** StoreCounts of everybody together. Times are s. */
export interface StoreCounts {
  users: number;
  waiting: number;
  /** How long ago the oldest waiting entry was received; of each user, that is the one written first. */
  waitingAge: number;
  /** Entries set aside, by reason. */
  aside: Map<string, number>;
  /** Users whose last run failed. */
  failed: number;
  /** When a run last did something, since the epoch; null: never. */
  lastRun: number | null;
  /** Users whose last run ended within the last hour: how long each of these runs took. */
  runs: { done: number[]; failed: number[] };
  /**
   * For each user who pushed lately: from the last push to the run that brought it into the diary; while it waits, the
   * time since then.
   */
  lags: number[];
  bytes: number;
  /** Free bytes on the disk of the store; null: not known. */
  free: number | null;
}

/** Where the store stands, asked at most once a minute, however many want to know. */
export class StoreFigures {
  readonly #store: Store;
  readonly #now: () => number;
  #asked = Number.NEGATIVE_INFINITY;
  #figures: Promise<StoreCounts> | null = null;

  /** `now`: seconds since the epoch. */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The figures, as they were within the last minute. */
  get(): Promise<StoreCounts> {
    if (this.#figures === null || performance.now() - this.#asked >= freshFor) {
      this.#asked = performance.now();
      this.#figures = count(this.#store, this.#now());
      this.#figures.catch(() => {
        this.#figures = null;
      });
    }
    return this.#figures;
  }

  /** The figures as Prometheus text. */
  async text(): Promise<string> {
    return textOf(await this.get());
  }
}

async function count(store: Store, now: number): Promise<StoreCounts> {
  const figures: StoreCounts = {
    ...{ users: 0, waiting: 0, waitingAge: 0, aside: new Map(), failed: 0, lastRun: null },
    ...{ runs: { done: [], failed: [] }, lags: [], ...(await store.disk()) },
  };
  for await (const { uuid } of everyUser(store)) await addUser(figures, store, uuid, now);
  return figures;
}

async function addUser(figures: StoreCounts, store: Store, uuid: string, now: number): Promise<void> {
  const [waiting, ahead, aside, state, profile] = await Promise.all([
    store.usercache.summary(uuid),
    store.usercache.ahead(uuid, now),
    store.errors.summary(uuid),
    store.pipeline.get(uuid),
    store.profiles.get(uuid),
  ]);
  figures.users += 1;
  figures.waiting += waiting.count;
  for (const { reason, count: some } of aside) figures.aside.set(reason, (figures.aside.get(reason) ?? 0) + some);
  const { last_run_ts: ran, last_run_seconds: took, last_error: failure } = state;
  if (failure !== null) figures.failed += 1;
  if (ran !== null) {
    figures.lastRun = Math.max(figures.lastRun ?? 0, ran);
    if (ran > now - recently) figures.runs[failure === null ? 'done' : 'failed'].push(took ?? 0);
  }
  // What a clock that was ahead wrote has to wait for its time, and delays nobody.
  const waits = waiting.count > ahead.count;
  if (waits) {
    const { received_ts: received } = await store.usercache.find(uuid, { time: 'write_ts', limit: 1 });
    figures.waitingAge = Math.max(figures.waitingAge, now - (received[0] ?? now));
  }
  const pushed = profile?.last_put_ts;
  if (typeof pushed !== 'number' || pushed > now || pushed < now - pushedLately) return;
  if (waits) figures.lags.push(now - pushed);
  else if (ran !== null && ran >= pushed) figures.lags.push(ran - pushed);
}

async function textOf(figures: StoreCounts): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  gauge('mobility_users', 'Registered users').set(figures.users);
  gauge('mobility_waiting_entries', 'Entries that the pipeline has not moved yet').set(figures.waiting);
  gauge('mobility_waiting_age_seconds', 'How long ago the oldest waiting entry was received').set(figures.waitingAge);
  const aside = gauge('mobility_set_aside_entries', 'Entries in the error timeseries', 'reason');
  for (const [reason, some] of figures.aside) aside.set({ reason }, some);
  gauge('mobility_failed_users', 'Users whose last run failed').set(figures.failed);
  const last = gauge('mobility_last_run_timestamp_seconds', 'When the pipeline last did something for somebody');
  last.set(figures.lastRun ?? 0);
  const runs = gauge('mobility_runs_last_hour', 'Users whose last run ended within the last hour', 'result');
  for (const result of ['done', 'failed'] as const) runs.set({ result }, figures.runs[result].length);
  const seconds = gauge('mobility_run_seconds', 'How long the runs of the last hour took for a user', 'quantile');
  setQuantiles(seconds, [...figures.runs.done, ...figures.runs.failed]);
  setQuantiles(
    gauge(
      'mobility_diary_lag_seconds',
      'From the last push of a user within a day to the run that took it, or to now',
      'quantile',
    ),
    figures.lags,
  );
  gauge('mobility_store_bytes', 'What the store takes on disk').set(figures.bytes);
  if (figures.free !== null) gauge('mobility_disk_free_bytes', 'Free space on the disk of the store').set(figures.free);
  return registry.metrics();
}

/** Median, 95 % and the largest; nothing where there is nothing. */
function setQuantiles(gauge: Gauge, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  for (const quantile of sorted.length === 0 ? [] : [0.5, 0.95, 1]) {
    gauge.set({ quantile: String(quantile) }, sorted[Math.ceil(quantile * sorted.length) - 1]!);
  }
}
