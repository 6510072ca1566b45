// `mobility errors`: what was set aside, by reason, key, platform and version, with how many people; faults first.
import { Command } from 'commander';
import { minuteText } from '../../diary/number-text.ts';
import { oneLine } from '../../log/text.ts';
import { faultReason } from '../../model/error-summary.ts';
import { isJsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import { usageError } from '../../model/mobility-error.ts';
import type { UserRecord } from '../../model/user.ts';
import { everyError } from '../../store/paging.ts';
import type { ErrorRow } from '../../store/store.ts';
import { platformOf } from '../../upkeep/recover-user.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { appVersionOf, type ErrorFilter, figuresWithErrors, withErrorFilter } from '../error-filter.ts';
import { counted, table } from '../output.ts';
import { usersMeant, type Whom, withWhom } from '../user-options.ts';
import { errorKeyText, withZone } from '../wording.ts';

type Options = Whom & ErrorFilter;

/** Errors that have everything in common but person and entry. */
interface Group {
  /** True: a converter failed; the program is at fault, not what was pushed. */
  fault: boolean;
  reason: string;
  key: string | null;
  platform: string | null;
  /** Of the app, as the profile says it. */
  version: string | null;
  entries: number;
  people: number;
  /** When the first and the last of them failed, seconds since the epoch. */
  first_ts: number;
  last_ts: number;
  /** The text and the id of one of them. */
  message: string;
  id: string;
}

/** Sums up errors, and shows one. */
export function errorsCommand(context: CommandContext): Command {
  const show = new Command('show')
    .description('show one error: what was expected and found, and the fields of the entry without their values')
    .argument('<id>', 'id of the error, from `mobility errors`')
    .option('--coordinates', 'also the values: they may tell where somebody was')
    .action(context.run((id: string, options: { coordinates?: true }) => showOne(context, id, options)));
  const list = withErrorFilter(withWhom(new Command('list')))
    .description('sum up what was set aside (the default)')
    .action(context.run((options: Options) => showAll(context, options)));
  return new Command('errors')
    .usage('[list|show] [options]')
    .addHelpText(
      'after',
      `
Examples:
  mobility errors
  mobility errors --user ada@example.org
  mobility errors --reason wrong_type --platform ios --json
  mobility errors show 75ba38336f277ef4090f1b83

Without --user and --study: of everybody. \`mobility recover-errors\` takes the same flags.
Exit code 3: a converter of the program failed.`,
    )
    .addCommand(list, { isDefault: true })
    .addCommand(show);
}

async function showAll(context: CommandContext, options: Options): Promise<Outcome> {
  const store = await context.store();
  const { key, reason, platform } = options;
  const which = { ...(key !== undefined && { key }), ...(reason !== undefined && { reason }) };
  const groups = new Map<string, Group>();
  for await (const { uuid } of usersOf(context, options)) {
    const figures = await figuresWithErrors(store, uuid, options);
    if (figures === null) continue;
    const version = appVersionOf(figures);
    const own = new Set<Group>();
    for await (const row of everyError(store, uuid, which)) {
      if (platform === undefined || platformOf(row) === platform) own.add(addRow(groups, row, version));
    }
    for (const group of own) group.people += 1;
  }
  const sorted = [...groups.values()].sort((a, b) => Number(b.fault) - Number(a.fault) || b.entries - a.entries);
  await context.output.result({ errors: sorted }, () =>
    withZone(sorted.map((one) => groupText(one, context)).join('\n'), context.zone),
  );
  const faults = sorted.filter(({ fault }) => fault);
  const total = sorted.reduce((sum, { entries }) => sum + entries, 0);
  const next =
    'see one: mobility errors show ID; after a fix or an update: mobility recover-errors, with the same flags';
  context.output.note(total === 0 ? 'no errors' : `${counted(total, 'entry', 'entries')}; ${next}`);
  return faults.length > 0 ? { exitCode: 3 } : {};
}

/** Everybody whom the flags choose; without such flags everybody. */
function usersOf(context: CommandContext, { user, study, subgroup, all }: Options): AsyncGenerator<UserRecord> {
  const whom: Whom = {
    ...(user && { user }),
    ...(study !== undefined && { study }),
    ...(subgroup !== undefined && { subgroup }),
  };
  return usersMeant(context, all || Object.keys(whom).length === 0 ? { all: true } : whom);
}

function addRow(groups: Map<string, Group>, row: ErrorRow, version: string | null): Group {
  const { reason, identity, entry, first_ts, last_ts, message, id } = row;
  const named = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata.key : null;
  const key = identity?.key ?? (typeof named === 'string' ? named : null);
  const common = { fault: reason === faultReason, reason, key, platform: platformOf(row), version };
  const name = JSON.stringify(common);
  let group = groups.get(name);
  if (group === undefined) {
    group = { ...common, entries: 0, people: 0, first_ts, last_ts, message, id };
    groups.set(name, group);
  }
  group.entries += 1;
  group.first_ts = Math.min(group.first_ts, first_ts);
  group.last_ts = Math.max(group.last_ts, last_ts);
  return group;
}

function groupText(group: Group, { zone }: CommandContext): string {
  const { fault, reason, key, platform, version, entries, people, first_ts, last_ts, message, id } = group;
  const times = `${minuteText(first_ts, zone)} to ${minuteText(last_ts, zone)}`;
  const about = [
    errorKeyText(key),
    platform === null ? '' : errorKeyText(platform),
    version === null ? '' : `app ${errorKeyText(version)}`,
    times,
  ];
  const head = [counted(entries, 'entry', 'entries'), counted(people, 'person', 'people'), ...about].filter(
    (text) => text !== '',
  );
  return `${head.join('  ')}\n    ${fault ? 'PROGRAM FAULT: ' : `${oneLine(reason)}: `}${oneLine(message)}\n    ${id}`;
}

async function showOne(context: CommandContext, id: string, { coordinates }: { coordinates?: true }): Promise<void> {
  const store = await context.store();
  const found: { user_email: string; uuid: string; error: ErrorRow }[] = [];
  for await (const { uuid, user_email } of usersMeant(context, { all: true })) {
    if ((await figuresWithErrors(store, uuid)) === null) continue;
    for await (const error of everyError(store, uuid)) if (error.id === id) found.push({ user_email, uuid, error });
  }
  if (found.length === 0) {
    throw usageError(`expected the id of an error, found ${id}: see \`mobility errors\``);
  }
  // It is a look at this person, and the audit log says so.
  for (const { uuid } of found) await context.findUser(uuid);
  const shown = found.map(({ error: { entry, ...error }, ...user }) => ({
    ...{ ...user, ...error, fault: error.reason === faultReason },
    entry: coordinates ? entry : withoutValues(entry),
  }));
  await context.output.result({ errors: shown }, () =>
    withZone(shown.map((one) => oneText(one, context)).join('\n\n'), context.zone),
  );
}

type Shown = Omit<ErrorRow, 'entry'> & { user_email: string; fault: boolean; entry: JsonValue };

function oneText({ entry, ...error }: Shown, { zone }: CommandContext): string {
  return table([
    ['user', error.user_email],
    ['reason', error.fault ? 'PROGRAM FAULT' : error.reason],
    ['text', error.message],
    ['failed', `${error.tries} times, ${minuteText(error.first_ts, zone)} to ${minuteText(error.last_ts, zone)}`],
    ['received', minuteText(error.received_ts, zone)],
    ['entry', JSON.stringify(entry)],
  ]);
}

/** What of an entry can tell where nobody was: the names and kinds of its fields, and what its metadata say. */
function withoutValues(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return kindOf(entry);
  const { metadata, data, ...others } = entry;
  const kinds = (value: JsonValue | undefined): JsonValue =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, kindOf(one)]))
      : kindOf(value);
  const told = ['key', 'platform', 'type', 'write_ts', 'time_zone', 'plugin'];
  const about = isJsonObject(metadata)
    ? Object.fromEntries(Object.entries(metadata).map(([name, one]) => [name, told.includes(name) ? one : kindOf(one)]))
    : kindOf(metadata);
  return {
    metadata: about as JsonValue,
    data: kinds(data),
    ...(Object.keys(others).length > 0 && { others: kinds(others) }),
  };
}
