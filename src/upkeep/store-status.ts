import { shippedVersion } from '../analysis/segmenter.ts';
import { everyStatus } from '../diary/status/all-statuses.ts';
import type { PersonState } from '../diary/status/breakages.ts';
import { isTrouble, type PersonStatus, troubles } from '../diary/status/person-status.ts';
import { findRemedy, type Remedy } from '../diary/status/remedies.ts';
import { readActs } from '../log/audit-log.ts';
import { errorText } from '../model/mobility-error.ts';
import { derivedDays } from '../model/pipeline-state.ts';
import { faultReason } from '../model/rejections.ts';
import { day } from '../model/time.ts';
import type { Store } from '../store/store.ts';
import { isDead } from './check-installation.ts';

/** Counts the entries rejected for one reason. `fault`: a converter of the program failed. */
export type RejectedSum = { reason: string; fault: boolean; entries: number; people: number; last_ts: number };

export type TroubledPerson = Remedy & { user_email: string; uuid: string; since: number | null };

export type StoreStatus = Awaited<ReturnType<typeof emptyStatus>>;

interface StatusHost {
  now: number;
  zone: string;
  silentDays: number;
  logDir: string;
  note: (text: string) => void;
}

type RunOfUser = { user_email: string; owner: string; expires_ts: number };
type Time = number | null; // seconds since the epoch

async function emptyStatus(store: Store) {
  const people: Record<'all' | PersonState, number> = {
    all: 0,
    in_order: 0,
    silent: 0,
    without_locations: 0,
    never_began: 0,
    refused: 0,
    unusable: 0,
    behind: 0,
    stopped: 0,
  };
  return {
    store: store.address,
    engine: await store.version(),
    people,
    set_aside: [] as RejectedSum[],
    unfinished: await store.unfinished(),
    erasure_asked: 0,
    /** The people who need attention, by state; those in need for the longest time come first. */
    troubled: Object.fromEntries(troubles.map((state) => [state, []])) as unknown as Troubled,
    arrivals: {
      last_ts: null as Time,
      people_last_day: 0,
      /** s from the put of an entry to the run that moved it: median and longest of all people. */
      lag_median_s: null as number | null,
      lag_most_s: null as number | null,
    },
    run: {
      last_ts: null as Time,
      with_work: 0,
      waiting: 0,
      outdated: 0,
      outdated_days: 0,
      at_work: [] as RunOfUser[],
      killed: [] as RunOfUser[], // their leases have not expired yet
    },
    disk: await store.disk(),
    backup_ts: null as Time,
    check_ts: null as Time,
  };
}

type Troubled = Record<(typeof troubles)[number], TroubledPerson[]>;

export async function readStoreStatus(store: Store, host: StatusHost): Promise<StoreStatus> {
  const status = await emptyStatus(store);
  const lags: number[] = [];
  for await (const person of everyStatus(store, host)) {
    addPerson(status, person, host);
    addRejected(status.set_aside, person);
    addRun(status.run, person, host.now);
    if (person.lag_s !== null && person.figures.state.last_run_ts !== null) lags.push(person.lag_s);
  }
  for (const state of troubles) status.troubled[state].sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  status.set_aside.sort((a, b) => Number(b.fault) - Number(a.fault) || b.entries - a.entries);
  lags.sort((a, b) => a - b);
  status.arrivals.lag_median_s = lags[Math.ceil(lags.length / 2) - 1] ?? null;
  status.arrivals.lag_most_s = lags.at(-1) ?? null;
  const acts = await readActs(host.logDir).catch((error) => {
    host.note(`the audit log cannot be read: ${errorText(error)}`);
    return [];
  });
  const last = (action: string) => acts.findLast((act) => act.action === action && act.outcome === 'done')?.ts ?? null;
  return { ...status, backup_ts: last('backup'), check_ts: last('store check') };
}

function addPerson(status: StoreStatus, person: PersonStatus, host: StatusHost): void {
  const { people, troubled, arrivals } = status;
  const { user, state, since, broken, chain, figures } = person;
  people.all += 1;
  people[state] += 1;
  if (typeof figures.profile.erasure_asked_ts === 'number') status.erasure_asked += 1;
  if (isTrouble(state) && broken !== null) {
    const { user_email, uuid } = user;
    troubled[state].push({ user_email, uuid, since, ...findRemedy(person, broken, host) });
  }
  const pushed = chain.pushed.ts;
  if (pushed === null) return;
  arrivals.last_ts = Math.max(arrivals.last_ts ?? pushed, pushed);
  if (pushed > host.now - day) arrivals.people_last_day += 1;
}

function addRejected(sums: RejectedSum[], { figures }: PersonStatus): void {
  const own = new Set<RejectedSum>();
  for (const { reason, count, last_ts } of figures.set_aside) {
    let sum = sums.find((one) => one.reason === reason);
    if (sum === undefined) {
      sum = { reason, fault: reason === faultReason, entries: 0, people: 0, last_ts };
      sums.push(sum);
    }
    sum.entries += count;
    sum.last_ts = Math.max(sum.last_ts, last_ts);
    own.add(sum);
  }
  for (const sum of own) sum.people += 1;
}

function addRun(run: StoreStatus['run'], { user, figures }: PersonStatus, now: number): void {
  const { lease, waiting, state } = figures;
  const { changed, documents_due, analysis_version: version, last_run_ts: ran } = state;
  const isOutdated = version !== null && version !== shippedVersion;
  if (waiting.count > waiting.ahead || changed !== null || documents_due || isOutdated) run.with_work += 1;
  run.waiting += waiting.count;
  if (isOutdated) {
    run.outdated += 1;
    run.outdated_days += derivedDays(state);
  }
  if (ran !== null) run.last_ts = Math.max(run.last_ts ?? ran, ran);
  if (lease === null || lease.expires_ts <= now) return;
  const { owner, expires_ts } = lease;
  (isDead(lease) ? run.killed : run.at_work).push({ user_email: user.user_email, owner, expires_ts });
}
