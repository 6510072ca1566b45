// `mobility status`: who needs somebody, what arrives, what waits for the next run, and the state of the installation.

import { Command } from 'commander';
import { shippedVersion } from '../../analysis/segmenter.ts';
import { agoText, durationText, minuteText } from '../../diary/number-text.ts';
import { everyStatus } from '../../diary/status/all-statuses.ts';
import {
  isTrouble,
  type PersonState,
  type PersonStatus,
  troubles,
  usualSilentDays,
} from '../../diary/status/person-status.ts';
import { readActs } from '../../log/audit-log.ts';
import { faultReason } from '../../model/error-summary.ts';
import { errorText } from '../../model/mobility-error.ts';
import { derivedDays } from '../../model/pipeline-state.ts';
import type { Store, Unfinished } from '../../store/store.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { cureOf, personStates } from '../status-text.ts';
import { outdatedText, withZone } from '../wording.ts';

/** What was set aside for one reason. */
interface SetAside {
  reason: string;
  /** True: a converter failed; the program is at fault, not what was pushed. */
  fault: boolean;
  entries: number;
  people: number;
  last_ts: number;
}

/** Somebody who is not in order. */
interface Troubled {
  user_email: string;
  uuid: string;
  since: number | null;
  why: string;
  next: string;
}

/** What the store adds up to. Times are seconds since the epoch, lags s. */
interface StoreStatus {
  store: string;
  people: Record<'all' | PersonState, number>;
  /** People who asked on their page to be erased. */
  erasure_asked: number;
  /** Everybody who is not in order, by state, the longest first. */
  troubled: Record<(typeof troubles)[number], Troubled[]>;
  set_aside: SetAside[];
  arrivals: { last_ts: number | null; people_last_day: number; lag_median_s: number | null; lag_most_s: number | null };
  run: {
    last_ts: number | null;
    /** People with something for a run to do, and the entries that wait. */
    with_work: number;
    waiting: number;
    /** People whose trips are of another version of the analysis; the next run derives them again. */
    outdated: number;
    /** The days of these people that it derives. */
    outdated_days: number;
    at_work: { user_email: string; owner: string; expires_ts: number }[];
  };
  unfinished: Unfinished[];
  disk: { bytes: number; free: number | null };
  /** By the audit log; null: it shows none. */
  backup_ts: number | null;
  check_ts: number | null;
}

/** Shows the state of the whole store. */
export function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .option(
      '--silent <days>',
      `days without a call or a location that count; default: ${usualSilentDays}`,
      wholeNumber(1, 1000),
    )
    .addHelpText(
      'after',
      `
Examples:
  mobility status
  mobility status --json
  mobility doctor --user ada@example.org

Exit code 3: somebody or something needs you.`,
    )
    .action(context.run((options: { silent?: number }) => showStatus(context, options)));
}

async function showStatus(context: CommandContext, { silent }: { silent?: number }): Promise<Outcome> {
  const store = await context.store();
  context.output.progress('counting');
  const status = await statusOf(context, store, silent ?? usualSilentDays);
  await context.output.result(status, () => statusText(status, context));
  const long = context.now() - (silent ?? usualSilentDays) * 86_400;
  const late = status.troubled.never_began.some(({ since }) => (since ?? 0) < long);
  const others = troubles.some((state) => state !== 'never_began' && status.troubled[state].length > 0);
  const needy = late || others || status.unfinished.length > 0 || status.set_aside.some(({ fault }) => fault);
  return needy ? { exitCode: 3 } : {};
}

async function statusOf(context: CommandContext, store: Store, silentDays: number): Promise<StoreStatus> {
  const now = context.now();
  const count = Object.fromEntries(['all', ...Object.keys(personStates)].map((name) => [name, 0]));
  const status: StoreStatus = {
    ...{ store: store.address, people: count as StoreStatus['people'], set_aside: [], unfinished: [] },
    erasure_asked: 0,
    troubled: Object.fromEntries(troubles.map((state) => [state, []])) as never,
    arrivals: { last_ts: null, people_last_day: 0, lag_median_s: null, lag_most_s: null },
    run: { last_ts: null, with_work: 0, waiting: 0, outdated: 0, outdated_days: 0, at_work: [] },
    ...{ disk: await store.disk(), backup_ts: null, check_ts: null },
  };
  const lags: number[] = [];
  for await (const stand of everyStatus(store, { now, silentDays })) addStand(status, lags, stand, context);
  for (const state of troubles) status.troubled[state].sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  status.set_aside.sort((a, b) => Number(b.fault) - Number(a.fault) || b.entries - a.entries);
  lags.sort((a, b) => a - b);
  status.arrivals.lag_median_s = lags[Math.ceil(lags.length / 2) - 1] ?? null;
  status.arrivals.lag_most_s = lags.at(-1) ?? null;
  status.unfinished = await store.unfinished();
  const acts = await readActs(context.config().logDir).catch((error) => {
    context.output.note(`the audit log cannot be read: ${errorText(error)}`);
    return [];
  });
  const last = (action: string) => acts.findLast((act) => act.action === action && act.outcome === 'done')?.ts ?? null;
  return { ...status, backup_ts: last('backup'), check_ts: last('store check') };
}

