// The rows of a file: whether each one is as it was written, belongs to somebody, and says the same in all its columns.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { unescapeText } from '../../model/json-text.ts';
import type { TripRecord } from '../../model/trip.ts';
import { startSlices } from '../../turns.ts';
import { CheckTally, type Finding, rowsText } from '../check.ts';
import { zonesNamed } from '../chunks/edit.ts';
import { BrokenChunk, decodeTexts, decodeTimes } from '../chunks/form.ts';
import { type PackedValue, unpackValue } from '../chunks/packed-value.ts';
import { documentContent, errorContent, fieldsContent, keptContent, linkContent, waitingContent } from '../content.ts';
import { restoreOrCopy } from '../cures.ts';
import { type Collection, initialPipelineState } from '../store.ts';
import { BrokenBatch, readIdentities, splitTexts } from './batch-form.ts';
import { type BatchSummary, isMarked, summaryOf } from './batches.ts';
import { cureOf, type OwnedTable } from './damaged.ts';
import type { SqlValue } from './driver.ts';
import { unlessTrouble } from './engine-errors.ts';
import type { StoreFile } from './file.ts';
import { forgottenName } from './ids.ts';
import { isSound, type SummedRow, type SummedTable, summedColumns } from './row-sums.ts';

/** A file that is being checked. */
export interface CheckedFile {
  file: StoreFile;
  /** Without its folder. */
  name: string;
  /** UUIDs by their number in this file. */
  users: ReadonlyMap<number, string>;
  /** Names of keys by their number in this file. */
  keys: ReadonlyMap<number, string>;
}

/** A row as it is in the table. */
export type TableRow = Record<string, SqlValue>;
type Row = TableRow;

/** A row that cannot be what was written; the text says why, without people's data. */
class Broken extends Error {}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Broken(`${what} does not fit the content of the row`);
}

/** What a look at one row needs, and where it reports. */
interface Look {
  checked: CheckedFile;
  tally: CheckTally;
  userId: string;
}

interface TableCheck {
  collection: Collection;
  /** Looks at one row; throws where it is not as it was written. */
  look: (row: Row, look: Look) => void;
  /** What of the row is told in a finding, as far as it can be read. */
  tell?: (row: Row, look: Look) => Partial<Finding>;
}

