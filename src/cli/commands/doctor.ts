import { readStatus } from '../../diary/status/all-statuses.ts';
import type { PersonStatus } from '../../diary/status/person-status.ts';
import { findRemedy, quotedName, type Remedy } from '../../diary/status/remedies.ts';
import { isMobilityError, usageError } from '../../model/mobility-error.ts';
import { tokenHash, type UserRecord } from '../../model/user.ts';
import { type Check, checkEverything } from '../../upkeep/check-installation.ts';
import { checkJoin, findGap, findKilledRun } from '../../upkeep/check-person.ts';
import { type DayAsked, DocumentedCommand, dayArgument, type OptionsOf, resolveDay } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { table, withZone } from '../output.ts';
import { stepRows, toStatusJson } from '../status-text.ts';

export const command = (context: CommandContext) => flags().action(context.run(examine));

const flags = () =>
  new DocumentedCommand('doctor')
    .examples(`
  mobility doctor
  mobility doctor --url https://mobility.example.org
  mobility doctor --user ada@example.org --day 2024-03-12

Changes nothing. Exit code 3: something is broken.`)
    .option('--user <name>', 'name, UUID or study token of one person; default: the installation')
    .option('--day <day>', 'with --user: also find gaps in this local day', dayArgument)
    .option('--url <address>', 'address of the server for phones: also checks the proxy');

async function examine(context: CommandContext, { user: name, day, url }: OptionsOf<typeof flags>): Promise<Outcome> {
  const store = await context.store();
  if (name === undefined) {
    const checks = await checkEverything(context, store, url);
    await context.output.result({ checks }, () => checks.map(checkText).join('\n'));
    return checks.every(({ ok }) => ok) ? {} : { exitCode: 3 };
  }
  const owner = (await store.tokens.byHash(tokenHash(name)))?.user_id;
  try {
    return await examineUser(context, await context.findUser(owner ?? name), day);
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    const check = await checkJoin(store, name);
    if (check === null) throw error;
    await context.output.result({ chain: null, broken: { link: 'joined', ...check } }, remedyText('joined', check));
    return { exitCode: 3 };
  }
}

async function examineUser(context: CommandContext, user: UserRecord, asked?: DayAsked): Promise<Outcome> {
  const store = await context.store();
  const shown = { now: context.now(), zone: context.zone };
  const status = await readStatus(store, user, shown);
  const broken = findKilledRun(status, shown.now) ?? status.broken;
  const remedy = broken === null ? null : findRemedy(status, broken, shown);
  const isAsked = asked !== undefined && broken?.code !== 'damaged';
  const day = isAsked ? await pastDay(context, user, asked) : null;
  const gap = day === null ? null : await findGap(store, user, day, context.zone);
  const json = { ...toStatusJson(status), broken: broken && { ...broken, ...remedy }, ...(gap && { hole: gap }) };
  await context.output.result(json, () => {
    const rows = table(stepRows(status, broken, shown));
    const lines = [`${context.output.bold(user.user_email)}  ${user.uuid}`, rows];
    if (broken !== null && remedy !== null) lines.push(remedyText(broken.link, remedy));
    if (gap !== null) lines.push(remedyText('located', gap));
    if (broken === null && gap === null) lines.push(soundText(status));
    return withZone(lines.join('\n\n'), context.zone);
  });
  return broken === null && gap === null ? {} : { exitCode: 3 };
}

function soundText({ user, chain, figures: { waiting } }: PersonStatus): string {
  if (chain.moved.ts !== null || waiting.count <= waiting.ahead) return 'all steps succeed';
  const next = `mobility pipeline --user ${quotedName(user.user_email)}`;
  return `no step fails; no run has processed the pending entries yet\nnext:   ${next}`;
}

async function pastDay(context: CommandContext, user: UserRecord, asked: DayAsked): Promise<string> {
  const [day, today] = [await resolveDay(context, user, asked), await resolveDay(context, user, { asked: 'today' })];
  if (day > today) throw usageError(`expected a day up to today, ${today}, found ${day}`);
  return day;
}

function checkText({ name, ok, text, next }: Check): string {
  return `${ok ? 'ok    ' : 'BROKEN'}  ${name.padEnd(8)}${text}${next === undefined ? '' : `\n                next: ${next}`}`;
}

const remedyText = (link: string, { why, next }: Remedy): string => `BROKEN  ${link}: ${why}\nnext:   ${next}`;
