// Reads everything in a store once and names what is damaged, by user and row: the same for every engine.
import { errorText, isMobilityError } from '../model/errors.ts';
import { entriesIn, waitingIn } from '../store/chunks/batch.ts';
import { entriesOf } from '../store/chunks/chunk.ts';
import { unpackValue } from '../store/chunks/pack.ts';
import { onEngine } from '../store/open.ts';
import type { Engine, Rows, Table, Where } from '../store/rows/rows.ts';
import { rowName } from '../store/rows/sums.ts';
import { accounts, allTables, people } from '../store/rows/tables.ts';

/** One thing that is not as it was written. Never quotes people's data. */
export interface Finding {
  /** The UUID of the user whose row it is; null: it concerns everybody. */
  user_id: string | null;
  table: string;
  row: string;
  problem: string;
  /** What to do. */
  cure: string;
}

/** The result of a check. */
export interface CheckReport {
  findings: Finding[];
  /** Rows that were read. */
  rows: number;
  /** False: the check was interrupted. */
  complete: boolean;
}

/** How a store is checked. */
export interface CheckOptions {
  /** Only the rows of this user, and nothing about the file. */
  userId?: string;
  /** Compare checksums only: what rows contain is not decoded, and the engine does not look at its own structures. */
  sumsOnly?: boolean;
  /** Once aborted, the check ends with what it has found. */
  signal?: AbortSignal;
  /** Called with the number of rows that were read. */
  onProgress?: (rows: number) => void;
}

const restore = 'keep the store as it is and restore a backup beside it';

type AnyRow = Record<string, unknown>;
type AnyTable = Table<AnyRow>;

/** Checks the store at `address` and changes nothing. Throws what `openStore` throws, but for damage. */
export async function checkStore(address: string, options: CheckOptions = {}): Promise<CheckReport> {
  return onEngine(address, { make: false }, (engine) => checkRows(engine, options)).catch((error) => {
    if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
    const finding = { user_id: null, table: '', row: '', problem: error.message, cure: 'restore a backup' };
    return { findings: [finding], rows: 0, complete: false };
  });
}

/** Checks all rows, or those of one user. */
export async function checkRows(engine: Engine, options: CheckOptions = {}): Promise<CheckReport> {
  const report: CheckReport = { findings: [], rows: 0, complete: false };
  const { userId, sumsOnly = false, signal } = options;
  if (userId === undefined && !sumsOnly) {
    const problems = await engine.check();
    for (const problem of problems) report.findings.push({ user_id: null, table: '', row: '', problem, cure: restore });
  }
  for (const table of allTables as unknown as AnyTable[]) {
    let counted = 0;
    for await (const rows of pages(engine, table, userId)) {
      if (signal?.aborted === true) return report;
      for (const key of rows) {
        const problem = await problemOf(engine, table, key, sumsOnly);
        if (problem !== null) report.findings.push(findingOf(table, key, problem));
      }
      counted += rows.length;
      report.rows += rows.length;
      options.onProgress?.(report.rows);
    }
    if (userId === undefined && table.user !== null) await checkOwners(engine, table, counted, report);
  }
  report.complete = true;
  return report;
}

/** Removes the damaged rows of a user; returns what was removed. The others of the user's rows stay as they are. */
export async function leaveOut(address: string, userId: string): Promise<Finding[]> {
  return onEngine(address, { make: false }, (engine) => removeDamaged(engine, userId));
}

async function removeDamaged(engine: Engine, userId: string): Promise<Finding[]> {
  const removed: Finding[] = [];
  for (const table of allTables as unknown as AnyTable[]) {
    if (table.user === null || table.name === accounts.name) continue;
    for await (const rows of pages(engine, table, userId)) {
      for (const key of rows) {
        const problem = await problemOf(engine, table, key, false);
        if (problem === null) continue;
        await engine.write(userId, (tables) => tables.remove(table, key as Where<AnyRow>));
        removed.push(findingOf(table, key, problem));
      }
    }
  }
  return removed;
}

function findingOf(table: AnyTable, key: AnyRow, problem: string): Finding {
  const user = table.user === null ? undefined : key[table.user];
  const user_id = typeof user === 'string' ? user : null;
  const leaveOut = `or leave the row out: \`mobility store check --user ${user_id} --leave-out\``;
  const canBeLeftOut = user_id !== null && table.name !== accounts.name;
  return {
    user_id,
    table: table.name,
    row: rowName(table, key),
    problem,
    cure: canBeLeftOut ? `${restore}, ${leaveOut}` : restore,
  };
}

