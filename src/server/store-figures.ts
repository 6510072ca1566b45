// The state of the store for monitoring: counted at most once a minute, as Prometheus text. It names studies, and
// no person.
import { Gauge, Registry } from 'prom-client';
import { everyStatus } from '../diary/status/all-statuses.ts';
import type { PersonStatus } from '../diary/status/person-status.ts';
import { formatReasons } from '../intake/apps/other-entry.ts';
import { unusableReasons } from '../intake/check-entry.ts';
import { conversionReasons } from '../intake/converters/conversion-error.ts';
import { countMember, type MemberCount, noMembers } from '../model/study.ts';
import type { Store } from '../store/store.ts';
import { packageVersion } from '../util/program-version.ts';
import { shared } from './cached-result.ts';

const freshFor = 60_000; // ms that figures stay valid
/** Why entries are rejected. */
const reasons = Object.keys({ ...unusableReasons, ...formatReasons, ...conversionReasons });

const recently = 3600; // s; runs of this time are counted

/** Figures of all users together, before the first one is counted. Times are s. */
const noCounts = () => ({
  users: 0,
  waiting: 0,
  failed: 0,
  lastRun: 0,
  /** How long entries wait that a run could take. */
  waitingAge: 0,
  /** Members of each study. */
  studies: new Map<string, MemberCount>(),
  /** Rejected entries, by reason. */
  unusable: new Map<string, number>(),
  /** Durations of runs that ended lately, by result. */
  runs: { done: [] as number[], failed: [] as number[] },
  /** See `Stand`. */
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
  for await (const stand of everyStatus(store, { now })) {
    addStand(figures, stand, now);
    const study = stand.user.study === undefined ? undefined : figures.studies.get(stand.user.study);
    if (study !== undefined) countMember(study, stand.user, now);
  }
  return textOf(figures, await store.disk(), await store.version());
}

function addStand(figures: StoreCounts, { figures: one, waiting_s, lag_s }: PersonStatus, now: number): void {
  figures.users += 1;
  figures.waiting += one.waiting.count;
  for (const { reason, count: some } of one.set_aside)
    figures.unusable.set(reason, (figures.unusable.get(reason) ?? 0) + some);
  const { last_run_ts: ran, last_run_seconds: took, last_error: failure } = one.state;
  if (failure !== null) figures.failed += 1;
  if (ran !== null) {
    figures.lastRun = Math.max(figures.lastRun, ran);
    if (ran > now - recently) figures.runs[failure === null ? 'done' : 'failed'].push(took ?? 0);
  }
  figures.waitingAge = Math.max(figures.waitingAge, waiting_s ?? 0);
  if (lag_s !== null) figures.lags.push(lag_s);
}

function textOf(
  counts: StoreCounts,
  { bytes, free }: { bytes: number; free: number | null },
  engine: string,
): Promise<string> {
  const { runs, unusable, lags } = counts;
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `mobility_${name}`, help, labelNames, registers: [registry] });
  const build = { version: packageVersion(), node: process.version, store: engine };
  gauge('build_info', 'Versions of the program, of Node and of the store', ...Object.keys(build)).set(build, 1);
  gauge('users', 'Registered users').set(counts.users);
  gauge('waiting_entries', 'Entries that the pipeline has not moved yet').set(counts.waiting);
  gauge('waiting_age_seconds', 'How long entries wait that a run could take').set(counts.waitingAge);
  const errors = gauge('set_aside_entries', 'Entries in the error timeseries', 'reason');
  for (const reason of reasons) errors.set({ reason }, 0);
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
  const seconds = gauge('run_seconds', 'How long the runs of the last hour took for a user', 'at');
  setRanks(seconds, [...runs.done, ...runs.failed]);
  setRanks(
    gauge('diary_lag_seconds', 'From the first push that waited to the run that took it, or to now', 'at'),
    lags,
  );
  gauge('store_bytes', 'Bytes of the store on disk').set(bytes);
  if (free !== null) gauge('disk_free_bytes', 'Free space on the disk of the store').set(free);
  return registry.metrics();
}

/** Sets the median, the 95th percentile and the largest value; 0 without values. */
function setRanks(gauge: Gauge, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  for (const [at, rank] of Object.entries({ median: 0.5, p95: 0.95, most: 1 })) {
    gauge.set({ at }, sorted[Math.ceil(rank * sorted.length) - 1] ?? 0);
  }
}
