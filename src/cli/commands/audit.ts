import { minuteText } from '../../diary/number-text.ts';
import { everyStatus } from '../../diary/status/all-statuses.ts';
import { type Act, readActs } from '../../log/audit-log.ts';
import { shownName } from '../../model/user.ts';
import { DocumentedCommand, type OptionsOf, timeArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, listing, withZone } from '../output.ts';

export const command = (context: CommandContext) => flags(context).action(context.run(show));

const flags = (context: CommandContext) =>
  new DocumentedCommand('audit')
    .examples(`
  mobility audit --since 30d
  mobility audit --user ada@example.org --json`)
    .option('--user <name>', 'only acts about this user, by name or UUID')
    .option('--since <time>', 'only acts since then: 2h, 3d, 10:00, 2026-11-21', timeArgument(context, 'from'));

async function show(context: CommandContext, { user, since = 0 }: OptionsOf<typeof flags>): Promise<void> {
  const store = await context.store();
  if (user !== undefined) await context.findUser(user); // adds the key of the user to `named`
  const isSelected = ({ ts, people }: Act): boolean =>
    ts >= since && (user === undefined || people.some((key) => context.named.has(key)));
  const acts = (await readActs(context.config().logDir)).filter(isSelected);
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
