import { accessSync, constants, statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import { agoText, minuteText } from '../diary/number-text.ts';
import { everyStatus } from '../diary/status/all-statuses.ts';
import { beyondBounds } from '../intake/stated-times.ts';
import { readActs } from '../log/audit-log.ts';
import { counted } from '../log/text.ts';
import { folderIn, isMongoAddress } from '../model/address.ts';
import { keys } from '../model/keys.ts';
import { errorText } from '../model/mobility-error.ts';
import { day } from '../model/time.ts';
import { entryPages } from '../store/paging.ts';
import type { Lease, Store } from '../store/store.ts';

export interface Host {
  config(): Config;
  env: Readonly<Record<string, string | undefined>>;
  now(): number;
  zone: string;
}

/** `next`: the command or action that solves the problem of a failed check. */
export type Check = { name: string; ok: boolean; text: string; next?: string };

export async function checkEverything(host: Host, store: Store, url?: string): Promise<Check[]> {
  const checks = await checkInstallation(host, store, url);
  const dead: Lease[] = [];
  let newest: number | null = null;
  let behind = 0;
  const stated = new Map<string, number>();
  for await (const { user, state, chain, figures } of everyStatus(store, { now: host.now() })) {
    const { lease } = figures;
    if (lease !== null && lease.expires_ts > host.now() && isDead(lease)) dead.push(lease);
    newest = Math.max(newest ?? 0, chain.pushed.ts ?? 0);
    if (state === 'behind') behind += 1;
    const count = await countBeyondBounds(store, user.uuid);
    if (count > 0) stated.set(user.user_email, count);
  }
  checks.push(...checkRuns(dead, newest, host), checkCorrections(stated));
  const unfinished = (await store.unfinished()).length;
  const problems = [
    ...(behind > 0 ? [`${counted(behind, 'person is', 'people are')} behind`] : []),
    ...(unfinished > 0 ? [`${counted(unfinished, 'erasure or copy', 'erasures or copies')} did not end`] : []),
  ];
  if (problems.length === 0) return checks;
  return [...checks, wrong('people', problems.join('; '), 'mobility status')];
}

/** Counts corrections with times that are not allowed. The diary uses the nearest allowed times. */
export async function countBeyondBounds({ timeseries }: Store, userId: string): Promise<number> {
  let count = 0;
  const query = { keys: [keys.correction], time: 'write_ts' } as const;
  for await (const { entries, received_ts } of entryPages(timeseries, userId, query))
    count += entries.filter((entry, i) => beyondBounds(entry, received_ts[i]!) !== null).length;
  return count;
}

function checkCorrections(found: ReadonlyMap<string, number>): Check {
  if (found.size === 0) return sound('stated', 'the times of all corrections are within the bounds');
  const people = [...found].map(([user, count]) => `${user}: ${count}`).join(', ');
  const text = `corrections before 1990, in the future, or longer than 7 days; the nearest allowed times are used: ${people}`;
  return wrong('stated', text, 'mobility correct list --user NAME, then mobility correct undo');
}

const clockSlack = 30; // s; a smaller difference of two clocks is not reported
const backupDays = 7; // days; an older backup is reported as missing

/** `url`: the address that phones use; if given, the server behind it is checked too. */
export async function checkInstallation(host: Host, store: Store, url?: string): Promise<Check[]> {
  const config = host.config();
  return [
    await checkStore(store),
    checkRights(host, config.logDir),
    await checkDisk(store, config.readyDiskMiB),
    checkZones(host),
    ...(await checkActs(host)),
    ...(url === undefined ? [] : await checkServer(url, host.now())),
  ];
}

const sound = (name: string, text: string): Check => ({ name, ok: true, text });
const wrong = (name: string, text: string, next: string): Check => ({ name, ok: false, text, next });

async function checkStore(store: Store): Promise<Check> {
  try {
    await store.ping();
    return sound('store', `${store.address} (${await store.version()}): a small write and a small read work`);
  } catch (error) {
    return wrong('store', errorText(error), 'docs/errors.md says what each code means');
  }
}

/** Checks that this account owns the folders: files of another account would stop the service. */
function checkRights(host: Host, logDir: string): Check {
  const { store } = host.config();
  const wrongAccount = (text: string): Check => wrong('rights', text, 'run commands as the account of the service');
  for (const folder of [...(isMongoAddress(store) ? [] : [folderIn(store)]), logDir]) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat === undefined) continue; // the first write creates the folder
    try {
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch {
      return wrongAccount(`${folder} cannot be written by this account`);
    }
    if (process.getuid !== undefined && stat.uid !== process.getuid())
      return wrongAccount(`${folder} belongs to another account (uid ${stat.uid})`);
  }
  return sound('rights', 'the folders of store and log can be written');
}

async function checkDisk(store: Store, leastMiB: number): Promise<Check> {
  const { free } = await store.disk();
  if (free === null) return sound('disk', 'the database server does not report its free space');
  const text = `${Math.floor(free / 2 ** 20).toLocaleString('en-US')} MiB free`;
  if (free >= leastMiB * 2 ** 20) return sound('disk', text);
  const expected = `expected at least ${leastMiB.toLocaleString('en-US')} MiB (MOBILITY_READY_DISK)`;
  return wrong('disk', `${text}, ${expected}`, 'free space on the disk of the store');
}

const oldMonths = 6; // older time zone data are reported, because zones change several times a year

