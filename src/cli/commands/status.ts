import { durationText } from '../../diary/number-text.ts';
import type { PersonState } from '../../diary/status/breakages.ts';
import { troubles, usualSilentDays } from '../../diary/status/person-status.ts';
import { timeAndAge } from '../../diary/status/remedies.ts';
import { day } from '../../model/time.ts';
import { readStoreStatus, type StoreStatus, type TroubledPerson } from '../../upkeep/store-status.ts';
import { DocumentedCommand, wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, outdatedText, table, withZone } from '../output.ts';
import { leaseWords, personStates } from '../status-text.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('status')
    .examples(`
  mobility status
  mobility status --json
  mobility doctor --user ada@example.org

Exit code 3: a person or a part of the installation needs attention.`)
    .option(
      '--silent <days>',
      `days without a call, or a location, until a person is listed; default: ${usualSilentDays}`,
      wholeNumber(1, 1000),
    )
    .action(context.run(showStatus));
}

async function showStatus(context: CommandContext, { silent }: { silent?: number }): Promise<Outcome> {
  const store = await context.store();
  const { output, zone } = context;
  output.progress('counting');
  const now = context.now();
  const silentDays = silent ?? usualSilentDays;
  const { logDir } = context.config();
  const status = await readStoreStatus(store, { now, zone, silentDays, logDir, note: output.note });
  await output.result(status, () => statusText(status, context));
  const late = status.troubled.never_began.some(({ since }) => (since ?? 0) < now - silentDays * day);
  const others = troubles.some((state) => state !== 'never_began' && status.troubled[state].length > 0);
  const needsAttention = late || others || status.unfinished.length > 0 || status.set_aside.some(({ fault }) => fault);
  return needsAttention ? { exitCode: 3 } : {};
}

const listed = 10; // most people of a state, and most reasons, that the text shows

function statusText(status: StoreStatus, context: CommandContext): string {
  const { people, erasure_asked, troubled, set_aside, arrivals, run, unfinished, disk } = status;
  const { zone } = context;
  const now = context.now();
  const when = (ts: number | null): string => timeAndAge(ts, { now, zone });
  const { lag_median_s: median, lag_most_s: most } = arrivals;
  const lag = most === null ? null : `push to diary: median ${durationText(median!)}, most ${durationText(most)}`;
  const states = (Object.keys(personStates) as PersonState[]).filter((state) => people[state] > 0);
  const pending = counted(run.waiting, 'pending entry', 'pending entries');
  const entries = set_aside.reduce((sum, one) => sum + one.entries, 0);
  const [rejected, reasons] = [counted(entries, 'entry', 'entries'), counted(set_aside.length, 'reason')];
  const counts = states.map((state) => `${people[state]} ${personStates[state]}`).join(', ');
  const rows = [
    ['people', `${people.all}: ${counts || 'none'}`],
    ...(erasure_asked > 0 ? [['', `${erasure_asked} asked to be erased: mobility users list --asked-erasure`]] : []),
    ...troubles.flatMap((state) => troubledRows(state, troubled[state], context)),
    ...unfinished.map(({ user_id, stage }) => [`  ${stage}`, `${user_id}: repeat the ${unfinishedWork[stage]}`]),
    ['rejected', set_aside.length === 0 ? 'nothing' : `${rejected}, ${reasons}: mobility errors`],
    ...set_aside.slice(0, listed).map(({ reason, fault, entries, people: some }) => {
      const count = `${counted(entries, 'entry', 'entries')} of ${counted(some, 'person', 'people')}`;
      return ['', `${count}: ${fault ? 'PROGRAM FAULT ' : ''}${reason}`];
    }),
    ['last data', `${when(arrivals.last_ts)}; ${arrivals.people_last_day} of ${people.all} people in the last 24 h`],
    ...(lag === null ? [] : [['', lag]]),
    ['last run', run.last_ts === null ? 'no run has had work yet' : when(run.last_ts)],
    ['next run', `${pending}; ${counted(run.with_work, 'person', 'people')} with work`],
    ...(run.outdated > 0 ? [['', outdatedText(run.outdated, run.outdated_days, 'next')]] : []),
    ...[...run.at_work, ...run.killed].map((lease) => {
      const [state, words] = leaseWords(lease, zone);
      return [state, `${lease.user_email}: ${words}`];
    }),
    ['store', `${status.store}, ${size(disk.bytes)}${disk.free === null ? '' : `, ${size(disk.free)} free`}`],
    ['backup', `${when(status.backup_ts)}; last check ${when(status.check_ts)}`],
  ];
  return withZone(table(rows), zone);
}

const size = (bytes: number): string =>
  bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function troubledRows(state: PersonState, people: readonly TroubledPerson[], context: CommandContext): string[][] {
  const rows = people.slice(0, listed).map(({ user_email, since, why }, i) => {
    const time = since === null ? '' : ` (${durationText(context.now() - since)})`;
    return [i === 0 ? `  ${personStates[state]}` : '', `${user_email}${time}: ${why}`];
  });
  const more = people.length - listed;
  if (more > 0) rows.push(['', `and ${more} more: mobility users list --state ${state}`]);
  return rows;
}

const unfinishedWork = { erasing: '`mobility erase`', arriving: '`mobility migrate`' };