/** A value that can only be a text. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Broken('a value of another kind in place of a text');
}

function parsed<T>(text: SqlValue | undefined): T {
  return JSON.parse(textOf(text)) as T;
}

/** Every table with rows of people. */
const tables: Record<OwnedTable, TableCheck> = {
  waiting: {
    collection: 'usercache',
    look: (row, { checked, tally, userId }) => {
      const entry = parsed<Entry>(row.entry);
      expectIdentity(entry, checked, row.key, row.write_ts);
      const failed =
        row.failed_tries == null ? {} : { failed: { first_ts: row.failed_first_ts, tries: row.failed_tries } };
      tally.add(userId, 'usercache');
      tally.digest(userId, 'usercache', () =>
        waitingContent({
          entry,
          received_ts: row.received_ts,
          ...(row.kept != null && { kept: true }),
          ...failed,
        } as never),
      );
    },
    tell: ({ key, write_ts }, { checked }) => tellEntries(checked, key, 1, write_ts, write_ts),
  },
  batches: {
    collection: 'usercache',
    look: lookAtBatch,
    tell: ({ count, first, last }, { checked }) => tellEntries(checked, undefined, count, first, last),
  },
  entries: {
    collection: 'timeseries',
    look: (row, { checked, tally, userId }) => {
      const entry = parsed<Entry>(row.entry);
      expectIdentity(entry, checked, row.key, row.write_ts);
      tally.add(userId, 'timeseries');
      tally.digest(userId, 'timeseries', () => keptContent({ entry, received_ts: row.received_ts as number }));
    },
    tell: ({ key, write_ts }, { checked }) => tellEntries(checked, key, 1, write_ts, write_ts),
  },
  chunks: {
    collection: 'timeseries',
    look: lookAtChunk,
    tell: ({ key, count, first, last }, { checked }) => tellEntries(checked, key, count, first, last),
  },
  errors: {
    collection: 'errors',
    look: (row, { tally, userId }) => {
      const { key, write_ts, reason, message, ...rest } = row as unknown as Record<string, string> & Row;
      const entry = parsed<JsonObject>(row.entry);
      const identity = row.write_ts === null ? null : { key: unescapeText(textOf(key)), write_ts };
      const words = { reason: unescapeText(textOf(reason)), message: unescapeText(textOf(message)) };
      tally.add(userId, 'errors');
      tally.digest(userId, 'errors', () => errorContent({ ...rest, ...words, entry, identity } as never));
    },
    tell: (row) => (typeof row.key === 'string' ? { key: unescapeText(row.key), entries: 1 } : { entries: 1 }),
  },
  profiles: {
    collection: 'profiles',
    look: (row, { tally, userId }) => {
      const profile = parsed<JsonObject>(row.profile);
      tally.add(userId, 'profiles');
      tally.digest(userId, 'profiles', () => fieldsContent(profile));
    },
  },
  users: {
    collection: 'users',
    look: (row, { tally, userId }) => {
      tally.add(userId, 'users');
      tally.digest(userId, 'users', () =>
        fieldsContent(present(row, ['uuid', 'user_email', 'update_ts', 'study', 'subgroup'])),
      );
    },
  },
  tokens: {
    collection: 'tokens',
    look: (row, { tally, userId }) => {
      const token = present(row, ['hash', 'user_id', 'created_ts', 'kind', 'used_ts']);
      tally.add(userId, 'tokens');
      tally.digest(userId, 'tokens', () => fieldsContent({ ...token, expires_ts: row.expires_ts }));
    },
  },
  studies: {
    collection: 'users',
    look: ({ settings, joined }) => {
      parsed(settings);
      parsed(joined);
    },
  },
  trips: {
    collection: 'trips',
    look: (row, { tally, userId }) => {
      const link = unpackValue(row.record as PackedValue) as unknown as TripRecord;
      for (const name of ['chain_ts', 'kind', 'start_ts', 'end_ts', 'day'] as const)
        expectSame(name, row[name], link[name]);
      expectSame('settled_ts', row.settled_ts, link.settled_ts ?? null);
      tally.add(userId, 'trips');
      tally.digest(userId, 'trips', () => linkContent(link));
    },
    tell: ({ chain_ts }) => (typeof chain_ts === 'number' ? { from_ts: chain_ts, to_ts: chain_ts } : {}),
  },
  documents: {
    collection: 'documents',
    look: (row, { tally, userId }) => {
      const data = unpackValue(row.data as PackedValue);
      const document = { key: unescapeText(textOf(row.key)), write_ts: row.write_ts as number, data };
      tally.add(userId, 'documents');
      tally.digest(userId, 'documents', () => `${document.key}\n${documentContent(document)}`);
    },
    tell: ({ key }) => (typeof key === 'string' ? { key: unescapeText(key) } : {}),
  },
  pipeline: {
    collection: 'pipeline',
    look: (row, { tally, userId }) => {
      const state = { ...initialPipelineState, ...parsed<object>(row.state) };
      expectSame('due', row.due, state.changed !== null || state.documents_due ? 1 : 0);
      tally.add(userId, 'pipeline');
      const content = fieldsContent(state);
      if (content !== fieldsContent(initialPipelineState)) tally.digest(userId, 'pipeline', () => content);
    },
  },
};

/** Columns whose texts are escaped. */
const escaped = ['uuid', 'user_email', 'hash', 'user_id'];

/** The columns that have a value, as a record of the registry has them. */
function present(row: Row, columns: readonly string[]): object {
  const pairs = columns.filter((name) => row[name] != null).map((name) => [name, row[name]] as const);
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, escaped.includes(name) ? unescapeText(textOf(value)) : value]),
  );
}

function tellEntries(checked: CheckedFile, key: SqlValue | undefined, ...span: unknown[]): Partial<Finding> {
  const name = checked.keys.get(key as number);
  const [entries, from_ts, to_ts] = span.map((value) => (typeof value === 'number' ? value : undefined));
  return {
    ...(name !== undefined && { key: name }),
    ...(entries !== undefined && { entries }),
    ...(from_ts !== undefined && { from_ts }),
    ...(to_ts !== undefined && { to_ts }),
  };
}