function addStand(status: StoreStatus, lags: number[], stand: PersonStatus, context: CommandContext): void {
  const { people, troubled, arrivals, run } = status;
  const { user, state, since, broken, chain, figures, lag_s } = stand;
  const { lease, waiting, set_aside } = figures;
  const now = context.now();
  people.all += 1;
  people[state] += 1;
  if (typeof figures.profile.erasure_asked_ts === 'number') status.erasure_asked += 1;
  if (isTrouble(state) && broken !== null) {
    const { user_email, uuid } = user;
    troubled[state].push({ user_email, uuid, since, ...cureOf(stand, broken, { now, zone: context.zone }) });
  }
  for (const { reason, count, last_ts } of set_aside) {
    let sum = status.set_aside.find((one) => one.reason === reason);
    if (sum === undefined) {
      sum = { reason, fault: reason === faultReason, entries: 0, people: 0, last_ts };
      status.set_aside.push(sum);
    }
    sum.entries += count;
    sum.last_ts = Math.max(sum.last_ts, last_ts);
  }
  for (const reason of new Set(set_aside.map((one) => one.reason)))
    status.set_aside.find((one) => one.reason === reason)!.people += 1;
  const pushed = chain.pushed.ts;
  if (pushed !== null) arrivals.last_ts = Math.max(arrivals.last_ts ?? pushed, pushed);
  if (pushed !== null && pushed > now - 86_400) arrivals.people_last_day += 1;
  if (lag_s !== null && figures.state.last_run_ts !== null) lags.push(lag_s);
  const due = waiting.count - waiting.ahead;
  const { changed, documents_due, analysis_version: version, last_run_ts: ran } = figures.state;
  const isOutdated = version !== null && version !== shippedVersion;
  if (due > 0 || changed !== null || documents_due || isOutdated) run.with_work += 1;
  run.waiting += waiting.count;
  if (isOutdated) {
    run.outdated += 1;
    run.outdated_days += derivedDays(figures.state);
  }
  if (ran !== null) run.last_ts = Math.max(run.last_ts ?? ran, ran);
  if (lease !== null && lease.expires_ts > now)
    run.at_work.push({ user_email: user.user_email, owner: lease.owner, expires_ts: lease.expires_ts });
}

/** People of one state that are listed on a screen. */
const listed = 10;
const gibibyte = 2 ** 30;

function statusText(status: StoreStatus, context: CommandContext): string {
  const { people, erasure_asked, troubled, set_aside, arrivals, run, unfinished, disk } = status;
  const { zone } = context;
  const now = context.now();
  const when = (ts: number | null): string => (ts === null ? 'never' : `${minuteText(ts, zone)} (${agoText(ts, now)})`);
  const states = (Object.keys(personStates) as PersonState[]).filter((state) => people[state] > 0);
  const rows = [
    [
      'people',
      `${people.all}: ${states.map((state) => `${people[state]} ${personStates[state]}`).join(', ') || 'none'}`,
    ],
    ...(erasure_asked > 0 ? [['', `${erasure_asked} asked to be erased: mobility users list --asked-erasure`]] : []),
    ...troubles.flatMap((state) => troubledRows(state, troubled[state], context)),
    ...unfinished.map(({ user_id, stage }) => [`  ${stage}`, `${user_id}: repeat the ${unfinishedWork[stage]}`]),
    ['set aside', setAsideText(set_aside)],
    ...set_aside.slice(0, listed).map(({ reason, fault, entries, people: some }) => {
      return [
        '',
        `${counted(entries, 'entry', 'entries')} of ${counted(some, 'person', 'people')}: ${fault ? 'PROGRAM FAULT ' : ''}${reason}`,
      ];
    }),
    ['arrives', `last ${when(arrivals.last_ts)}; ${arrivals.people_last_day} of ${people.all} people within a day`],
    ...(arrivals.lag_most_s === null
      ? []
      : [
          [
            '',
            `push to diary: median ${durationText(arrivals.lag_median_s!)}, most ${durationText(arrivals.lag_most_s)}`,
          ],
        ]),
    ['last run', run.last_ts === null ? 'none yet that had work' : when(run.last_ts)],
    [
      'next run',
      `${counted(run.waiting, 'entry waits', 'entries wait')}; ${counted(run.with_work, 'person', 'people')} with work`,
    ],
    ...(run.outdated > 0 ? [['', outdatedText(run.outdated, run.outdated_days, 'next')]] : []),
    ...run.at_work.map(({ user_email, owner, expires_ts }) => {
      return ['at work', `${user_email}: ${owner}, until ${minuteText(expires_ts, zone)}`];
    }),
    ['store', `${status.store}, ${size(disk.bytes)}${disk.free === null ? '' : `, ${size(disk.free)} free`}`],
    ['backup', `${when(status.backup_ts)}; last check ${when(status.check_ts)}`],
  ];
  return withZone(table(rows), zone);
}

const size = (bytes: number): string =>
  bytes >= gibibyte ? `${(bytes / gibibyte).toFixed(1)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** `  silent`, then a line for each person: who, for how long, and why. */
function troubledRows(state: PersonState, people: readonly Troubled[], context: CommandContext): string[][] {
  const now = context.now();
  const rows = people.slice(0, listed).map(({ user_email, since, why }, i) => {
    const time = since === null ? '' : ` (${durationText(now - since)})`;
    return [i === 0 ? `  ${personStates[state]}` : '', `${user_email}${time}: ${why}`];
  });
  const more = people.length - listed;
  if (more > 0) rows.push(['', `and ${more} more: mobility users list --state ${state}`]);
  return rows;
}

function setAsideText(list: readonly SetAside[]): string {
  if (list.length === 0) return 'nothing';
  const entries = list.reduce((sum, one) => sum + one.entries, 0);
  return `${counted(entries, 'entry', 'entries')}, ${counted(list.length, 'reason')}: mobility errors`;
}

const unfinishedWork = { erasing: '`mobility erase`', arriving: '`mobility migrate`' };
