import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { type Kind, kinds } from '../../export/columns.ts';
import { type EmissionPart, emissionFiles, emissionParts, writeEmission } from '../../export/emission-files.ts';
import { type Days, entryRows } from '../../export/entry-rows.ts';
import type { ExportFile, PersonPart, TableChoice } from '../../export/export-tables.ts';
import { inShownOrder, personParts, tableFiles, writeTables } from '../../export/export-tables.ts';
import { type FormatName, formats } from '../../export/formats/export-formats.ts';
import { fileNamed, kindsNamed, nameSets } from '../../export/name-mappings.ts';
import {
  hasParts,
  isFinished,
  mapInOrder,
  partsFolder,
  partsPath,
  readParts,
  writeParts,
} from '../../export/person-parts.ts';
import type { LeftOut } from '../../export/user-archive.ts';
import { leftOutOf, writeArchive, writeArchives, writeLines, writeTrips } from '../../export/user-archive.ts';
import { tryLock } from '../../log/file-lock.ts';
import { folderIn, isMongoAddress } from '../../model/address.ts';
import { isMobilityError, type MobilityError, usageError } from '../../model/mobility-error.ts';
import { shownName, type UserRecord } from '../../model/user.ts';
import { everyUser } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import { checkOutside } from '../../upkeep/backup-store.ts';
import { allOrNone, fileText, makeFolder, refuseExisting } from '../../util/file-access.ts';
import { removeFolderOnFailure } from '../../util/make-folders.ts';
import { DocumentedCommand, dayArgument, type OptionsOf, repeated, resolveDay, wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { countedOff, noteInterrupted, selectUsers, withUserChoice } from '../user-options.ts';
import { workerPool, workForParent } from '../worker-pool.ts';

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  withUserChoice(
    new DocumentedCommand('export').examples(`
  mobility export --all --format csv --out study
  mobility export --all --format parquet --kind sections --kind places --out sections
  mobility export --all --format csv --names trackintel --pseudonyms key.txt --coarse 250m --out handed-on
  mobility export --user ada@example.org --out ada
  mobility export --user ada@example.org --entries --key manual/incident | jq .data
  mobility export --user ada@example.org --trips --from 2024-03-01 --to 2024-03-31 > march.geojson

With --format the folder gets one file per kind, and datapackage.json, which describes every column. After an
interruption the same command continues: users that it read more than a day ago are read again.
Without --format the folder is an archive that \`mobility import\` reads. With several users, each gets a folder.
Exit code 3: some of several users are left out, because their rows are damaged.`),
  )
    .addOption(new Option('--out <folder>', 'folder to write into').conflicts(['entries', 'trips']))
    .addOption(
      new Option('--format <format>', 'write tables in this format; emission: files that mongoimport reads')
        .choices([...(Object.keys(formats) as FormatName[]), 'emission'] as const)
        .conflicts(['entries', 'trips']),
    )
    .addOption(
      new Option(
        '--kind <kind...>',
        'with --format: only these tables; default: all but entries, fixes and locations',
      ).choices(kinds),
    )
    .addOption(new Option('--names <names>', 'with csv or parquet: column names of this library').choices(nameSets))
    .option(
      '--pseudonyms <file>',
      'with --format: replace names, UUIDs and ids by pseudonyms, keyed by the secret in this file',
    )
    .option(
      '--coarse <metres>',
      'with --format: show stays as grid cells of this size, such as 250m, and hide the paths around them',
      metresArgument,
    )
    .option('--workers <n>', 'with --format: processes that share the users (default: 1)', wholeNumber(1, 64))
    .addOption(new Option('--worker', 'work for a parent process').hideHelp())
    .addOption(new Option('--entries', 'write only entries, as JSON lines, to standard output').conflicts('trips'))
    .option('--trips', 'write only trips, as GeoJSON, to standard output')
    .option('--from <day>', 'first local day', dayArgument)
    .option('--to <day>', 'last local day', dayArgument)
    .option('--key <key>', 'only entries of this key; may be repeated', repeated);

type Options = OptionsOf<typeof flags>;

function metresArgument(text: string): number {
  const metres = Number(text.replace(/\s*m$/, ''));
  if (Number.isFinite(metres) && metres >= 100 && metres <= 100_000) return metres;
  throw new InvalidArgumentError('Expected metres from 100 to 100000, such as 100m.');
}

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  if (options.worker) {
    const store = await context.store();
    await workForParent((task: Task) => makeParts(store, task));
    return {};
  }
  const { all, out, entries, trips, format } = options;
  if (out === undefined && !entries && !trips)
    throw usageError('expected --out FOLDER, --entries or --trips, found none of them');
  const days = (user: UserRecord) => daysOf(context, user, options);
  const store = await context.store();
  const { store: address } = context.config();
  if (out !== undefined && !isMongoAddress(address)) await checkOutside(out, folderIn(address), 'the export');
  const users: UserRecord[] = [];
  // With `--all`, users are read one by one, because a list of all users may not fit in memory.
  if (!all) for await (const user of selectUsers(context, options)) users.push(user);
  const people = async function* () {
    yield* all ? everyUser(store) : users;
  };
  if (out !== undefined && format !== undefined)
    return removeFolderOnFailure(out, () => exportFiles(context, options, { people, days, out, format }));
  const given = tableFlags.find((flag) => options[flag] !== undefined);
  if (given !== undefined)
    throw usageError(
      `expected --format and --out with --${given}, which applies to tables only, found that one of them is missing`,
    );
  const single = users.length === 1 ? users[0]! : null;
  if (out !== undefined)
    return removeFolderOnFailure(out, () => exportArchives(context, options, { people, days, out }, single));
  if (single === null) {
    const found = all ? 'all' : users.length;
    throw usageError(`expected one user with --entries or --trips, found ${found}: use --user once, or --out FOLDER`);
  }
  const count = entries
    ? await writeLines(context.output, entryRows(store, single.uuid, await days(single), options.key))
    : await writeTrips(context.output, store, single.uuid, await days(single));
  const matched = count === 0 && options.key ? '0 entries matched: docs/keys.md lists the keys' : null;
  context.output.note(matched ?? (entries ? counted(count, 'entry', 'entries') : counted(count, 'trip')));
  return {};
}