function expectIdentity(entry: Entry, { keys }: CheckedFile, key: SqlValue | undefined, writeTs: unknown): void {
  if (typeof entry?.metadata !== 'object' || typeof entry.data !== 'object')
    throw new Broken('a text that is no entry');
  if (!keys.has(key as number)) throw new Broken(`key number ${key}, which has no name`);
  expectSame('the key', keys.get(key as number), entry.metadata.key);
  expectSame('write_ts', writeTs, entry.metadata.write_ts);
}

function lookAtBatch(row: Row, { checked, tally, userId }: Look): void {
  const columns = readIdentities(row.columns as Uint8Array, row.size as number);
  const texts = splitTexts(row.entries as Uint8Array, row.size as number);
  const gone = row.gone as Uint8Array | null;
  const summary = summaryOf(columns, gone);
  for (const name of ['count', 'first', 'last', 'first_ts', 'last_ts', 'due_ts'] as const) {
    expectSame(name, row[name], summary[name] satisfies BatchSummary[typeof name]);
  }
  if (!Buffer.from(row.keys as Uint8Array).equals(summary.keys))
    throw new Broken('other keys than those of its entries');
  const { runs, write_ts, received_ts, rare } = columns;
  for (const { key, from, to } of runs) {
    for (let i = from; i < to; i++) {
      if (isMarked(gone, i)) continue;
      const entry = parsed<Entry>(texts[i]);
      expectIdentity(entry, checked, key, write_ts[i]);
      const tries = rare?.failed_tries[i] ?? 0;
      tally.add(userId, 'usercache');
      tally.digest(userId, 'usercache', () =>
        waitingContent({
          entry,
          received_ts: received_ts[i]!,
          ...(rare?.kept[i] === 1 && { kept: true }),
          ...(tries > 0 && { failed: { first_ts: rare!.failed_first_ts[i]!, tries } }),
        }),
      );
    }
  }
}

function lookAtChunk(row: Row, { checked, tally, userId }: Look): void {
  const count = row.count as number;
  const times = decodeTimes(row.times as Uint8Array, count);
  const texts = decodeTexts(row.entries as Uint8Array, times);
  let [size, low, high, named] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  let before = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const entry = parsed<Entry>(texts[i]);
    const writeTs = times.write_ts[i]!;
    expectIdentity(entry, checked, row.key, writeTs);
    if (!(writeTs > before)) throw new Broken('entries that are not in the order of write_ts');
    before = writeTs;
    size += texts[i]!.length;
    if (times.zones[times.zone[i]!] != null) named += 1;
    const ts = times.ts[i]!;
    if (ts < low) low = ts;
    if (ts > high) high = ts;
    tally.digest(userId, 'timeseries', () => keptContent({ entry, received_ts: times.received_ts[i]! }));
  }
  expectSame('first', row.first, times.write_ts[0]);
  expectSame('last', row.last, before);
  expectSame('size', row.size, size);
  expectSame('first_ts', row.first_ts, low <= high ? low : null);
  expectSame('last_ts', row.last_ts, low <= high ? high : null);
  const zones = named === 0 ? zonesNamed.none : named === count ? zonesNamed.all : zonesNamed.some;
  expectSame('zones', row.zones, zones);
  tally.add(userId, 'timeseries', count);
}

// ---------------------------------------------------------------- every row of a table

const rowsAtOnce = 100;

/** What `row` is called in a table: its column of numbers, or its text of a table without. */
export const namedBy: Partial<Record<OwnedTable, string>> = { users: 'uuid', tokens: 'hash', studies: 'name' };

/** Which rows are looked at, and how the look is ended. */
export interface RowsOptions {
  userId?: string;
  signal?: AbortSignal;
  onRows?: (table: string, rows: number) => void;
}

