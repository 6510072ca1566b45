import { minuteText } from '../../diary/number-text.ts';
import { everyStatus } from '../../diary/status/all-statuses.ts';
import { type Act, readActs } from '../../log/audit-log.ts';
import { usageError } from '../../model/mobility-error.ts';
import { shownName } from '../../model/user.ts';
import { DocumentedCommand, type OptionsOf, timeArgument } from '../arguments.ts';
import { audited } from '../audit-action.ts';
import type { CommandContext } from '../context.ts';
import { didYouMean } from '../nearest-name.ts';
import { counted, listing, withZone } from '../output.ts';

export const command = (context: CommandContext) => flags(context).action(context.run(show));

const flags = (context: CommandContext) =>
  new DocumentedCommand('audit')
    .examples(`
  mobility audit --since 30d
  mobility audit --user ada@example.org --json`)
    .option('--user <name>', 'only acts about this user, by name or UUID')
    .option('--action <action>', 'only this action, such as export or "users token"')
    .option(
      '--since <time>',
      'only acts since then: 2h, 3d, 10:00, yesterday, 2026-11-21',
      timeArgument(context, 'from'),
    );

/** Actions of managers on pages, besides those that name a day or month, such as `look at 2026-11-21`. */
const pageActions = ['list of people', 'reminder list', 'flagged days'];

async function show(context: CommandContext, { user, action, since = 0 }: OptionsOf<typeof flags>): Promise<void> {
  const store = await context.store();
  if (user !== undefined) await context.findUser(user);
  const isSelected = (act: Act): boolean =>
    act.ts >= since &&
    (action === undefined || act.action === action) &&
    (user === undefined || act.people.some((key) => context.named.has(key)));
  const all = await readActs(context.config().logDir);
  const known = new Set([...audited, ...pageActions, ...all.map((act) => act.action)]);
  if (action !== undefined && !known.has(action) && !/^(look at|figures of) \d/.test(action))
    throw usageError(`no action ${JSON.stringify(action)}${await didYouMean(action, known)}`);
  const acts = all.filter(isSelected);
  const names = new Map<string, string>();
  if (acts.some(({ people }) => people.length > 0))
    for await (const person of everyStatus(store, { now: context.now() }))
      names.set(person.figures.audit_key, shownName(person.user.user_email));
  const shown = acts.map(({ people, ...act }) => ({
    ...act,
    people: people.map((key) => ({ key, user_email: names.get(key) ?? null })),
  }));
  await context.output.result({ acts: shown }, () => {
    const rows = shown.map(({ ts, who, people, outcome, ...act }) => {
      const whom = people.map(({ user_email }) => user_email ?? '(erased)').join(', ');
      return [minuteText(ts, context.zone), who, `${act.action} ${act.how}`.trim(), whom, outcome];
    });
    return withZone(listing(['TIME', 'WHO', 'ACTION', 'PEOPLE', 'OUTCOME'], rows), context.zone);
  });
  context.output.note(counted(acts.length, 'act'));
}
