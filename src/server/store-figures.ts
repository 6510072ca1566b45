// The state of the store for whoever watches: counted at most once a minute, as Prometheus text. It names studies, and
// no person.
import { Gauge, Registry } from 'prom-client';
import { countMember, type MemberCount, noMembers } from '../model/study.ts';
import { everyUser } from '../store/pages.ts';
import type { Store } from '../store/store.ts';
import { shared } from './shared.ts';

const freshFor = 60_000; // ms that figures stay valid: they need some queries for every user
const recently = 3600; // s; runs of this time are counted
const pushedLately = 86_400; // s; delays of diaries are those of people who pushed in this time

/** Figures of everybody together, before anybody is counted. Times are s. */
const noCounts = () => ({
  ...{ users: 0, waiting: 0, failed: 0, lastRun: 0 },
  /** How long ago the oldest waiting entry was received; of each user, that is the first by `write_ts`. */
  waitingAge: 0,
  /** Members of each study. */
  studies: new Map<string, MemberCount>(),
  /** Entries set aside, by reason. */
  unusable: new Map<string, number>(),
  /** Durations of runs that ended lately, by result. */
  runs: { done: [] as number[], failed: [] as number[] },
  /** Of users who pushed lately: from the last push to the run that took it, or to now while it waits. */
  lags: [] as number[],
});

type StoreCounts = ReturnType<typeof noCounts>;

/** Returns a function for the figures as Prometheus text. `now`: seconds since the epoch. */
export function storeFigures(store: Store, now: () => number): () => Promise<string> {
  return shared(freshFor, () => count(store, now()));
}

async function count(store: Store, now: number): Promise<string> {
  const figures = noCounts();
  for (const { name } of await store.studies.list()) figures.studies.set(name, noMembers());
  for await (const user of everyUser(store)) {
    await addUser(figures, store, user.uuid, now);
    const study = user.study === undefined ? undefined : figures.studies.get(user.study);
    if (study !== undefined) countMember(study, user, now);
  }
  return textOf(figures, await store.disk());
}

async function addUser(figures: StoreCounts, store: Store, uuid: string, now: number): Promise<void> {
  const [waiting, ahead, errors, state, profile] = await Promise.all([
    store.usercache.summary(uuid),
    store.usercache.ahead(uuid, now),
    store.errors.summary(uuid),
    store.pipeline.get(uuid),
    store.profiles.get(uuid),
  ]);
  figures.users += 1;
  figures.waiting += waiting.count;
  for (const { reason, count: some } of errors)
    figures.unusable.set(reason, (figures.unusable.get(reason) ?? 0) + some);
  const { last_run_ts: ran, last_run_seconds: took, last_error: failure } = state;
  if (failure !== null) figures.failed += 1;
  if (ran !== null) {
    figures.lastRun = Math.max(figures.lastRun, ran);
    if (ran > now - recently) figures.runs[failure === null ? 'done' : 'failed'].push(took ?? 0);
  }
  // Entries that a clock ahead of time wrote wait for their time, and delay nobody.
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

function textOf(counts: StoreCounts, { bytes, free }: { bytes: number; free: number | null }): Promise<string> {
  const { runs, unusable, lags } = counts;
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `mobility_${name}`, help, labelNames, registers: [registry] });
  gauge('users', 'Registered users').set(counts.users);
  gauge('waiting_entries', 'Entries that the pipeline has not moved yet').set(counts.waiting);
  gauge('waiting_age_seconds', 'How long ago the oldest waiting entry was received').set(counts.waitingAge);
  const errors = gauge('set_aside_entries', 'Entries in the error timeseries', 'reason');
  for (const [reason, some] of unusable) errors.set({ reason }, some);
  const members = gauge('study_members', 'Members of a study', 'study');
  const joined = gauge('study_joined_last_hour', 'People who joined a study by its link in the last hour', 'study');
  const idle = gauge('study_never_pushed', 'Members of a study of whom no entry was ever stored', 'study');
  for (const [study, count] of counts.studies) {
    members.set({ study }, count.members);
    joined.set({ study }, count.joined_last_hour);
    idle.set({ study }, count.never_pushed);
  }
  gauge('failed_users', 'Users whose last run failed').set(counts.failed);
  gauge('last_run_timestamp_seconds', 'When the pipeline last did something').set(counts.lastRun);
  const ended = gauge('runs_last_hour', 'Users whose last run ended within the last hour', 'result');
  for (const result of ['done', 'failed'] as const) ended.set({ result }, runs[result].length);
  const seconds = gauge('run_seconds', 'How long the runs of the last hour took for a user', 'quantile');
  setQuantiles(seconds, [...runs.done, ...runs.failed]);
  setQuantiles(gauge('diary_lag_seconds', 'From the last push to the run that took it, or to now', 'quantile'), lags);
  gauge('store_bytes', 'Bytes of the store on disk').set(bytes);
  if (free !== null) gauge('disk_free_bytes', 'Free space on the disk of the store').set(free);
  return registry.metrics();
}

/** Sets the median, the 95th percentile and the largest value, if there are values. */
function setQuantiles(gauge: Gauge, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  for (const quantile of sorted.length === 0 ? [] : [0.5, 0.95, 1]) {
    gauge.set({ quantile: String(quantile) }, sorted[Math.ceil(quantile * sorted.length) - 1]!);
  }
}