const tableFlags = ['kind', 'names', 'pseudonyms', 'coarse', 'workers'] as const;

type FolderExport = { people: () => AsyncIterable<UserRecord>; days: (user: UserRecord) => Promise<Days>; out: string };

/** `choice`: the tables; null: all data, as collections of an e-mission database. */
type Task = { user: UserRecord; days: Days; choice: TableChoice | null; path: string };

async function makeParts(store: Store, { user, days, choice, path }: Task): Promise<null> {
  await writeParts(path, choice === null ? emissionParts(store, user) : personParts(store, user, days, choice));
  return null;
}

/** Continues an interrupted export. */
async function exportFiles(
  context: CommandContext,
  options: Options,
  { people, days, out, format }: FolderExport & { format: FormatName | 'emission' },
): Promise<Outcome> {
  const choice = format === 'emission' ? refuseChoices(options) : await tableChoice(options, format, context.now());
  const names = format === 'emission' ? emissionFiles : tableFiles(choice!, format);
  const signal = context.interruptible();
  makeFolder(out);
  const folder = partsFolder(out);
  makeFolder(folder);
  const lock = tryLock(folder, 'export');
  if (lock === null) throw usageError(`another export is writing into ${out}: wait for it, or name another folder`);
  const parts = await partsOfPeople(context, options, { people, days, folder, choice });
  let isKept = true;
  try {
    for (const name of names) await refuseExisting(join(out, name));
    const { shown, rows } = await allOrNone(async ({ write }) => {
      const file: ExportFile = (name, fill) => write(join(out, name), fill);
      if (format === 'emission') {
        const documents = await writeEmission(file, parts.read<EmissionPart>());
        const rows = Object.entries(documents).map(([name, count]) => [join(out, name), counted(count, 'document')]);
        return { shown: { documents }, rows };
      }
      const isWhole = (options.from ?? options.to) === undefined;
      const written = await writeTables({ ...choice!, format, file }, { isWhole }, () => parts.read<PersonPart>());
      const files = written.map(({ kind, path, rows, bytes, sha256 }) => {
        return { kind, file: join(out, path), rows, bytes, sha256 };
      });
      return { shown: { files }, rows: files.map((one) => [one.file, counted(one.rows, 'row')]) };
    }, folder);
    isKept = false;
    const { leftOut, reused } = parts.counts;
    if (reused > 0)
      context.output.note(`${counted(reused, 'user')} taken over from an export that was interrupted in the last 24 h`);
    await context.output.result({ folder: out, ...shown, left_out: leftOut }, () => table(rows, [1]));
    return outcomeOf(context, leftOut);
  } catch (error) {
    const { done } = parts.counts;
    isKept &&= hasParts(folder);
    const next = isKept ? ': run the same command again to continue' : '';
    await noteInterrupted(context, done, people(), { next });
    signal.throwIfAborted();
    if (isKept && done > 0) context.output.note(`${counted(done, 'user')} finished${next}`);
    throw error;
  } finally {
    if (!isKept) await rm(folder, { recursive: true, force: true });
    lock.release();
  }
}

