// The folder of a store: created once, checked at every opening, its files upgraded to the present version.
import { randomUUID } from 'node:crypto';
import { access, constants, link, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../make-folders.ts';
import { MobilityError } from '../../model/errors.ts';
import { restoreFolder } from '../cures.ts';
import { type Connection, connect } from './driver.ts';
import { storeError } from './engine-errors.ts';
import { openFile, type StoreFile, setUp, whenFree } from './file.ts';
import { foldSmall } from './fold.ts';
import { foldWaiting } from './fold-waiting.ts';
import { inspectFile } from './inspect.ts';
import { moveDocuments } from './move-documents.ts';
import { type FileAbout, type Migration, migrations, type Role } from './schema.ts';

/** Both files of a shard. */
export interface Shard {
  usercache: StoreFile;
  timeseries: StoreFile;
}

const label = 'mobility-store';
const labelFile = 'store.json';
const version = migrations.length;
const mostShards = 256;

/** The name of a file in the folder of a store. */
export function fileName(role: Role, shard: number): string {
  return `${role}-${shard}.sqlite`;
}

/**
 * Opens the store in `folder`, making it when there is none; then `shards` (default 1) is its number of shards for
 * good. Safe when several processes do it at once. Throws `MOBILITY_STORE_ADDRESS`, `_VERSION`, `_READONLY`,
 * `_DAMAGED`, `_FULL`, `_BUSY`.
 */
export async function openFolder(folder: string, options: { shards?: number }): Promise<Shard[]> {
  try {
    const wanted = checkedShards(options.shards ?? 1);
    makeFolders(folder);
    const written = await readLabel(folder);
    const known = written ?? (await labelFromFiles(folder));
    const paths = pathsOf(folder, known?.shards ?? 0);
    await checkPresent(paths);
    await checkWritable(folder, paths);
    return await openShards(folder, known?.shards ?? wanted, { make: known === null, written });
  } catch (error) {
    throw storeError(error, folder);
  }
}

function checkedShards(shards: number): number {
  if (Number.isInteger(shards) && shards >= 1 && shards <= mostShards) return shards;
  throw new TypeError(`expected 1 to ${mostShards} shards, found ${shards}`);
}

/** What `store.json` says. */
export interface Label {
  version: number;
  shards: number;
}

/** The content of `store.json`; null if it does not exist, that is, until all files are created. */
export async function readLabel(folder: string): Promise<Label | null> {
  const path = join(folder, labelFile);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const found = parsed(text);
  if (found?.format === label && Number.isInteger(found.version) && found.version! > version) {
    throw newerVersion(path, found.version!);
  }
  const usable = found?.format === label && Number.isInteger(found.version) && found.version! >= 1;
  if (usable && Number.isInteger(found.shards) && found.shards! >= 1 && found.shards! <= mostShards) {
    return { version: found.version!, shards: found.shards! };
  }
  throw damaged(path, `the label of a store: format ${label}, a version and 1 to ${mostShards} shards`, 'another text');
}

function parsed(text: string): Partial<Label & { format: string }> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * The label; if it is lost, what the files say. Null: there is no store. Throws as `readLabel` and `labelFromFiles`.
 */
export async function labelOf(folder: string): Promise<Label | null> {
  return (await readLabel(folder)) ?? (await labelFromFiles(folder));
}

const filePattern = /^(?:usercache|timeseries)-(\d+)\.sqlite$/;

/** How many shards the names of the files in a folder tell of: those of a store that lost some may be more. */
export async function shardsByNames(folder: string): Promise<number> {
  const numbers = (await databaseFiles(folder)).map((name) => Number(filePattern.exec(name)![1]));
  return Math.max(0, ...numbers.map((number) => number + 1));
}

async function databaseFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => filePattern.test(name));
}

/**
 * The label as the files say it, for a store that was complete once and lost its label. Null if there is none: no
 * files, or those of a store that is being made, which are made in order and hold nobody. Throws
 * `MOBILITY_STORE_DAMAGED` if the first file is missing or empty beside others: a new one would make strangers of
 * everybody in them.
 */
