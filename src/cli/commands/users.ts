import { Option } from '@commander-js/extra-typings';
import { correctedTrips } from '../../diary/corrections/corrected-trips.ts';
import { agoText, minuteText } from '../../diary/number-text.ts';
import { everyStatus } from '../../diary/status/all-statuses.ts';
import type { PersonState } from '../../diary/status/breakages.ts';
import { type PersonStatus, troubles, usualSilentDays } from '../../diary/status/person-status.ts';
import { checkedName, importUsers, uuidError } from '../../import/people-tables.ts';
import { isUuid } from '../../model/ids.ts';
import { usageError } from '../../model/mobility-error.ts';
import { shownName, type UserRecord } from '../../model/user.ts';
import { fileText, streamText } from '../../util/file-access.ts';
import { DocumentedCommand, type OptionsOf, timeArgument, wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table, withZone } from '../output.ts';
import { personStates, toStatusJson } from '../status-text.ts';
import { findStudy, isMember, refuseUnknownStudy } from '../user-options.ts';
import { revokeCommand, tokenCommand, tokensCommand, userLinkCommand } from './user-tokens.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('users')
    .examples(`
  mobility users add ada@example.org
  mobility users import people.csv`)
    .addCommand(
      new DocumentedCommand('add', 'register one user; a registered user keeps their UUID')
        .examples(`
  mobility users add ada@example.org
  mobility users add ada --uuid 6a0d…`)
        .argument('<name>', 'name with which the user logs in (user_email)')
        .option('--uuid <uuid>', 'UUID of the user; default: a new random one')
        .action(context.run(add)),
    )
    .addCommand(
      new DocumentedCommand('import', 'register the people of a CSV file')
        .examples(`
  mobility users import people.csv
  cut -d, -f1 list.csv | mobility users import -

The file has the header user_email,uuid,token; uuid and token may be left out or
empty. The file can be imported again: registered people keep their UUID and tokens.
Exit code 3: some lines failed; the others are registered.`)
        .argument('<file>', 'CSV file, or - for standard input')
        .action(context.run(importFile)),
    )
    .addCommand(listFlags(context).action(context.run(list)))
    .addCommand(removeFlags(context).action(context.run(remove)))
    .addCommand(tokenCommand(context))
    .addCommand(tokensCommand(context))
    .addCommand(revokeCommand(context))
    .addCommand(userLinkCommand(context));
}

async function add(context: CommandContext, name: string, options: { uuid?: string }): Promise<void> {
  const uuid = options.uuid?.toLowerCase();
  if (uuid !== undefined && !isUuid(uuid)) throw uuidError(uuid);
  const { users } = await context.store({ make: true });
  const how = { ...(uuid !== undefined && { uuid }), now: context.now() };
  const { user, created } = await users.register(checkedName(name, uuid), how);
  await context.output.result({ ...user, created }, `${user.uuid}  ${shownName(user.user_email)}`);
  context.output.note(created ? 'registered' : 'was already registered');
}

async function importFile(context: CommandContext, file: string): Promise<Outcome> {
  const csv = await (file === '-' ? streamText(context.stdin) : fileText(file));
  const { added, present, failed } = await importUsers(await context.store({ make: true }), csv, context.now());
  for (const { line, user_email, message } of failed)
    context.output.note(`line ${line}${user_email === '' ? '' : ` (${user_email})`}: ${message}`);
  const text = `${counted(added, 'user')} added, ${present} already registered, ${counted(failed.length, 'line')} failed`;
  await context.output.result({ added, present, failed }, text);
  if (failed.length === 0) return {};
  if (added + present > 0) return { exitCode: 3 };
  throw usageError(`no line of ${file} could be registered: correct the lines named above`);
}

const stateNames = Object.keys(personStates) as PersonState[];

const listFlags = (context: CommandContext) =>
  new DocumentedCommand('list', 'list the registered users with their state; users who need attention come first')
    .examples(`
  mobility users list --counts
  mobility users list --silent 7 --json`)
    .option('--counts', 'add pending entries, errors and trips of each user (slower)')
    .option('--silent <days>', 'only users without a call, or a location, for this many days', wholeNumber(1, 100_000))
    .addOption(new Option('--state <state...>', 'only users in the named states').choices(stateNames))
    .option('--study <name>', 'only users who joined this study')
    .option('--subgroup <name>', 'only users of this subgroup')
    .option(
      '--joined-since <time>',
      'only users who joined by a link since then: 2h, 10:00',
      timeArgument(context, 'from'),
    )
    .option('--never-pushed', 'only users without any stored entry')
    .option('--asked-erasure', 'only users who requested erasure on their page');

type ListedUser = ReturnType<typeof toStatusJson> & { trips?: number };