/** Keys read at a time. */
const keysAtOnce = 500;

/** The keys of all rows of a table, or of one user's, in pages. */
async function* pages(engine: Engine, table: AnyTable, userId?: string): AsyncGenerator<AnyRow[]> {
  if (table.user === null) {
    if (userId === undefined) yield* byColumn(engine, table, table.key[0]!, {});
    return;
  }
  if (table.key.length === 1) {
    if (userId !== undefined) yield await keysOf(engine, table, { [table.user]: userId });
    else yield* byColumn(engine, table, table.user, {});
    return;
  }
  for await (const users of userId === undefined ? userPages(engine) : [[userId]]) {
    for (const user of users) {
      const keys = await keysOf(engine, table, { [table.user]: user });
      for (let i = 0; i < keys.length; i += keysAtOnce) yield keys.slice(i, i + keysAtOnce);
    }
  }
}

/** Every user with an account, in pages. */
async function* userPages(engine: Engine): AsyncGenerator<string[]> {
  for await (const rows of byColumn(engine, accounts as unknown as AnyTable, 'user', {}))
    yield rows.map(({ user }) => user as string);
}

async function* byColumn(
  engine: Engine,
  table: AnyTable,
  column: string,
  where: Where<AnyRow>,
): AsyncGenerator<AnyRow[]> {
  for (let after = ''; ; ) {
    const query = { where: { ...where, [column]: { gt: after } }, order: [column], limit: keysAtOnce };
    const rows = await engine.read((tables) => tables.find(table, query, table.key));
    if (rows.length > 0) yield rows;
    if (rows.length < keysAtOnce) return;
    after = rows.at(-1)![column] as string;
  }
}

function keysOf(engine: Engine, table: AnyTable, where: Where<AnyRow>): Promise<AnyRow[]> {
  return engine.read((tables) => tables.find(table, { where }, table.key));
}

/** What is wrong with a row; null: nothing, or it was removed meanwhile. */
async function problemOf(engine: Engine, table: AnyTable, key: AnyRow, sumsOnly: boolean): Promise<string | null> {
  try {
    const [row] = await engine.read((tables: Rows) => tables.find(table, { where: key as Where<AnyRow> }));
    if (row !== undefined && !sumsOnly) decode(table.name, row);
    return null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return 'its content cannot be read';
    if (isMobilityError(error) && error.code !== 'MOBILITY_STORE_DAMAGED') throw error;
    return isMobilityError(error) ? 'its content does not match its checksum' : `cannot be read: ${errorText(error)}`;
  }
}

/** Reads what a row contains; throws if it cannot be read. */
function decode(table: string, row: AnyRow): void {
  for (const [column, value] of Object.entries(row)) {
    if (table === 'chunks' && column === 'entries') entriesOf({ entries: value as Uint8Array });
    else if (table === 'batches' && column === 'entries') entriesIn({ entries: value as Uint8Array });
    else if (value instanceof Uint8Array) unpackValue(value);
    else if (column === 'waiting') waitingIn({ waiting: value as string });
    else if (['state', 'profile', 'settings', 'joined', 'outline'].includes(column))
      JSON.parse((value as string) ?? 'null');
  }
}

/** Reports rows of users who have no account, and accounts of users who are not registered. */
async function checkOwners(engine: Engine, table: AnyTable, counted: number, report: CheckReport): Promise<void> {
  const total = await engine.read((tables) => tables.total(table, {}));
  if (total > counted && table.name !== accounts.name) {
    const problem = `${total - counted} rows belong to nobody who has an account`;
    report.findings.push({ user_id: null, table: table.name, row: '', problem, cure: restore });
  }
  if (table.name !== accounts.name) return;
  for await (const users of userPages(engine)) {
    const found = await engine.read((tables) => tables.find(people, { where: { uuid: { in: users } } }, ['uuid']));
    const registered = new Set(found.map(({ uuid }) => uuid));
    for (const user of users.filter((one) => !registered.has(one))) {
      const problem = 'the user is not registered: an erasure or a copy was interrupted';
      const cure = `repeat it, or run \`mobility erase --user ${user}\``;
      report.findings.push({ user_id: user, table: table.name, row: rowName(table, { user }), problem, cure });
    }
  }
}
