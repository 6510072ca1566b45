// `mobility doctor`: the chain of a person to its first broken link, or what the installation needs; and what mends it.
import { Command } from 'commander';
import { clockText, durationText } from '../../diary/number-text.ts';
import { readObservedDays, type TimeSpan } from '../../diary/observed-time.ts';
import { everyStatus, readStatus } from '../../diary/status/all-statuses.ts';
import type { StepName } from '../../diary/status/breakages.ts';
import type { BrokenStep, PersonStatus } from '../../diary/status/person-status.ts';
import { findRemedy, quotedName, type Remedy } from '../../diary/status/remedies.ts';
import { toStatusJson } from '../../diary/status/status-json.ts';
import { isMobilityError, usageError } from '../../model/mobility-error.ts';
import { joinRefusal, readStudyToken } from '../../model/study.ts';
import { tokenHash, type UserRecord } from '../../model/user.ts';
import type { Lease, Store } from '../../store/store.ts';
import { checkCorrections, countBeyondBounds } from '../../upkeep/check-corrections.ts';
import { type Check, checkInstallation, checkRuns, isDead } from '../../upkeep/check-installation.ts';
import { type DayAsked, dayArgument, dayMeant } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { chainRows } from '../status-text.ts';
import { withZone } from '../wording.ts';

interface Options {
  user?: string;
  day?: DayAsked;
  url?: string;
}

/** Finds what is broken, and says what mends it. */
export function doctorCommand(context: CommandContext): Command {
  return new Command('doctor')
    .option('--user <name>', 'name, UUID or study token of one person; default: the installation')
    .option('--day <day>', 'with --user: also what is not known of this local day', dayArgument)
    .option('--url <address>', 'the address at which phones reach the server: also what a proxy does')
    .addHelpText(
      'after',
      `
Examples:
  mobility doctor
  mobility doctor --url https://mobility.example.org
  mobility doctor --user ada@example.org --day 2024-03-12

Changes nothing. Exit code 3: something is broken.`,
    )
    .action(context.run((options: Options) => examine(context, options)));
}

async function examine(context: CommandContext, { user: name, day, url }: Options): Promise<Outcome> {
  const store = await context.store();
  if (name === undefined) return examineInstallation(context, store, url);
  const owner = (await store.tokens.byHash(tokenHash(name)))?.user_id; // any token, also one that no study made
  try {
    return await examineUser(context, store, await context.findUser(owner ?? name), day);
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    const check = await joinCheck(store, name);
    if (check === null) throw error;
    await context.output.result({ chain: null, broken: { link: 'joined', ...check } }, () =>
      remedyText('joined', check),
    );
    return { exitCode: 3 };
  }
}

/** Why a study lets nobody in with a token; null: it is no token of a study, or one that is let in. */
async function joinCheck(store: Store, name: string): Promise<Remedy | null> {
  const token = readStudyToken(name);
  if (token === null) return null;
  const study = await store.studies.byJoinName(token.study);
  const names = (await store.studies.list()).map((one) => one.name).join(', ') || 'none';
  const refusal = joinRefusal(study, token);
  if (study === null) {
    const why = `The token names the study ${token.study}, which is not here; studies: ${names}.`;
    return { why, next: 'give the person the link of the right study: mobility study link NAME --qr' };
  }
  if (await store.studies.hasErased(study.name, tokenHash(name))) {
    const why = `The owner of this token was erased from ${study.name}, so that it does not join again.`;
    return { why, next: 'if the person wants to join again: mobility study readmit TOKEN' };
  }
  const why = `The token of ${study.name}, ${token.subgroup}, has no account${refusal === null ? '' : `: ${refusal}`}.`;
  return { why, next: `mobility study show ${study.name}` };
}

async function examineUser(
  context: CommandContext,
  store: Store,
  user: UserRecord,
  asked?: DayAsked,
): Promise<Outcome> {
  const shown = { now: context.now(), zone: context.zone };
  const status = await readStatus(store, user, shown);
  const broken = killedRun(status, shown.now) ?? status.broken;
  const remedy = broken === null ? null : findRemedy(status, broken, shown);
  const isAsked = asked !== undefined && broken?.code !== 'damaged';
  const day = isAsked ? await pastDay(context, user, asked) : null;
  const hole = day === null ? null : await holeOf(context, store, status, day);
  const json = { ...toStatusJson(status), broken: broken && { ...broken, ...remedy }, ...(hole && { hole }) };
  await context.output.result(json, () => {
    const rows = table(chainRows(status, broken, shown));
    const lines = [`${context.output.bold(user.user_email)}  ${user.uuid}`, rows];
    if (broken !== null && remedy !== null) lines.push(remedyText(broken.link, remedy));
    if (hole !== null) lines.push(remedyText('located', hole));
    if (broken === null && hole === null) lines.push('the chain is whole');
    return withZone(lines.join('\n\n'), context.zone);
  });
  return broken === null && hole === null ? {} : { exitCode: 3 };
}

/** The day that is meant, of which something can be known. */
async function pastDay(context: CommandContext, user: UserRecord, asked: DayAsked): Promise<string> {
  const [day, today] = [await dayMeant(context, user, asked), await dayMeant(context, user, { asked: 'today' })];
  if (day > today) throw usageError(`expected a day up to today, ${today}, found ${day}`);
  return day;
}

