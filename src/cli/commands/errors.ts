import { Command } from '@commander-js/extra-typings';
import { minuteText } from '../../diary/number-text.ts';
import { oneLine } from '../../log/text.ts';
import { usageError } from '../../model/mobility-error.ts';
import { faultReason } from '../../model/rejections.ts';
import { everyError } from '../../store/paging.ts';
import type { ErrorRow } from '../../store/store.ts';
import { type ErrorGroup, figuresWithErrors, groupErrors, withoutValues } from '../../upkeep/error-groups.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { noErrorsText, withErrorFilter } from '../error-filter.ts';
import { counted, errorKeyText, table, withZone } from '../output.ts';
import { selectUsers, selectUsersOrAll, type UserChoice, withUserChoice } from '../user-options.ts';

type Options = UserChoice & Parameters<typeof noErrorsText>[0];

export function command(context: CommandContext) {
  const show = new Command('show')
    .description('show one error: what was expected and found, and the fields of the entry without their values')
    .argument('<id>', 'id of the error, from `mobility errors`')
    .option('--coordinates', 'also the values: they may reveal where the user was')
    .action(context.run(showOne));
  const list = withErrorFilter(withUserChoice(new Command('list')))
    .description('sum up the rejected entries (the default)')
    .action(context.run(showAll));
  return new DocumentedCommand('errors')
    .examples(`
  mobility errors
  mobility errors --user ada@example.org
  mobility errors --reason wrong_type --platform ios --json
  mobility errors show 75ba38336f277ef4090f1b83

Without --user and --study: the errors of all users. \`mobility recover-errors\` takes the same flags.
Exit code 3: a converter of the program failed.`)
    .usage('[list|show] [options]')
    .addCommand(list, { isDefault: true })
    .addCommand(show);
}

async function showAll(context: CommandContext, options: Options): Promise<Outcome> {
  const store = await context.store();
  const groups = await groupErrors(store, selectUsersOrAll(context, options), options);
  const texts = groups.map((one) => groupText(one, context.zone));
  await context.output.result({ errors: groups }, withZone(texts.join('\n'), context.zone));
  const total = groups.reduce((sum, { entries }) => sum + entries, 0);
  const next = 'to see one: mobility errors show ID; after an update: mobility recover-errors, with the same flags';
  context.output.note(total === 0 ? noErrorsText(options) : `${counted(total, 'entry', 'entries')}; ${next}`);
  return groups.some(({ fault }) => fault) ? { exitCode: 3 } : {};
}

function groupText(group: ErrorGroup, zone: string): string {
  const { fault, reason, key, platform, version, entries, people, first_ts, last_ts, other_messages, id } = group;
  const head = [counted(entries, 'entry', 'entries'), counted(people, 'person', 'people'), errorKeyText(key)];
  if (platform !== null) head.push(errorKeyText(platform));
  if (version !== null) head.push(`app ${errorKeyText(version)}`);
  head.push(`${minuteText(first_ts, zone)} to ${minuteText(last_ts, zone)}`);
  const others = other_messages > 0 ? `, and ${counted(other_messages, 'other message')}` : '';
  const why = `${fault ? 'PROGRAM FAULT' : oneLine(reason)}: ${oneLine(group.message)}${others}`;
  return `${head.join('  ')}\n    ${why}\n    ${id}`;
}

async function showOne(context: CommandContext, id: string, { coordinates }: { coordinates?: true }): Promise<void> {
  const store = await context.store();
  const shown: Shown[] = [];
  for await (const { uuid, user_email } of selectUsers(context, { all: true })) {
    if ((await figuresWithErrors(store, uuid)) === null) continue;
    for await (const { entry: whole, ...error } of everyError(store, uuid)) {
      if (error.id !== id) continue;
      const entry = coordinates ? whole : withoutValues(whole);
      shown.push({ user_email, uuid, ...error, fault: error.reason === faultReason, entry });
      await context.findUser(uuid); // the audit log notes whose error was shown
    }
  }
  if (shown.length === 0) throw usageError(`expected the id of an error, found ${id}: see \`mobility errors\``);
  const texts = shown.map((one) => oneText(one, context.zone));
  await context.output.result({ errors: shown }, withZone(texts.join('\n\n'), context.zone));
}

type Shown = ErrorRow & { user_email: string; uuid: string; fault: boolean };

function oneText({ entry, ...error }: Shown, zone: string): string {
  return table([
    ['user', error.user_email],
    ['reason', error.fault ? 'PROGRAM FAULT' : error.reason],
    ['text', error.message],
    ['failed', `${error.tries} times, ${minuteText(error.first_ts, zone)} to ${minuteText(error.last_ts, zone)}`],
    ['received', minuteText(error.received_ts, zone)],
    ['entry', JSON.stringify(entry)],
  ]);
}