/** Looks at every row of a table. Returns false if it was interrupted. */
export async function checkTable(
  checked: CheckedFile,
  table: OwnedTable,
  tally: CheckTally,
  options: RowsOptions,
): Promise<boolean> {
  const { file } = checked;
  const at = namedBy[table] ?? 'rowid';
  const slices = startSlices();
  let after: SqlValue = namedBy[table] === undefined ? Number.MIN_SAFE_INTEGER : '';
  const chosen = ownRows(checked, table, options.userId);
  if (chosen === null) return true;
  let limit = rowsAtOnce;
  for (let done = 0; ; ) {
    if (options.signal?.aborted) return false;
    const sql = `SELECT ${at} AS "at", * FROM ${table} WHERE ${at} > ? ${chosen.where} ORDER BY ${chosen.order}${at} LIMIT ?`;
    const from: SqlValue = after;
    const rows = await file
      .read(() => file.connection.prepare(sql).all<Row>(from, ...chosen.values, limit))
      .catch((error) => unlessTrouble(error, file.path, null));
    if (slices.isOver()) await slices.next();
    if (rows === null && limit > 1) {
      // One of them cannot be read: those before it can.
      limit = 1;
      continue;
    }
    if (rows === null) {
      const next = await skipUnreadable(checked, table, from, tally);
      if (next === null) return true;
      after = next;
      continue;
    }
    for (const row of rows) await checkRow(checked, table, row, tally);
    done += rows.length;
    options.onRows?.(table, done);
    if (rows.length < limit) return true;
    after = rows.at(-1)!.at!;
    limit = Math.min(2 * limit, rowsAtOnce);
  }
}

/** Which rows of a table are the user's, as a part of a WHERE; null: none are. */
function ownRows(
  { users }: CheckedFile,
  table: OwnedTable,
  userId: string | undefined,
): { where: string; order: string; values: SqlValue[] } | null {
  if (userId === undefined) return { where: '', order: '', values: [] };
  const column = { users: 'uuid', tokens: 'user_id', studies: null }[table as string];
  if (column === null) return null;
  if (column !== undefined) return { where: `AND ${column} = ?`, order: '', values: [userId] };
  const number = [...users].find(([, uuid]) => uuid === userId)?.[0];
  // With the sign the engine takes the index of the user, and not the order of the rows.
  return number === undefined ? null : { where: 'AND user = ?', order: '+', values: [number] };
}

/** Looks at one row, and reports what is wrong with it. */
export async function checkRow(checked: CheckedFile, table: OwnedTable, row: Row, tally: CheckTally): Promise<void> {
  if (table in summedColumns && row.sum == null) tally.unsummed += 1;
  if (isWhole(checked, table, row, tally)) return;
  // Others write meanwhile: users and keys may have got their numbers since, and the row may have changed.
  const at = namedBy[table] ?? 'rowid';
  const sql = `SELECT ${at} AS "at", * FROM ${table} WHERE ${at} = ?`;
  const read = (): Row | undefined => checked.file.connection.prepare(sql).get<Row>(row.at!);
  const again = await checked.file.read(read).catch((error) => unlessTrouble(error, checked.file.path, row));
  const now = { ...checked, ...(await numbersOf(checked.file)) };
  if (again !== undefined) reportRow(now, table, again, tally);
}

/** Whose a row is; null for nobody known. */
function ownerOf({ users }: CheckedFile, row: Row): string | null {
  const found = typeof row.user === 'number' ? users.get(row.user) : (row.user_id ?? row.uuid);
  return typeof found === 'string' ? unescapeText(found) : null;
}

function isWhole(checked: CheckedFile, table: OwnedTable, row: Row, tally: CheckTally): boolean {
  const userId = ownerOf(checked, row);
  if (userId === null && table !== 'studies') return false;
  return whyNot(table, row, { checked, tally, userId: userId ?? '' }) === null;
}

function reportRow(checked: CheckedFile, table: OwnedTable, row: Row, tally: CheckTally): void {
  const { name } = checked;
  const { tell } = tables[table];
  const userId = ownerOf(checked, row);
  const at = { checked, tally, userId: userId ?? '' };
  const report = (code: Finding['code'], what: string): void => {
    const place = tell?.(row, at) ?? {};
    tally.find({
      code,
      file: name,
      table,
      user_id: userId,
      ...(typeof row.at === 'number' && { row: row.at }),
      what: `row ${row.at}: ${what}`,
      ...place,
      cure: cureOf(table, userId),
    });
  };
  if (userId === null && table !== 'studies') {
    report('WRONG_REFERENCE', `user number ${row.user}, which nobody has in this file`);
    return;
  }
  const why = whyNot(table, row, { ...at, tally: new CheckTally({}) });
  if (why !== null) report('DAMAGED_ROW', why);
}

