import { flagLines, flagMeanings, flagNames } from '../../diary/flags.ts';
import { distanceText, durationText } from '../../diary/number-text.ts';
import { reasonsOf } from '../../diary/observed-time.ts';
import { type Day, dayFigures, everyDay } from '../../diary/read-days.ts';
import type { UserRecord } from '../../model/user.ts';
import { DocumentedCommand, daysArgument, type OptionsOf, resolveDays } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, table } from '../output.ts';
import { selectUsers, withUserChoice } from '../user-options.ts';

export const command = (context: CommandContext) => flags(context).action(context.run(list));

const flags = (context: CommandContext) =>
  withUserChoice(new DocumentedCommand('days').examples(examples))
    .option('--day <days>', 'a day or a range A..B; default: all days with data', daysArgument(context))
    .option('--flagged', 'only days with flags');

const examples = `
  mobility days --user ada@example.org --day 2026-11-20..2026-11-24
  mobility days --all --day yesterday --flagged
  mobility days --study berlin --flagged --json

Flags mark days in which something may be wrong although nothing failed. They change nothing.
${Object.entries(flagMeanings)
  .map(([flag, meaning]) => `  ${flag.padEnd(17)} ${meaning}`)
  .join('\n')}`;

async function list(context: CommandContext, { day, flagged, ...whom }: OptionsOf<typeof flags>): Promise<void> {
  const { output } = context;
  const store = await context.store();
  const progress = output.progress('reading');
  const rows: ReturnType<typeof jsonOf>[] = [];
  const texts: string[] = [];
  for await (const user of selectUsers(context, whom)) {
    progress.update(user.user_email);
    const own: Day[] = [];
    const bounds = day === undefined ? {} : await resolveDays(context, user, day);
    for await (const one of everyDay(store, user, bounds, context.now())) {
      if (!flagged || one.flagged.length > 0) own.push(one);
    }
    rows.push(...own.map((one) => jsonOf(user, one)));
    if (!output.json && own.length > 0) texts.push(daysText(user, own));
  }
  await output.result({ days: rows }, () => texts.join('\n\n'));
  output.note(`${counted(rows.length, 'day')}${flagged ? ' with flags' : ''}`);
}

function jsonOf({ uuid, user_email }: UserRecord, one: Day) {
  const { day, observed, flagged } = one;
  const { moving_s, staying_s } = observed;
  const reasons = Object.fromEntries(reasonsOf(observed));
  const who = { user_id: uuid, user_email, day, time_zone: observed.zone };
  const flags = flagNames(flagged);
  const places = flagged.map(({ flag, of, id, from, to }) => ({ flag, of, id, start_ts: from, end_ts: to }));
  return { ...who, ...dayFigures(one), moving_s, staying_s, not_observed_s: reasons, flags, flagged: places };
}

function daysText({ user_email }: UserRecord, days: readonly Day[]): string {
  const zones = [...new Set(days.map(({ observed }) => observed.zone))];
  const rows = days.map((one) => {
    const { trips, draft, distance_m, observed_s } = dayFigures(one);
    const figures = [
      `${counted(trips, 'trip')}${draft ? ' (draft)' : ''}`,
      distanceText(distance_m),
      `observed ${durationText(observed_s)}`,
    ];
    return [`  ${one.day}`, ...figures, ...(zones.length > 1 ? [one.observed.zone] : [])];
  });
  const lines = table(rows, [1, 2, 3]).split('\n');
  const checks = days.map(({ flagged, observed }) => flagLines(flagged, observed.zone).map((line) => `    ${line}`));
  return [`${user_email}  ${zones.join(', ')}`, ...lines.flatMap((line, i) => [line, ...checks[i]!])].join('\n');
}