async function labelFromFiles(folder: string): Promise<Label | null> {
  const names = await databaseFiles(folder);
  if (names.length === 0) return null;
  const path = join(folder, fileName('usercache', 0));
  const isAlone = names.every((name) => name === fileName('usercache', 0));
  if (isAlone && (await stat(path)).size === 0) return null;
  await checkPresent([path]);
  const connection = connect(path);
  try {
    const version = await whenFree(() => userVersion(connection));
    if (version === 0 && !isAlone) throw damaged(path, 'a database of a store', 'one without a format version');
    return version === 0 ? null : await whenFree(() => labelIn(connection, version));
  } catch (error) {
    throw storeError(error, path);
  } finally {
    connection.close();
  }
}

/** The label by the first file; null if it says that the store was never complete. */
function labelIn(connection: Connection, version: number): Label | null {
  const { shards, admitted } = aboutOf(connection);
  // Written when all files are open for the first time. Formats before 7 do not have it, but may have users.
  const wasComplete = admitted !== undefined || connection.prepare('SELECT 1 FROM users LIMIT 1').get() !== undefined;
  return wasComplete ? { version, shards: checkedShards(Number(shards)) } : null;
}

/** Every later step would find out too, but some only after touching a file. */
async function checkWritable(folder: string, paths: readonly string[]): Promise<void> {
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const path of paths) {
    await access(path, constants.R_OK | constants.W_OK).catch((error) => Promise.reject(storeError(error, path)));
  }
}

/**
 * Throws `MOBILITY_STORE_DAMAGED` when a database file is gone or empty, which the engine would take for a new one, or
 * part of its write-ahead log is, which it would pass over; and `MOBILITY_STORE_VERSION` when a newer program wrote it.
 */
export async function checkPresent(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const { size } = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw damaged(path, 'a database', 'no file');
      throw error;
    });
    if (size === 0) throw damaged(path, 'a database', 'an empty file');
    const fault = inspectFile(path, version);
    if (fault !== null && 'newer' in fault) throw newerVersion(path, fault.newer);
    if (fault !== null) throw damaged(path, fault.expected, fault.found);
  }
}

/** Paths of all database files of a store. */
export function pathsOf(folder: string, shards: number): string[] {
  const paths: string[] = [];
  for (let shard = 0; shard < shards; shard++) {
    for (const role of ['usercache', 'timeseries'] as const) paths.push(join(folder, fileName(role, shard)));
  }
  return paths;
}

/**
 * Opens all files, with `make` those that are not there too. The first file tells the number of shards: of processes
 * that make a store at once with different numbers, one wins. `written`: the label that the folder has.
 */
async function openShards(
  folder: string,
  wanted: number,
  { make, written }: { make: boolean; written: Label | null },
): Promise<Shard[]> {
  const opened: StoreFile[] = [];
  const open = async (role: Role, shard: number, shards: number): Promise<StoreFile> => {
    const file = await openChecked(folder, { role, shard, shards }, make);
    opened.push(file);
    return file;
  };
  try {
    const first = await open('usercache', 0, wanted);
    const shards = checkedShards(Number((await whenFree(() => aboutOf(first.connection))).shards));
    const all: Shard[] = [];
    for (let shard = 0; shard < shards; shard++) {
      const usercache = shard === 0 ? first : await open('usercache', shard, shards);
      all.push({ usercache, timeseries: await open('timeseries', shard, shards) });
      const last = all.at(-1)!;
      await moveDocuments(last.usercache, last.timeseries);
      await foldWaiting(last.usercache);
      await foldSmall(last.timeseries);
    }
    if (written?.version !== version) await writeLabel(folder, { version, shards }, written === null);
    return all;
  } catch (error) {
    for (const file of opened) file.close();
    throw error;
  }
}

