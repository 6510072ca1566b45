// The check of an embedded store: files, pages, rows, and what the files say about each other. It changes nothing and
// opens the files as they are, whatever their format.
import { basename, join } from 'node:path';
import { isMobilityError, MobilityError } from '../../model/errors.ts';
import { type CheckOptions, type CheckReport, CheckTally, rowsText } from '../check.ts';
import { initStore, restoreFolder } from '../cures.ts';
import { checkPages } from './check-pages.ts';
import { type CheckedShard, checkReferences } from './check-references.ts';
import { type CheckedFile, checkTable, numbersOf } from './check-rows.ts';
import type { OwnedTable } from './damaged.ts';
import { storeError, unlessTrouble } from './engine-errors.ts';
import { openFile, setUp, whenFree } from './file.ts';
import { checkPresent, labelOf, pathsOf, readLabel, shardsByNames } from './folder.ts';
import { shardNumber } from './rows.ts';

/** Tables with rows of people, in the order in which they are looked at: small ones first. */
export const ownedTables: readonly OwnedTable[] = [
  'users',
  'tokens',
  'studies',
  'profiles',
  'pipeline',
  'errors',
  'waiting',
  'batches',
  'documents',
  'trips',
  'entries',
  'chunks',
];

/**
 * Checks the store in a folder while others use it. Throws `MOBILITY_STORE_ADDRESS` if there is none,
 * `MOBILITY_STORE_VERSION` if a newer program wrote it, and what is wrong with a folder that cannot be read; everything
 * else is in the report.
 */
export async function checkSqliteStore(folder: string, options: CheckOptions = {}): Promise<CheckReport> {
  const tally = new CheckTally(options);
  const shardCount = await shardsIn(folder, tally);
  const opened: CheckedFile[] = [];
  const checked = { pages: false, texts: false, references: false };
  let complete = false;
  try {
    const shards: CheckedShard[] = [];
    for (const path of pathsOf(folder, shardCount)) {
      const file = await tally.attempt(basename(path), () => openToCheck(path, tally));
      if (file !== null) opened.push(file);
      if (basename(path).startsWith('usercache')) shards.push({ usercache: file, timeseries: null });
      else shards.at(-1)!.timeseries = file;
    }
    complete = await checkOpened(shards, opened, tally, options, checked);
  } finally {
    for (const { file } of opened) file.close();
  }
  return tally.report({ store: `sqlite:${folder}`, complete, checked });
}

async function checkOpened(
  shards: readonly CheckedShard[],
  opened: readonly CheckedFile[],
  tally: CheckTally,
  options: CheckOptions,
  checked: CheckReport['checked'],
): Promise<boolean> {
  const { userId, signal, pages = true, onProgress } = options;
  if (pages && userId === undefined) {
    for (const { file, name } of opened) {
      onProgress?.(`${name}: pages`);
      await tally.attempt(name, () => checkPages(file, name, tally));
      // Ctrl-C is heard between two files: the engine reads each at once.
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) return false;
    }
    checked.pages = true;
  }
  if (userId === undefined) {
    onProgress?.('references');
    await checkReferences(shards, (uuid) => shardNumber(uuid, shards.length), tally);
    checked.references = true;
  }
  for (const one of opened) {
    const there = await tally.attempt(one.name, () => tablesIn(one));
    for (const table of ownedTables) {
      if (!there?.has(table)) continue;
      const onRows = (_: string, rows: number): void => onProgress?.(`${one.name}: ${table}, ${rowsText(rows)}`);
      const rows = { onRows, ...(userId !== undefined && { userId }), ...(signal && { signal }) };
      if ((await tally.attempt(one.name, () => checkTable(one, table, tally, rows))) === false) return false;
    }
  }
  checked.texts = true;
  return true;
}

/** The number of shards, by the label or else by the files that are there. */
export async function shardsIn(folder: string, tally: CheckTally): Promise<number> {
  try {
    const label = await readLabel(folder);
    if (label !== null) return label.shards;
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw storeError(error, join(folder, 'store.json'));
    const cure = `${restoreFolder}; with no other damage, write it anew as docs/storage.md describes it`;
    const what = 'expected the label of a store, found another text';
    tally.find({ code: 'DAMAGED_FILE', file: 'store.json', table: null, user_id: null, what, cure });
  }
  const byNames = await shardsByNames(folder).catch((error) => unlessTrouble(error, folder, 0));
  if (byNames > 0) {
    if (tally.findings.length > 0) return byNames;
    const { shards, complete } = await filesWithoutLabel(folder);
    const what = 'expected the label of a store, found no file';
    const cure = complete ? initStore : restoreFolder;
    tally.find({ code: 'DAMAGED_FILE', file: 'store.json', table: null, user_id: null, what, cure });
    return Math.max(shards, byNames);
  }
  throw new MobilityError('MOBILITY_STORE_ADDRESS', `expected a store in ${folder}, found none`);
}

/** How many shards the files tell of, and whether a store in them only lacks its label. */
async function filesWithoutLabel(folder: string): Promise<{ shards: number; complete: boolean }> {
  let shards = 0;
  try {
    shards = (await labelOf(folder))?.shards ?? 0;
    await checkPresent(pathsOf(folder, shards));
    return { shards, complete: shards > 0 };
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
    return { shards, complete: false };
  }
}

/** Opens a file as it is; null if that cannot be, which is then in the report. */
export async function openToCheck(path: string, tally: CheckTally): Promise<CheckedFile | null> {
  const name = basename(path);
  try {
    await checkPresent([path]);
    const file = openFile(path);
    try {
      await whenFree(() => setUp(file.connection));
      file.connection.exec('PRAGMA query_only = ON');
      return { file, name, ...(await numbersOf(file)) };
    } catch (error) {
      file.close();
      throw error;
    }
  } catch (error) {
    if (isMobilityError(error) && !isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
    unlessTrouble(error, path, null);
    const isLog = error instanceof Error && error.message.includes('write-ahead log');
    const what = (error instanceof Error ? error.message : String(error)).replace(`${path}: `, '');
    tally.find({
      code: isLog ? 'DAMAGED_LOG' : 'DAMAGED_FILE',
      file: name,
      table: null,
      user_id: null,
      what: what.replace(/; keep the folder.*/, ''),
      cure: restoreFolder,
    });
    return null;
  }
}

/** The names of the tables of a file; none where they cannot be read. */
export async function tablesIn({ file }: CheckedFile): Promise<Set<string>> {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table'";
  const rows = await file
    .read(() => file.connection.prepare(sql).all<{ name: string }>())
    .catch((error) => {
      return unlessTrouble(error, file.path, []);
    });
  return new Set(rows.map(({ name }) => name));
}