function whyNot(table: OwnedTable, row: Row, look: Look): string | null {
  try {
    if (table in summedColumns && row.sum != null && !isSound(table as SummedTable, row as SummedRow)) {
      throw new Broken('another checksum than was written');
    }
    tables[table].look(row, look);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Why a row could not be read, without what it says. */
function reasonOf(error: unknown): string {
  if (error instanceof Broken || error instanceof BrokenChunk || error instanceof BrokenBatch) return error.message;
  if (error instanceof SyntaxError) return 'a text that is not JSON';
  return 'bytes that cannot be unpacked or read';
}

/** Reports rows that the engine cannot read, and finds the next one that it can; null if there is none. */
async function skipUnreadable(
  { file, name, users }: CheckedFile,
  table: OwnedTable,
  after: SqlValue,
  tally: CheckTally,
): Promise<SqlValue | null> {
  const report = (what: string, userId: string | null, entries?: number): void =>
    tally.find({
      code: 'DAMAGED_PAGES',
      file: name,
      table,
      user_id: userId,
      what,
      ...(entries && { entries }),
      cure: restoreOrCopy,
    });
  if (typeof after !== 'number') {
    report('rows that cannot be read', null);
    return null;
  }
  const readable = async (from: number): Promise<number | null | 'damaged'> =>
    file
      .read(() => {
        const sql = `SELECT rowid AS at, * FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT 1`;
        return file.connection.prepare(sql).get<{ at: number }>(from)?.at ?? null;
      })
      .catch((error) => unlessTrouble(error, file.path, 'damaged' as const));
  const start = Math.max(after, 0);
  let last = start;
  for (let step = 1; step < 2 ** 50; step *= 2) {
    const found = await readable(start + step - 1);
    if (found === 'damaged') {
      last = start + step;
      continue;
    }
    for (const [user, count] of await ownersOf(file, table, after, found ?? Number.MAX_SAFE_INTEGER)) {
      report(`${rowsText(count)} between ${start} and ${found ?? 'the end'} cannot be read`, users.get(user) ?? null);
    }
    if (last === start) report(`rows behind ${start} cannot be read`, null);
    return found === null ? null : found - 1;
  }
  report(`rows behind ${start} cannot be read`, null);
  return null;
}

/** Whose rows lie in a range, as far as an index tells. */
async function ownersOf(
  file: StoreFile,
  table: OwnedTable,
  after: number,
  before: number,
): Promise<[number, number][]> {
  const sql = `SELECT user, count(*) AS count FROM ${table} WHERE +rowid > ? AND +rowid < ? GROUP BY user`;
  return file
    .read(() => file.connection.prepare(sql).all<{ user: number; count: number }>(after, before))
    .then((rows) => rows.map(({ user, count }): [number, number] => [user, count]))
    .catch((error) => unlessTrouble<[number, number][]>(error, file.path, []));
}

/** UUIDs and key names of a file by their numbers; what cannot be read is left out. */
export async function numbersOf(file: StoreFile): Promise<Pick<CheckedFile, 'users' | 'keys'>> {
  const read = <T>(sql: string): Promise<T[]> =>
    file.read(() => file.connection.prepare(sql).all<T>()).catch((error) => unlessTrouble<T[]>(error, file.path, []));
  const users = await read<{ id: number; uuid: string }>('SELECT id, uuid FROM user_ids');
  const keys = await read<{ id: number; name: string }>('SELECT id, name FROM keys');
  return {
    users: new Map(users.map(({ id, uuid }) => [id, unescapeText(String(uuid))])),
    keys: new Map(
      keys.filter(({ id, name }) => name !== forgottenName(id)).map(({ id, name }) => [id, unescapeText(String(name))]),
    ),
  };
}