/** A lease of a run that was killed breaks the chain before it ends, unless an earlier link is broken. */
function killedRun({ figures, broken, chain }: PersonStatus, now: number): BrokenStep | null {
  const { lease } = figures;
  if (lease === null || lease.expires_ts <= now || !isDead(lease)) return null;
  const names = Object.keys(chain) as StepName[];
  if (broken !== null && names.indexOf(broken.link) < names.indexOf('moved')) return null;
  return { link: 'moved', code: 'run_stopped', since: chain.moved.ts };
}

/** s of the waking hours of a day that may be unknown; and when these are, s from its start. */
const longHole = 2 * 3600;
const waking = { from: 7 * 3600, to: 22 * 3600 };

/** What is not known before somebody's first location, or after their last, is no hole. */
const outside: ReadonlySet<unknown> = new Set(['before the first location', 'nothing received']);

/** What is not known of a day, and what else the phone sent of that time; null: no long part. */
async function holeOf(
  context: CommandContext,
  store: Store,
  { user }: PersonStatus,
  day: string,
): Promise<Remedy | null> {
  const {
    days: [observed],
  } = await readObservedDays(store, user.uuid, { from: day, to: day, zone: context.zone });
  // At night a phone at rest is silent for hours, and nothing is wrong with it.
  const [from, to] = [observed!.from + waking.from, observed!.from + waking.to];
  const isHole = (span: TimeSpan): boolean =>
    span.reason !== null && !outside.has(span.reason) && Math.min(span.to, to) - Math.max(span.from, from) >= longHole;
  const holes = observed!.spans.filter(isHole);
  if (holes.length === 0) return null;
  const { zone } = observed!;
  const texts: string[] = [];
  const taken = holes.filter(({ reason }) => reason === 'taken out');
  if (taken.length > 0) {
    const times = taken.map(({ from, to }) => `${clockText(from, zone)}-${clockText(to, zone)}`).join(', ');
    return {
      why: `${day}, times of ${zone}: a correction sets aside what came of ${times}. It is kept, and has no trips.`,
      next: `to have it back, undo the correction: mobility correct list --user ${quotedName(user.user_email)}`,
    };
  }
  for (const hole of holes) texts.push(await holeText(store, user, hole, zone));
  const reasons = new Set(holes.map(({ reason }) => reason));
  const words = reasons.has('tracking off')
    ? 'to switch tracking on'
    : 'to set location to "always" and to switch the battery saver off';
  return {
    why: `${day}, times of ${zone}: ${texts.join('; ')}. Trips of that time cannot be told, and no command brings them back.`,
    next: `ask ${quotedName(user.user_email)} ${words}; see what is known: mobility explain --user ${quotedName(user.user_email)} --day ${day}`,
  };
}

async function holeText(
  store: Store,
  { uuid }: UserRecord,
  { from, to, reason }: TimeSpan,
  zone: string,
): Promise<string> {
  const { entries } = await store.timeseries.find(uuid, { time: 'ts', from: from + 1, to, limit: 500 });
  const keys = new Map<string, number>();
  for (const { metadata } of entries) keys.set(metadata.key, (keys.get(metadata.key) ?? 0) + 1);
  const sent = [...keys].map(([key, count]) => `${count} ${key}`).join(', ');
  const times = `no location ${clockText(from, zone)}-${clockText(to, zone)} (${durationText(to - from)}, ${reason})`;
  return sent === '' ? times : `${times}, although the phone sent ${sent}`;
}

async function examineInstallation(context: CommandContext, store: Store, url?: string): Promise<Outcome> {
  const checks = await checkInstallation(context, store, url);
  const dead: Lease[] = [];
  let newest: number | null = null;
  let behind = 0;
  const stated = new Map<string, number>();
  for await (const { user, state, chain, figures } of everyStatus(store, { now: context.now() })) {
    const { lease } = figures;
    if (lease !== null && lease.expires_ts > context.now() && isDead(lease)) dead.push(lease);
    newest = Math.max(newest ?? 0, chain.pushed.ts ?? 0);
    if (state === 'behind') behind += 1;
    const count = await countBeyondBounds(store, user.uuid);
    if (count > 0) stated.set(user.user_email, count);
  }
  checks.push(...checkRuns(dead, newest, context), checkCorrections(stated));
  const unfinished = await store.unfinished();
  if (unfinished.length + behind > 0)
    checks.push({
      name: 'people',
      ok: false,
      text: `${counted(behind, 'person is', 'people are')} behind`,
      next: 'mobility status',
    });
  await context.output.result({ checks }, () => checks.map(checkText).join('\n'));
  return checks.every(({ ok }) => ok) ? {} : { exitCode: 3 };
}

function checkText({ name, ok, text, next }: Check): string {
  return `${ok ? 'ok    ' : 'BROKEN'}  ${name.padEnd(8)}${text}${next === undefined ? '' : `\n                next: ${next}`}`;
}

const remedyText = (link: string, { why, next }: Remedy): string => `BROKEN  ${link}: ${why}\nnext:   ${next}`;