/** Leaves out people with damaged rows. Throws if the rows of all people are damaged. */
async function partsOfPeople(
  context: CommandContext,
  { workers = 1 }: Options,
  { people, days, folder, choice }: Omit<FolderExport, 'out'> & { folder: string; choice: TableChoice | null },
) {
  const store = await context.store();
  const progress = context.output.progress('exporting');
  const counts = { done: 0, reused: 0, leftOut: [] as LeftOut[] };
  const pool = workers > 1 ? workerPool<Task, null>(context, ['export', '--worker'], workers) : null;
  let first: MobilityError | null = null;
  const prepare = async (user: UserRecord): Promise<string | null> => {
    context.signal.throwIfAborted();
    const asked = await days(user);
    const { now, ...lasting } = choice ?? { now: context.now() };
    let path: string;
    try {
      path = await partsPath(store, folder, user, { ...lasting, days: asked });
      const task = { user, days: asked, choice, path };
      if (await isFinished(path, now)) counts.reused += 1;
      else await (pool === null ? makeParts(store, task) : pool.run(task));
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      first ??= error;
      counts.leftOut.push(leftOutOf(user, error));
      return null;
    }
    counts.done += 1;
    progress.update(`${user.user_email} (${counts.done} done)`);
    return path;
  };
  async function* read<Part>(): AsyncGenerator<AsyncIterable<Part>> {
    try {
      const ordered = inShownOrder(store, people(), choice?.pseudonymKey);
      for await (const path of mapInOrder(ordered, workers, prepare)) if (path !== null) yield readParts<Part>(path);
    } finally {
      await pool?.stop();
    }
    context.signal.throwIfAborted();
    if (first !== null && counts.done === 0) throw first;
  }
  return { read, counts };
}

function refuseChoices(options: Options): null {
  const refused = (['from', 'to', 'key', 'kind', 'names', 'pseudonyms', 'coarse'] as const).find((one) => options[one]);
  if (refused === undefined) return null;
  throw usageError(`--format emission writes all data of each person: leave out --${refused}`);
}

async function tableChoice(options: Options, format: FormatName, now: number): Promise<TableChoice> {
  const { names, coarse, key: keys, pseudonyms } = options;
  const pseudonymKey = pseudonyms === undefined ? undefined : await pseudonymKeyIn(pseudonyms);
  return { kinds: chosenKinds(options, format), names, coarse, keys, pseudonymKey, now };
}