function checkZones({ env, zone, now }: Host): Check {
  const knowsZones = new Intl.DateTimeFormat('en', { timeZone: 'Asia/Kolkata', hour: '2-digit' }).format(0) !== '';
  if (env.TZ !== undefined && env.TZ !== '' && zone === 'UTC' && !/^(Etc\/)?(UTC|GMT)$/i.test(env.TZ)) {
    const text = `TZ names no time zone that Node knows: ${JSON.stringify(env.TZ)}`;
    return wrong('zones', text, 'set TZ to a name such as Europe/Berlin');
  }
  if (!knowsZones) return wrong('zones', 'Node has no time zones', 'install a complete Node');
  const { tz = '' } = process.versions; // a release such as 2025c
  const since = new Date(now() * 1000);
  since.setUTCMonth(since.getUTCMonth() - oldMonths);
  if (Number.parseInt(tz, 10) >= since.getUTCFullYear())
    return sound('zones', `host time ${zone}, time zone data of ${tz}`);
  return {
    ...sound('zones', `host time ${zone}; the time zone data of this Node, ${tz}, are old: local times may be wrong`),
    next: 'install a newer Node; then run mobility rebuild --all --zone NAME for each zone whose rules have changed',
  };
}

async function checkActs(host: Host): Promise<Check[]> {
  const { store, logDir } = host.config();
  const now = host.now();
  try {
    const acts = await readActs(logDir);
    const check = acts.findLast(({ action }) => action === 'store check');
    const lastCheck = check === undefined ? 'never checked' : `checked ${agoText(check.ts, now)}`;
    const rows =
      check?.outcome === 'partly' || check?.outcome === 'failed'
        ? wrong('rows', `${lastCheck}, and the check failed or was incomplete`, 'mobility store check')
        : sound('rows', `${lastCheck}; to look for damaged rows: mobility store check`);
    if (isMongoAddress(store))
      return [rows, sound('backup', 'made by tools of MongoDB; this program cannot check them')];
    const last = acts.findLast(({ action, outcome }) => action === 'backup' && outcome === 'done');
    const found = last === undefined ? 'no backup is in the audit log' : `last made ${agoText(last.ts, now)}`;
    if (last !== undefined && last.ts > now - backupDays * day) return [rows, sound('backup', found)];
    return [rows, wrong('backup', found, 'mobility backup FOLDER, each day by cron: docs/operations.md')];
  } catch (error) {
    const text = `the audit log cannot be read: ${errorText(error)}`;
    return [wrong('log', text, 'run commands as the account of the service')];
  }
}

/** True if the process that holds the lease ran on this host and has ended. */
export function isDead({ owner }: Pick<Lease, 'owner'>): boolean {
  const [, pid, host] = /^\w+ (\d+) on (.+)$/.exec(owner) ?? [];
  if (pid === undefined || host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** `dead`: leases of killed runs. `newest`: when the last put arrived, s since the epoch. */
function checkRuns(dead: readonly Lease[], newest: number | null, host: Host): Check[] {
  const { zone } = host;
  const now = host.now();
  let clock = sound('clock', minuteText(now, zone));
  if (newest !== null && newest > now + clockSlack) {
    const text = `the last put arrived ${minuteText(newest, zone)}, later than now`;
    clock = wrong('clock', text, 'correct the clock of the host, and synchronise it with NTP');
  }
  const [first] = dead;
  if (first === undefined) return [clock, sound('leases', 'no run was killed')];
  const text = `${first.owner} was killed and still holds ${counted(dead.length, 'lease')}, until ${minuteText(first.expires_ts, zone)}`;
  return [clock, wrong('leases', text, 'nothing to do: the first run after that time takes over')];
}

const timeout = 10_000; // ms for an answer of the server
const largeBody = 4 * 2 ** 20; // bytes in the test; a phone pushes several MiB after a week offline

async function checkServer(url: string, now: number): Promise<Check[]> {
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, url), { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeout) });
  const isOurs = (answer: Response): boolean => answer.headers.has('X-Request-Id');
  const checks: Check[] = [];
  try {
    const ready = await ask('/readyz');
    if (!isOurs(ready)) {
      const text = `expected an answer from mobility at ${url}, found status ${ready.status} from another server`;
      return [wrong('proxy', text, 'correct the address, or the path that the proxy forwards')];
    }
    if (ready.status !== 200)
      return [wrong('server', `GET /readyz answers ${ready.status}: ${await ready.text()}`, 'see docs/operations.md')];
    const date = Date.parse(ready.headers.get('Date') ?? '') / 1000;
    const apart = Number.isNaN(date) ? 0 : Math.abs(date - now);
    if (apart > clockSlack) {
      const text = `expected the clocks of the server and of this machine to agree, found a difference of ${Math.round(apart)} s`;
      checks.push(wrong('clock', text, 'synchronise both clocks with NTP'));
    }
    const body = JSON.stringify({ user: '', phone_to_server: ['x'.repeat(largeBody)] });
    const put = await ask('/usercache/put', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    // The server refuses this body, because it has no token. `isOurs` is false for a proxy's answer.
    if (!isOurs(put)) {
      const text = `a body of ${largeBody / 2 ** 20} MiB is answered with ${put.status} before it reaches the server`;
      const next = 'let the proxy take 64 MiB: `client_max_body_size 64m` of nginx; docs/operations.md';
      return [...checks, wrong('proxy', text, next)];
    }
    return [
      ...checks,
      sound('proxy', `${url}: the server is ready, and bodies of ${largeBody / 2 ** 20} MiB reach it`),
    ];
  } catch (error) {
    const text = `${url} does not answer: ${errorText(error)}`;
    return [wrong('server', text, 'start `mobility serve`, or correct the address, the proxy or the firewall')];
  }
}
