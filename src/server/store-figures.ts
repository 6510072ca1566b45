// The state of the store for monitoring. It contains names of studies, but no names of users.
import { Gauge, Registry } from 'prom-client';
import { everyStatus } from '../diary/status/all-statuses.ts';
import { formatReasons } from '../intake/apps/other-entry.ts';
import { unusableReasons } from '../intake/check-entry.ts';
import { conversionReasons } from '../intake/converters/convert.ts';
import { countMember, type MemberCount, noMembers } from '../model/study.ts';
import type { Store } from '../store/store.ts';
import { packageVersion } from '../util/program-version.ts';
import { shared } from './cached-result.ts';

const freshFor = 60_000; // ms; calls within this time get the same result
const recently = 3600; // s; the window of the figures about runs

const reasons = Object.keys({ ...unusableReasons, ...formatReasons, ...conversionReasons });

export function storeFigures(store: Store, now: () => number): () => Promise<string> {
  return shared(freshFor, () => count(store, now()));
}

async function count(store: Store, now: number): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `mobility_${name}`, help, labelNames, registers: [registry] });
  const build = { version: packageVersion(), node: process.version, store: await store.version() };
  gauge('build_info', 'Versions of the program, of Node and of the store', ...Object.keys(build)).set(build, 1);
  const users = gauge('users', 'Registered users');
  const waiting = gauge('waiting_entries', 'Entries that the pipeline has not moved yet');
  const waitingAge = gauge('waiting_age_seconds', 'Longest time that entries ready for a run have been pending');
  const rejected = gauge('set_aside_entries', 'Entries in the error timeseries', 'reason');
  const members = gauge('study_members', 'Members of a study', 'study');
  const joined = gauge('study_joined_last_hour', 'People who joined a study by its link in the last hour', 'study');
  const idle = gauge('study_never_pushed', 'Members of a study who never sent an entry', 'study');
  const failed = gauge('failed_users', 'Users whose last run failed');
  const lastRun = gauge('last_run_timestamp_seconds', 'When the pipeline last had work');
  const ended = gauge('runs_last_hour', 'Users whose last run ended within the last hour', 'result');
  const runSeconds = gauge('run_seconds', "How long a user's last run with work took, if in the last hour", 'at');
  const lag = gauge('diary_lag_seconds', 'Time from the first pending push to its processing, or to now', 'at');
  for (const reason of reasons) rejected.set({ reason }, 0);
  for (const result of ['done', 'failed']) ended.set({ result }, 0);

  const studies = new Map<string, MemberCount>();
  for (const { name } of await store.studies.list()) studies.set(name, noMembers());
  const [durations, lags]: [number[], number[]] = [[], []];
  let [longestWait, latestRun] = [0, 0];
  for await (const { user, figures, waiting_s, lag_s } of everyStatus(store, { now })) {
    users.inc();
    waiting.inc(figures.waiting.count);
    for (const { reason, count: some } of figures.set_aside) rejected.inc({ reason }, some);
    const { last_run_ts: ran, last_run_seconds: took, last_error: failure } = figures.state;
    if (failure !== null) failed.inc();
    latestRun = Math.max(latestRun, ran ?? 0);
    if (ran !== null && ran > now - recently) {
      ended.inc({ result: failure === null ? 'done' : 'failed' });
      durations.push(took ?? 0);
    }
    longestWait = Math.max(longestWait, waiting_s ?? 0);
    if (lag_s !== null) lags.push(lag_s);
    const study = user.study === undefined ? undefined : studies.get(user.study);
    if (study !== undefined) countMember(study, user, now);
  }
  waitingAge.set(longestWait);
  lastRun.set(latestRun);
  setRanks(runSeconds, durations);
  setRanks(lag, lags);
  for (const [study, counts] of studies) {
    members.set({ study }, counts.members);
    joined.set({ study }, counts.joined_last_hour);
    idle.set({ study }, counts.never_pushed);
  }
  const { bytes, free } = await store.disk();
  gauge('store_bytes', 'Bytes of the store on disk').set(bytes);
  if (free !== null) gauge('disk_free_bytes', 'Free space on the disk of the store').set(free);
  return registry.metrics();
}

function setRanks(gauge: Gauge, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  for (const [at, rank] of Object.entries({ median: 0.5, p95: 0.95, most: 1 })) {
    gauge.set({ at }, sorted[Math.ceil(rank * sorted.length) - 1] ?? 0);
  }
}