async function list(context: CommandContext, options: OptionsOf<typeof listFlags>): Promise<void> {
  const store = await context.store();
  const { counts = false, silent, state, joinedSince, neverPushed } = options;
  const people: PersonStatus[] = [];
  const silentDays = silent ?? usualSilentDays;
  for await (const person of everyStatus(store, { now: context.now(), silentDays })) {
    const { joined_ts = Number.NEGATIVE_INFINITY, sent_ts } = person.user;
    if (!isMember(person.user, options)) continue;
    if (joinedSince !== undefined && joined_ts < joinedSince) continue;
    if (neverPushed && sent_ts !== undefined) continue;
    if (state !== undefined && !state.includes(person.state)) continue;
    if (options.askedErasure && typeof person.figures.profile.erasure_asked_ts !== 'number') continue;
    if (silent === undefined || ['silent', 'without_locations'].includes(person.state)) people.push(person);
  }
  // Within a state, the users who have been in it longest come first.
  const order = [...troubles, 'stopped', 'in_order'];
  people.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || (a.since ?? 0) - (b.since ?? 0));
  const listed: ListedUser[] = [];
  for (const person of people) {
    const trips = counts ? (await correctedTrips(store).summary(person.user.uuid)).count : undefined;
    listed.push({ ...toStatusJson(person), ...(trips !== undefined && { trips }) });
  }
  if (listed.length === 0) await refuseUnknownStudy(context, options);
  await context.output.result({ users: listed }, () => withZone(listText(listed, context), context.zone));
  context.output.note(counted(listed.length, 'user'));
}

function listText(users: readonly ListedUser[], { zone, now }: CommandContext): string {
  if (users.length === 0) return '';
  const isCounted = users[0]!.trips !== undefined;
  const titles = ['UUID', 'NAME', 'STATE', 'SINCE', 'JOINED', 'LAST PUSH', 'LAST LOCATION'];
  const ago = (ts: number | null | undefined): string => (ts == null ? '-' : agoText(ts, now()));
  const rows = users.map(({ uuid, user_email, state, since, chain, waiting, set_aside, trips = 0 }) => {
    const { registered, joined, pushed, located } = chain;
    const errors = set_aside.reduce((sum, { count }) => sum + count, 0);
    const began = minuteText(joined.ts ?? registered.ts!, zone);
    const times = [ago(since), began, ago(pushed.ts), ago(located.ts)];
    const counts = isCounted ? [waiting.count, errors, trips].map(String) : [];
    return [uuid, shownName(user_email), personStates[state], ...times, ...counts];
  });
  return table([[...titles, ...(isCounted ? ['WAITING', 'ERRORS', 'TRIPS'] : [])], ...rows], [7, 8, 9]);
}

const removeFlags = (context: CommandContext) =>
  new DocumentedCommand('remove', 'remove a registered user without data, or members of a study who never sent any')
    .examples(`
  mobility users remove ada
  mobility users remove --study sunny --joined-since 10:00 --never-pushed

To remove users with data, use \`mobility erase\`.`)
    .argument('[name]', 'name or UUID of the user')
    .option('--study <name>', 'with --never-pushed: members of this study who joined by its link')
    .option('--joined-since <time>', 'with --study: only members who joined since then', timeArgument(context, 'from'))
    .option('--never-pushed', 'with --study: only members who never sent data');

async function remove(context: CommandContext, name: string | undefined, options: OptionsOf<typeof removeFlags>) {
  const { study, joinedSince, neverPushed } = options;
  if (name !== undefined && study === undefined && !neverPushed) return removeOne(context, name);
  if (name === undefined && study !== undefined && neverPushed) return removeIdle(context, study, joinedSince);
  throw usageError(
    'expected only the name of a user, or only --study NAME with --never-pushed, found another combination',
  );
}

async function removeOne(context: CommandContext, name: string): Promise<void> {
  const user = await context.findUser(name);
  const store = await context.store();
  const { usercache, errors, timeseries, trips } = await store.counts(user.uuid);
  const rows = usercache + errors + timeseries + trips;
  if (rows > 0) {
    const next = `to remove user and data, run \`mobility erase --user ${name}\``;
    throw usageError(`${user.user_email} has ${counted(rows, 'row')} of data; ${next}`);
  }
  const removed = await store.erase(user.uuid);
  await context.output.result({ ...user, removed }, `${user.uuid}  ${shownName(user.user_email)}`);
  context.output.note('removed');
}

async function removeIdle(context: CommandContext, study: string, from: number | undefined): Promise<void> {
  await findStudy(context, study);
  const { studies } = await context.store();
  const next = () => studies.removeIdle(study, { from, limit: 100 }); // users in one transaction
  const removed: UserRecord[] = [];
  for (let some = await next(); some.length > 0; some = await next()) removed.push(...some);
  await context.output.result({ study, removed }, removed.map((user) => `${user.uuid}  ${user.user_email}`).join('\n'));
  context.output.note(`${counted(removed.length, 'account')} removed; their phones must join again`);
}
