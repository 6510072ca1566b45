import { Argument, Option } from '@commander-js/extra-typings';
import { correctionEntry } from '../../diary/corrections/new-correction.ts';
import { beyondLimit, concernedTime, limitText } from '../../diary/corrections/read-corrections.ts';
import { minuteText } from '../../diary/number-text.ts';
import { readPlaces } from '../../diary/places.ts';
import { readDays } from '../../diary/read-days.ts';
import { convert } from '../../intake/converters/convert.ts';
import { putBatch } from '../../intake/put-batch.ts';
import { beyondBounds } from '../../intake/stated-times.ts';
import { writeTime } from '../../intake/write-time.ts';
import { type Correction, longestDistance } from '../../model/correction.ts';
import { errorText, usageError } from '../../model/mobility-error.ts';
import { formatForPeople, startOfDay, timeOnClocks } from '../../model/time.ts';
import { tokenId, type UserRecord } from '../../model/user.ts';
import { runPipeline } from '../../pipeline/run-pipeline.ts';
import type { Store } from '../../store/store.ts';
import { onCopyOf } from '../../upkeep/copy-store.ts';
import { correctionId, readCorrectionEffects, readZoneOn } from '../../upkeep/correction-effects.ts';
import { packageVersion } from '../../util/program-version.ts';
import type { OptionsOf } from '../arguments.ts';
import { clockArgument, DocumentedCommand, dayArgument, resolveDay, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { diaryText } from '../diary-text.ts';
import { listing } from '../output.ts';
import { pipelineOptions } from '../pipeline-runs.ts';

const kinds = 'list undo set-aside mode split join drop add at-home at-place place-name'.split(' ');

export const command = (context: CommandContext) => flags().action(context.run(correct));

const flags = () =>
  new DocumentedCommand('correct')
    .examples(`
  mobility correct set-aside --user ada@example.org --day 2024-03-12 --reason 'borrowed phone' --by helen --dry-run
  mobility correct mode --user ada@example.org --day 2024-03-12 --at 08:14 --mode tram
  mobility correct add --user ada@example.org --day 2024-03-12 --from 17:05 --to 17:40 --mode train
  mobility correct list --user ada@example.org
  mobility correct undo --user ada@example.org --id 3f9c2a71

docs/corrections.md explains each kind of correction.`)
    .addArgument(new Argument('<what>', 'what to do').choices(kinds))
    .requiredOption('--user <name>', 'name or UUID of the user')
    .option('--day <day>', 'local day', dayArgument)
    .option('--at <time>', 'local time within the trip, section or stay, such as 14:20', clockArgument)
    .option('--from <time>', 'start of the range, local; default except with add: start of the day', clockArgument)
    .option('--to <time>', 'end of the range, local; default except with add: end of the day, or now', clockArgument)
    .option('--mode <mode>', 'with mode and add: such as tram or bicycling')
    .option('--name <name>', 'with place-name: the name')
    .option('--distance <m>', 'with add: length in metres; default: the straight line', wholeNumber(0, longestDistance))
    .option('--source <source>', 'with set-aside: only entries of this platform or program')
    .option('--token <id>', 'with set-aside: only entries pushed with this token, as `users tokens` shows it')
    .option('--id <id>', 'with undo: id of the correction, as `correct list` shows it')
    .option('--reason <text>', 'reason, which is stored with the correction')
    .option('--by <name>', 'author of the correction; default: the user; with undo: operator')
    .addOption(new Option('--dry-run', 'show the day before and after, change nothing'));

type Options = OptionsOf<typeof flags>;

async function correct(context: CommandContext, what: string, options: Options): Promise<void> {
  const user = await context.findUser(options.user);
  const store = await context.store();
  if (what === 'list') return list(context, user);
  const isUndo = what === 'undo';
  const statement = isUndo ? await undoOf(store, user, options) : await statedBy(context, user, what, options);
  const { correction, day, zone, of = correction } = statement;
  const { by: author = isUndo ? 'operator' : undefined, reason, dryRun } = options;
  if (author !== undefined) await refuseRetained(store, user, concernedTime(of).from);
  const origin = { program: 'mobility correct', version: packageVersion() };
  const run = await pipelineOptions(context);
  const apply = async (target: Store) => {
    if (dryRun) await runPipeline(target, user.uuid, run);
    const about = { now: writeTime(context.now()), origin, zone, ...(author && { author }), ...(reason && { reason }) };
    const entry = await correctionEntry(target, user.uuid, correction, about);
    try {
      convert(entry);
    } catch (error) {
      throw usageError(asFlags(errorText(error)), { cause: error });
    }
    const outside = beyondBounds(entry, context.now());
    if (outside !== null) throw usageError(asFlags(outside.message));
    if ((await beyondLimit(target, user.uuid, [entry])).size > 0)
      throw usageError(
        `${limitText}; ${user.user_email} has reached this number: undo corrections that are not needed`,
      );
    const before = await dayText(context, target, user, day);
    await putBatch(user.uuid, [entry], { store: target, now: context.now, inProfile: false });
    const { status, message } = await runPipeline(target, user.uuid, run);
    if (status === 'failed' || status === 'busy')
      context.output.note(`the correction takes effect with the next run; this run: ${message ?? status}`);
    const { write_ts } = entry.metadata;
    const all = await readCorrectionEffects(target, user.uuid);
    const effect = all.find((one) => one.correction.write_ts === write_ts)?.effect ?? null;
    return { write_ts, before, after: await dayText(context, target, user, day), effect };
  };
  const { write_ts, before, after, effect } = await (dryRun
    ? onCopyOf(context.config().store, user.uuid, apply)
    : apply(store));
  const id = correctionId(user.uuid, { write_ts });
  const shown = { user_id: user.uuid, id, day, time_zone: zone, correction, effect, dry_run: dryRun === true };
  await context.output.result({ ...shown, before: before.trips, after: after.trips }, () => {
    const { bold, dim } = context.output;
    const command = `mobility correct undo --user ${user.user_email} --id ${id.slice(0, 8)}`;
    const undo = dryRun ? 'nothing was changed' : `undo: ${command}`;
    const would = effect === 'applied' ? 'would apply' : `would be ${effect ?? 'pending'}`;
    const end = `${dryRun ? would : (effect ?? 'pending')}  ${dim(undo)}`;
    return [bold('before'), before.text, '', bold('after'), after.text, '', end].join('\n');
  });
}

/** Days without raw data can be corrected by the user only, because no data show what is right. */
async function refuseRetained(store: Store, { uuid, user_email }: UserRecord, ts: number): Promise<void> {
  const removed = (await store.pipeline.get(uuid)).retained?.raw_before ?? null;
  if (removed === null || ts >= removed) return;
  const until = new Date(removed * 1000).toISOString();
  throw usageError(
    `expected a time from ${until} on, found an earlier one, whose raw data were removed: ` +
      `only ${user_email} can correct it, on their page or without --by`,
  );
}

const flagOf: Record<string, string> = { ts: 'at', start_ts: 'from', end_ts: 'to', author: 'by', token_id: 'token' };

/** Replaces fields in a message by their flags, such as `data.start_ts` by `--from`. */
const asFlags = (text: string): string => text.replace(/data\.(\w+)/g, (_, field) => `--${flagOf[field] ?? field}`);

async function dayText({ output, now }: CommandContext, store: Store, user: UserRecord, day: string) {
  const [shown] = await readDays(store, user, { from: day, to: day }, now());
  const { complete_until: completeUntil } = await store.pipeline.get(user.uuid);
  const places = await readPlaces(store, user.uuid);
  const text = diaryText({ name: user.user_email, ...shown!, completeUntil, places }, output);
  return { text, trips: shown!.records.flatMap(({ trip }) => trip ?? []) };
}

/** `of`: the correction that is undone. */
type Statement = { correction: Correction; day: string; zone: string; of?: Correction };

async function statedBy(context: CommandContext, user: UserRecord, what: string, options: Options): Promise<Statement> {
  const { at, from, to, mode, name, distance, source, token } = options;
  const day = await resolveDay(context, user, options.day ?? need('--day'));
  const zone = await readZoneOn(await context.store(), user.uuid, day);
  if (what === 'add' && !(from && to)) {
    const found = from ? '--from alone' : to ? '--to alone' : 'neither';
    throw usageError(`expected --from and --to, found ${found}`);
  }
  const now = context.now();
  /** Refuses a time after now: the correction would also apply to data that do not exist yet. */
  const passed = (clock: string): number => {
    const ts = clockTs(day, clock, zone);
    if (ts <= now) return ts;
    throw usageError(`expected a time before now, ${minuteText(now, zone)} in ${zone}, found ${day} ${clock}`);
  };
  const end_ts = to === undefined ? Math.min(clockTs(day, '24:00', zone), now) : passed(to);
  const range = { start_ts: passed(from ?? '00:00'), end_ts };
  if (to !== undefined && range.start_ts >= end_ts)
    throw usageError(`--to: expected a time after --from (${from ?? '00:00'}), found ${to}`);
  const fields = {
    ...(['set-aside', 'add', 'at-home', 'at-place'].includes(what) ? range : { ts: passed(at ?? need('--at')) }),
    ...(['mode', 'add'].includes(what) && { mode: mode ?? need('--mode') }),
    ...(what === 'place-name' && { name: name?.trim() || need('--name') }),
    ...(distance !== undefined && { distance }),
    ...(source !== undefined && { source }),
    ...(token !== undefined && { token_id: await tokenNamed(context, user, token) }),
  };
  return { correction: { kind: what.replace('-', '_'), ...fields } as Correction, day, zone };
}

async function tokenNamed(context: CommandContext, { uuid, user_email }: UserRecord, id: string): Promise<string> {
  const ids = (await (await context.store()).tokens.list(uuid)).map(({ hash }) => tokenId(hash));
  if (ids.includes(id)) return id;
  throw usageError(`expected the id of a token of ${user_email} (${ids.join(', ') || 'there is none'}), found ${id}`);
}

function need(flag: string): never {
  throw usageError(`expected ${flag}, found none`);
}

async function undoOf(store: Store, { uuid, user_email }: UserRecord, { id }: Options): Promise<Statement> {
  if (id === undefined) return need('--id');
  const all = await readCorrectionEffects(store, uuid);
  const found = all.filter(({ correction }) => correctionId(uuid, correction).startsWith(id));
  const see = 'see `mobility correct list`';
  const [one] = found;
  if (one === undefined || found.length > 1)
    throw usageError(`expected the id of one correction of ${user_email}, found ${found.length} with ${id}: ${see}`);
  if (one.effect === 'undone')
    throw usageError(`expected a correction that still applies, found ${id}, which is undone: ${see}`);
  const { day, correction } = one;
  const zone = await readZoneOn(store, uuid, day);
  return { correction: { kind: 'undo', of: correction.write_ts }, day, zone, of: correction };
}

/** If clocks show `clock` twice on the day, returns the first time. */
function clockTs(day: string, clock: string, zone: string): number {
  const [hours, minutes] = clock.split(':').map(Number) as [number, number];
  return timeOnClocks(startOfDay(day, 'UTC') + hours * 3600 + minutes * 60, zone);
}

async function list(context: CommandContext, { uuid, user_email }: UserRecord): Promise<void> {
  const all = await readCorrectionEffects(await context.store(), uuid);
  const shown = all.map(({ correction, ...rest }) => ({ id: correctionId(uuid, correction), ...rest, correction }));
  await context.output.result({ user_id: uuid, corrections: shown }, () => {
    const rows = shown.map(({ id, day, effect, correction }) => {
      const { kind, write_ts, author = 'the user', reason = '' } = correction;
      const stated = formatForPeople(write_ts, 'UTC', 'YYYY-MM-DD HH:mm [UTC]');
      return [id.slice(0, 8), day, kind.replace('_', '-'), effect, stated, author, reason];
    });
    const head = ['ID', 'DAY', 'WHAT', 'EFFECT', 'STATED', 'BY, AS STATED', 'REASON'];
    return listing(head, rows) || `${user_email}: no corrections`;
  });
}