async function exportArchives(
  context: CommandContext,
  { key }: Options,
  { people, days, out }: FolderExport,
  single: UserRecord | null,
): Promise<Outcome> {
  const progress = context.output.progress('exporting');
  const source = { store: await context.store(), days, keys: key, signal: context.interruptible(), progress };
  const count = { done: 0 };
  const { archives, leftOut } = await allOrNone(async (files) => {
    if (single === null) return writeArchives(source, countedOff(people(), count), out, files);
    return { archives: [await writeArchive(source, single, out, files)], leftOut: [] };
  }).catch(async (error: unknown) => {
    await noteInterrupted(context, count.done, people());
    throw error;
  });
  for (const { user, out: folder, counts } of archives) {
    const rows = Object.entries(counts).map(([name, count]) => [join(folder, name), String(count)]);
    await context.output.result({ ...user, folder, counts }, () => table(rows, [1]));
  }
  return outcomeOf(context, leftOut);
}

function outcomeOf({ output }: CommandContext, leftOut: readonly LeftOut[]): Outcome {
  for (const { user_email, message } of leftOut) output.note(`${shownName(user_email)} is left out: ${message}`);
  return { exitCode: leftOut.length === 0 ? 0 : 3 }; // complete, even if a signal arrived after the last file
}

function chosenKinds({ kind, names, pseudonyms, coarse }: Options, format: FormatName): Kind[] {
  if (names !== undefined && format !== 'csv' && format !== 'parquet')
    throw usageError(`expected --format csv or parquet with --names, found ${format}`);
  const able = formats[format].kinds;
  const possible = names === undefined ? able : kindsNamed(names).filter((one) => able.includes(one));
  const isProtected = pseudonyms !== undefined || coarse !== undefined;
  // Entries and labels stay as pushed. Fixes, stops and answers can only have pseudonyms.
  const isExact = (one: Kind): boolean =>
    (isProtected && ['entries', 'labels'].includes(one)) ||
    (coarse !== undefined && ['fixes', 'stops', 'answers'].includes(one));
  // Entries and fixes are large, and locations contain the guessed home: all three are exported
  // only on request. `--names` is a request for fixes.
  const isAsked = (one: Kind): boolean =>
    !['entries', 'locations'].includes(one) && (one !== 'fixes' || names !== undefined);
  const isTwice = (one: Kind, i: number, all: readonly Kind[]): boolean =>
    names !== undefined && all.findIndex((other) => fileNamed(other, names) === fileNamed(one, names)) < i;
  const byDefault = possible.filter((one) => isAsked(one) && !isExact(one));
  const chosen = [...new Set(kind ?? byDefault.filter((one, i) => !isTwice(one, i, byDefault)))];
  const wrong = chosen.find((one) => !possible.includes(one));
  if (wrong !== undefined) throw usageError(`expected one of ${possible.join(', ')} as --kind, found ${wrong}`);
  const twice = chosen.find(isTwice);
  if (twice !== undefined)
    throw usageError(`expected one kind for each file, found two for the file of ${twice}: leave one out`);
  const exact = chosen.find(isExact);
  if (exact !== undefined)
    throw usageError(
      ['entries', 'labels'].includes(exact)
        ? `--kind ${exact} is exported as pushed: leave it out, or export it without --pseudonyms and --coarse`
        : `--kind ${exact} cannot be coarse: leave it out, or export it without --coarse`,
    );
  return chosen;
}

const shortestKey = 16; // characters; a shorter key can be guessed

async function pseudonymKeyIn(path: string): Promise<string> {
  const key = existsSync(path) ? (await fileText(path)).trim() : null;
  if (key !== null && key.length >= shortestKey) return key;
  const found = key?.length ?? 'no file';
  const next = 'make one with `openssl rand -hex 32`';
  throw usageError(`expected a key of at least ${shortestKey} characters in ${path}, found ${found}: ${next}`);
}

async function daysOf(context: CommandContext, user: UserRecord, options: Options): Promise<Days> {
  const from = options.from && (await resolveDay(context, user, options.from));
  const to = options.to && (await resolveDay(context, user, options.to));
  if (from === undefined || to === undefined || from <= to) return { ...(from && { from }), ...(to && { to }) };
  throw usageError(`expected a day in --to that is not before --from, found --from ${from} and --to ${to}`);
}