async function openChecked(folder: string, about: FileAbout, make: boolean): Promise<StoreFile> {
  const path = join(folder, fileName(about.role, about.shard));
  if (make) await makeEmpty(path);
  const file = openFile(path);
  try {
    if (!make && (await whenFree(() => userVersion(file.connection))) === 0) {
      throw damaged(path, 'a database of a store', 'one without a format version');
    }
    await prepareFile(file.connection, path, about);
    const found = await whenFree(() => aboutOf(file.connection));
    const decides = make && about.role === 'usercache' && about.shard === 0;
    for (const [name, value] of Object.entries(decides ? { ...about, shards: found.shards } : about)) {
      if (found[name] !== String(value)) throw damaged(path, `${name} ${value} in the file`, String(found[name]));
    }
    return file;
  } catch (error) {
    file.close();
    throw storeError(error, path);
  }
}

/**
 * Makes the file with private permissions. A file that is there is not opened: closing it would drop SQLite's locks on
 * it.
 */
export async function makeEmpty(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return null;
    throw error;
  });
  await handle?.close();
}

/** Brings a file to the present version and switches it to write-ahead logging. */
async function prepareFile(connection: Connection, path: string, about: FileAbout): Promise<void> {
  // Of a new file only. Entries leave the usercache, and then so do its pages, see `giveBackPages`.
  if (about.role === 'usercache') await whenFree(() => connection.exec('PRAGMA auto_vacuum = INCREMENTAL'));
  await whenFree(() => upgradeFolder(connection, path, migrations, about));
  // After the tables: they are in the file itself then, and a lost WAL cannot make it look empty.
  const mode = await whenFree(() => connection.prepare('PRAGMA journal_mode = WAL').get<{ journal_mode: string }>());
  if (mode?.journal_mode !== 'wal') throw unsuitable(path, String(mode?.journal_mode));
  await whenFree(() => setUp(connection));
}

/**
 * Runs the steps that a file has not seen yet, all in one transaction. Throws `MOBILITY_STORE_VERSION` for a newer
 * file.
 */
export function upgradeFolder(
  connection: Connection,
  path: string,
  steps: readonly Migration[],
  about: FileAbout,
): void {
  if (checkedVersion(connection, path, steps.length) === steps.length) return;
  connection.exec('BEGIN IMMEDIATE');
  try {
    const from = checkedVersion(connection, path, steps.length);
    for (const step of steps.slice(from)) step(connection, about);
    connection.exec(`PRAGMA user_version = ${steps.length}`);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}

function checkedVersion(connection: Connection, path: string, newest: number): number {
  const found = userVersion(connection);
  if (found > newest) throw newerVersion(path, found);
  return found;
}

function userVersion(connection: Connection): number {
  return connection.prepare('PRAGMA user_version').get<{ user_version: number }>()!.user_version;
}

function aboutOf(connection: Connection): Record<string, string> {
  connection.exec('SELECT 1 FROM about'); // the first read of all: here an error still tells what it is
  const rows = connection.prepare('SELECT name, value FROM about').all<{ name: string; value: string }>();
  return Object.fromEntries(rows.map((row) => [row.name, row.value]));
}

/** Writes `store.json` atomically. If another process wrote it meanwhile, that one stays. */
export async function writeLabel(folder: string, { version, shards }: Label, make: boolean): Promise<void> {
  const path = join(folder, labelFile);
  const temporary = await writeTemporary(path, { format: label, version, shards });
  if (!make) return await rename(temporary, path);
  await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(temporary);
  await syncFolder(folder);
}

/** Writes a file as JSON beside the one of that path, and puts it on disk; returns its path. To be renamed. */
async function writeTemporary(path: string, content: object): Promise<string> {
  const temporary = `${path}.${randomUUID()}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await handle.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  return temporary;
}

/** Puts the names in a folder on disk, where the system can. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().catch(() => {}); // some file systems know no such thing
  await handle.close();
}

function newerVersion(path: string, found: number): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_VERSION',
    `${path}: expected a store of format version ${version} or older, found ${found}; use the newer program that wrote it. ` +
      'Nothing was changed',
  );
}

function unsuitable(path: string, found: string): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_UNAVAILABLE',
    `${path}: expected a local file system that allows write-ahead logging, found journal mode ${found}`,
  );
}

function damaged(path: string, expected: string, found: string): MobilityError {
  return new MobilityError('MOBILITY_STORE_DAMAGED', `${path}: expected ${expected}, found ${found}; ${restoreFolder}`);
}
