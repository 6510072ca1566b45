// `mobility export`: tables of one, many or all people for other programs, or everything of a person as an archive.
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Kind, kinds } from '../../export/columns.ts';
import { type Days, entryRows, errorRows, tripsGeoJson } from '../../export/export-rows.ts';
import { DamagedPeople, exportTables, tableFiles } from '../../export/export-tables.ts';
import { type FormatName, formats } from '../../export/formats/formats.ts';
import { kindsNamed, type NameSet, nameSets } from '../../export/names.ts';
import { isMobilityError, MobilityError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { shownName, type UserRecord } from '../../model/user.ts';
import { everyUser } from '../../store/pages.ts';
import type { Store } from '../../store/store.ts';
import { dayArgument, repeated } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import {
  allOrNone,
  type Files,
  fileText,
  makeFolder,
  refuseExisting,
  type TextWriter,
  type WriteFile,
} from '../files.ts';
import { counted, table } from '../output.ts';
import { isMember, refuseUnknownStudy } from '../whom.ts';

interface Options {
  user?: string[];
  all?: true;
  out?: string;
  entries?: true;
  trips?: true;
  format?: FormatName;
  kind?: Kind[];
  names?: NameSet;
  pseudonyms?: string;
  coarse?: number;
  from?: string;
  to?: string;
  key?: string[];
  study?: string;
  subgroup?: string;
}

/** Exports people: tables in a format, an archive folder, or one stream on standard output. */
export function exportCommand(context: CommandContext): Command {
  return new Command('export')
    .description('write trips, sections, places, points, days, labels and entries to files for other programs')
    .option('--user <name>', 'name or UUID of a user; may be repeated', repeated)
    .addOption(new Option('--all', 'every user').conflicts('user'))
    .addOption(new Option('--study <name>', 'every user who joined this study').conflicts(['user', 'all']))
    .option('--subgroup <name>', 'with --study: only users of this subgroup')
    .addOption(new Option('--out <folder>', 'folder to write into').conflicts(['entries', 'trips']))
    .addOption(new Option('--format <format>', 'write tables in this format').choices(Object.keys(formats)))
    .addOption(
      new Option('--kind <kind>', `with --format: only this table (${kinds.join(', ')}); may be repeated`).argParser(
        kindArgument,
      ),
    )
    .addOption(
      new Option('--names <names>', 'with --format csv or parquet: column names of this library').choices(nameSets),
    )
    .option(
      '--pseudonyms <file>',
      'with --format: replace names, UUIDs and ids by pseudonyms, keyed by the secret in this file',
    )
    .option(
      '--coarse <metres>',
      'with --format: move stays to the middle of a grid cell of this size, such as 100m',
      metresArgument,
    )
    .addOption(new Option('--entries', 'write only entries, as JSON lines, to standard output').conflicts('trips'))
    .option('--trips', 'write only trips, as GeoJSON, to standard output')
    .option('--from <day>', 'first local day, YYYY-MM-DD', dayArgument)
    .option('--to <day>', 'last local day, YYYY-MM-DD', dayArgument)
    .option('--key <key>', 'only entries of this key; may be repeated', repeated)
    .addHelpText(
      'after',
      `
Examples:
  mobility export --all --format csv --out study
  mobility export --all --format parquet --kind sections --kind places --out sections
  mobility export --all --format csv --names trackintel --pseudonyms key.txt --coarse 100m --out handed-on
  mobility export --user ada@example.org --out ada
  mobility export --user ada@example.org --entries --key manual/incident | jq .data
  mobility export --user ada@example.org --trips --from 2024-03-01 --to 2024-03-31 > march.geojson

With --format the folder gets one file per kind, and datapackage.json, which describes every column.
The key of --pseudonyms is yours to keep: \`openssl rand -hex 32 > key.txt\`.
Without --format the folder is an archive that \`mobility import\` reads: entries.jsonl (as pushed), errors.jsonl (set aside,
with reasons), documents.jsonl, trips.geojson and user.json. With several users, each gets a folder.
Exit code 3: some of several users are left out, because rows of theirs are damaged.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

function kindArgument(text: string, before: readonly Kind[] = []): Kind[] {
  if ((kinds as string[]).includes(text)) return [...before, text as Kind];
  throw new InvalidArgumentError(`Expected one of ${kinds.join(', ')}.`);
}

function metresArgument(text: string): number {
  const metres = Number(text.replace(/\s*m$/, ''));
  if (Number.isFinite(metres) && metres >= 10 && metres <= 100_000) return metres;
  throw new InvalidArgumentError('Expected metres from 10 to 100000, such as 100m.');
}

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  const { user: names = [], all, out, entries, trips, format, key } = options;
  if (out === undefined && !entries && !trips) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --out FOLDER, --entries or --trips, found none of them');
  }
  if (names.length === 0 && !all && options.study === undefined) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --user NAME, --study NAME or --all');
  }
  if (options.subgroup !== undefined && options.study === undefined) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --study with --subgroup, found --subgroup alone');
  }
  const days = daysOf(options);
  const store = await context.store();
  const users: UserRecord[] = [];
  for (const name of new Set(names)) users.push(await context.findUser(name));
  if (options.study !== undefined) {
    for await (const user of everyUser(store)) if (isMember(user, options)) users.push(user);
    if (users.length === 0) {
      await refuseUnknownStudy(context, options);
      const part = options.subgroup === undefined ? '' : `, subgroup ${options.subgroup}`;
      throw new MobilityError('MOBILITY_USAGE', `nobody has joined the study ${options.study}${part}`);
    }
  }
  if (out !== undefined && format !== undefined)
    return exportFiles(context, options, { store, users, days, out, format });
  refuseTableFlags(options);
  if (out !== undefined) {
    const signal = context.interruptible();
    const what = { store, users: all ? everyUser(store) : users, days, signal, ...(key && { key }) };
    const { archives, leftOut } = await allOrNone(async (files) => {
      if (users.length !== 1) return exportFolders(context, files, { ...what, out });
      return { archives: [await exportFolder(context, { ...what, ...files, user: users[0]!, out })], leftOut: [] };
    });
    for (const archive of archives) await tellArchive(context, archive);
    return tellLeftOut(context, leftOut);
  }
  if (users.length !== 1) throw new MobilityError('MOBILITY_USAGE', 'expected one --user with --entries or --trips');
  const user = users[0]!;
  const count = entries
    ? await writeLines(context.output, entryRows(store, user.uuid, days, key))
    : await writeTrips(context.output, store, user.uuid, days);
  context.output.note(entries ? counted(count, 'entry', 'entries') : counted(count, 'trip'));
  return {};
}

/** Flags that only say something about tables. */
const tableFlags = ['kind', 'names', 'pseudonyms', 'coarse', 'format'] as const;

function refuseTableFlags(options: Options): void {
  const given = tableFlags.find((flag) => options[flag] !== undefined);
  if (given === undefined) return;
  throw new MobilityError(
    'MOBILITY_USAGE',
    given === 'format'
      ? 'expected --out FOLDER with --format, found none; --entries and --trips print JSON lines'
      : `expected --format and --out with --${given}, which applies to tables only`,
  );
}

interface FileExport {
  store: Store;
  users: readonly UserRecord[];
  days: Days;
  out: string;
  format: FormatName;
}

/** Tables of all people in one folder. */
async function exportFiles(context: CommandContext, options: Options, what: FileExport): Promise<Outcome> {
  const { store, users, days, out, format } = what;
  const { names, coarse, key } = options;
  const chosen = chosenKinds(options, format);
  const pseudonymKey = options.pseudonyms === undefined ? undefined : await pseudonymKeyIn(options.pseudonyms);
  const progress = context.output.progress('exporting');
  const signal = context.interruptible();
  try {
    makeFolder(out);
    const planned = tableFiles({ kinds: chosen, format, ...(names && { names }) });
    for (const name of planned) await refuseExisting(join(out, name));
    let done = 0;
    const { written, leftOut } = await withoutDamaged((isLeftOut) => async ({ write }) => {
      const tables = await exportTables({
        store,
        people: () => others(users.length > 0 ? users : everyUser(store), isLeftOut),
        kinds: chosen,
        format,
        days,
        now: context.now(),
        file: (name, fill) => write(join(out, name), fill),
        onPerson: (kind, person) => {
          signal.throwIfAborted();
          done += 1;
          progress.update(`${kind}: ${person.name} (${done} done)`);
        },
        ...(names && { names }),
        ...(key && { keys: key }),
        ...(coarse !== undefined && { coarse }),
        ...(pseudonymKey !== undefined && { pseudonymKey }),
      });
      signal.throwIfAborted();
      return tables;
    });
    const shown = written.map(({ kind, path, rows, bytes, sha256 }) => ({
      kind,
      file: join(out, path),
      rows,
      bytes,
      sha256,
    }));
    await context.output.result({ folder: out, files: shown, left_out: leftOut }, () =>
      table(
        shown.map(({ file, rows }) => [file, counted(rows, 'row')]),
        [1],
      ),
    );
    return tellLeftOut(context, leftOut);
  } finally {
    progress.done();
  }
}

async function* others(
  users: Iterable<UserRecord> | AsyncIterable<UserRecord>,
  isLeftOut: (user: UserRecord) => boolean,
): AsyncGenerator<UserRecord> {
  for await (const user of users) if (!isLeftOut(user)) yield user;
}

/** Somebody with rows that are not as they were written. */
interface LeftOut {
  user_id: string;
  user_email: string;
  message: string;
}

const leftOutOf = ({ uuid, user_email }: UserRecord, { message }: MobilityError): LeftOut => ({
  user_id: uuid,
  user_email,
  message,
});

/**
 * Writes files about people; if rows of some are damaged, once more without them: a table holds all of a user or
 * nothing. Throws the error of the first of them if nobody else is left.
 */
async function withoutDamaged<T>(
  work: (isLeftOut: (user: UserRecord) => boolean) => (files: Files) => Promise<T>,
): Promise<{ written: T; leftOut: LeftOut[] }> {
  const leftOut = new Map<string, LeftOut>();
  for (;;) {
    try {
      const written = await allOrNone(work(({ uuid }) => leftOut.has(uuid)));
      return { written, leftOut: [...leftOut.values()] };
    } catch (error) {
      if (!(error instanceof DamagedPeople)) throw error;
      const found = [...error.people.values()];
      if (error.others === 0) throw found[0]!.error;
      for (const { user, error: reason } of found) leftOut.set(user.uuid, leftOutOf(user, reason));
    }
  }
}

function tellLeftOut(context: CommandContext, leftOut: readonly LeftOut[]): Outcome {
  for (const { user_email, message } of leftOut)
    context.output.note(`${shownName(user_email)} is left out: ${message}`);
  return leftOut.length === 0 ? {} : { exitCode: 3 };
}

/** The kinds asked for, or all that the format and the names can hold. */
function chosenKinds({ kind, names, pseudonyms, coarse }: Options, format: FormatName): Kind[] {
  if (names !== undefined && format !== 'csv' && format !== 'parquet')
    throw new MobilityError('MOBILITY_USAGE', `expected --format csv or parquet with --names, found ${format}`);
  const possible = formats[format].kinds.filter((one) => names === undefined || kindsNamed(names).includes(one));
  const telling = pseudonyms !== undefined || coarse !== undefined;
  // Entries and labels are what the phone sent, word for word: nothing in them can be blurred.
  const whole = (one: Kind): boolean => one === 'entries' || one === 'labels';
  const chosen = kind ?? possible.filter((one) => !telling || !whole(one));
  const wrong = chosen.find((one) => !possible.includes(one));
  if (wrong !== undefined)
    throw new MobilityError('MOBILITY_USAGE', `expected one of ${possible.join(', ')} as --kind, found ${wrong}`);
  const raw = telling ? chosen.find(whole) : undefined;
  if (raw !== undefined)
    throw new MobilityError(
      'MOBILITY_USAGE',
      `--kind ${raw} holds what the phone sent, word for word: leave out --pseudonyms and --coarse, or this kind`,
    );
  return [...new Set(chosen)];
}

/** Characters; a key shorter than this can be found by trying. */
const shortestKey = 16;

async function pseudonymKeyIn(path: string): Promise<string> {
  const key = (await fileText(path)).trim();
  if (key.length >= shortestKey) return key;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a key of at least ${shortestKey} characters in ${path}, found ${key.length}: make one with \`openssl rand -hex 32\``,
  );
}

function daysOf({ from, to }: Options): Days {
  if (from === undefined || to === undefined || from <= to) return { ...(from && { from }), ...(to && { to }) };
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected --to to be the day of --from or a later one, found --from ${from} and --to ${to}`,
  );
}

interface FolderExport {
  store: Store;
  user: UserRecord;
  days: Days;
  out: string;
  key?: string[];
  write: WriteFile;
  signal: AbortSignal;
}

/** What was written about a user. */
interface Archive {
  user: UserRecord;
  out: string;
  /** Rows by file. */
  counts: Record<string, number>;
}

type FoldersExport = Omit<FolderExport, 'user' | 'write'> & { users: Iterable<UserRecord> | AsyncIterable<UserRecord> };

/** A folder for each user within `out`, but for those with rows that are not as they were written. */
async function exportFolders(
  context: CommandContext,
  { write, attempt }: Files,
  { users, out, ...what }: FoldersExport,
): Promise<{ archives: Archive[]; leftOut: LeftOut[] }> {
  makeFolder(out);
  const archives: Archive[] = [];
  const leftOut: LeftOut[] = [];
  let first: MobilityError | null = null;
  for await (const user of users) {
    const folder = join(out, user.uuid);
    try {
      archives.push(await attempt(() => exportFolder(context, { ...what, write, user, out: folder })));
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      first ??= error;
      leftOut.push(leftOutOf(user, error));
      await rmdir(folder).catch(() => {}); // unless something else is in it
    }
  }
  what.signal.throwIfAborted();
  if (first !== null && archives.length === 0) throw first;
  return { archives, leftOut };
}

async function exportFolder(context: CommandContext, what: FolderExport): Promise<Archive> {
  const { store, user, days, out, key, write, signal } = what;
  const { uuid } = user;
  const counts: Record<string, number> = {};
  const progress = context.output.progress(`exporting ${user.user_email}`);
  const file = async (name: string, fill: (writer: TextWriter) => Promise<number>): Promise<void> => {
    progress.update(`${user.user_email}: ${name}`);
    await write(join(out, name), async (writer) => {
      const stoppable = async (text: string): Promise<void> => {
        signal.throwIfAborted();
        await writer.write(text);
      };
      counts[name] = await fill({ write: stoppable });
    });
  };
  try {
    makeFolder(out);
    await file('entries.jsonl', (writer) => writeLines(writer, entryRows(store, uuid, days, key)));
    await file('errors.jsonl', (writer) => writeLines(writer, errorRows(store, uuid)));
    await file('documents.jsonl', async (writer) => writeLines(writer, await store.documents.list(uuid)));
    await file('trips.geojson', (writer) => writeTrips(writer, store, uuid, days));
    await file('user.json', async (writer) => {
      const profile = await store.profiles.get(uuid);
      await writer.write(`${JSON.stringify({ ...user, profile }, null, 2)}\n`);
      return 1;
    });
  } finally {
    progress.done();
  }
  return { user, out, counts };
}

async function tellArchive(context: CommandContext, { user, out, counts }: Archive): Promise<void> {
  await context.output.result({ ...user, folder: out, counts }, () =>
    table(
      Object.entries(counts).map(([name, count]) => [join(out, name), String(count)]),
      [1],
    ),
  );
}

async function writeLines(writer: TextWriter, rows: AsyncIterable<object> | Iterable<object>): Promise<number> {
  let count = 0;
  for await (const row of rows) {
    await writer.write(`${jsonText(row as JsonValue)}\n`);
    count += 1;
  }
  return count;
}

async function writeTrips(writer: TextWriter, store: Store, userId: string, days: Days): Promise<number> {
  let count = 0;
  const told = (trips: number): void => {
    count += trips;
  };
  for await (const text of tripsGeoJson(store, userId, days, told)) await writer.write(text);
  return count;
}
