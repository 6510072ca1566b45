import { errorText, isMobilityError } from '../model/mobility-error.ts';
import { entriesIn, readHeader } from '../store/chunks/batch.ts';
import { entriesOf } from '../store/chunks/chunk.ts';
import { unpackText, unpackValue } from '../store/chunks/pack.ts';
import { onEngine } from '../store/open.ts';
import type { Engine } from '../store/rows/rows.ts';
import { rowName } from '../store/rows/sums.ts';
import { accounts, allTables, type BatchRow, people } from '../store/rows/tables.ts';
import { startSlices } from '../util/slices.ts';
import { type AnyRow, type AnyTable, everyRow } from './every-row.ts';

/** Contains no data of users, except the UUID of the user whose row it is. */
export type Finding = ReturnType<typeof findingAbout>;

export type CheckReport = Awaited<ReturnType<typeof checkRows>>;

interface CheckOptions {
  /** Checks only the rows of this user, and not the files of the store. */
  userId?: string;
  /** Checks only checksums: neither the contents of rows nor the engine's own structures. */
  sumsOnly?: boolean;
  signal?: AbortSignal;
  onProgress?: (rows: number) => void;
}

const restore = 'keep the store as it is and restore a backup beside it';

const tables = allTables as unknown as readonly AnyTable[];

/** Changes nothing. Reports damage; throws other errors. */
export async function checkStore(address: string, options: CheckOptions = {}): Promise<CheckReport> {
  return onEngine(address, { make: false }, (engine) => checkRows(engine, options)).catch((error) => {
    if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
    return { findings: [{ ...findingAbout('', error.message), cure: 'restore a backup' }], rows: 0, complete: false };
  });
}

export async function checkRows(engine: Engine, options: CheckOptions = {}) {
  const report = { findings: [] as Finding[], rows: 0, complete: false };
  const { userId, sumsOnly = false, signal, onProgress } = options;
  if (userId === undefined && !sumsOnly)
    for (const problem of await engine.check().catch(damageOf)) report.findings.push(findingAbout('', problem));
  const slices = startSlices();
  for (const table of tables) {
    const problems = await checkTable(table).catch(damageOf);
    for (const problem of problems) report.findings.push(findingAbout(table.name, problem));
    if (signal?.aborted === true) return report;
  }
  report.complete = true;
  return report;

  async function checkTable(table: AnyTable): Promise<string[]> {
    for await (const key of everyKey(engine, table, userId)) {
      // An embedded store answers synchronously. Without a pause the signal would not be handled.
      if (slices.isOver()) await slices.next();
      if (signal?.aborted === true) return [];
      const problem = await findProblem(engine, table, key, sumsOnly);
      if (problem !== null) report.findings.push(findingOf(table, key, problem));
      report.rows += 1;
      if (report.rows % 100 === 0) onProgress?.(report.rows);
    }
    if (userId === undefined && table.user !== null) await checkOwners(engine, table, table.user, report);
    return [];
  }
}

/** Makes a finding about a whole table, or about the whole store if `table` is empty. */
function findingAbout(table: string, problem: string) {
  return { user_id: null as string | null, table, row: '', problem, cure: restore };
}

/** Turns an error about damage into a finding, so that the check continues. */
function damageOf(error: unknown): string[] {
  if (isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) return [error.message];
  throw error;
}

export async function leaveOut(address: string, userId: string): Promise<Finding[]> {
  return onEngine(address, { make: false }, async (engine) => {
    const removed: Finding[] = [];
    for (const table of tables.filter(canBeLeftOut)) {
      for await (const key of everyKey(engine, table, userId)) {
        const problem = await findProblem(engine, table, key, false);
        if (problem === null) continue;
        await engine.write(userId, (rows) => rows.remove(table, key));
        removed.push(findingOf(table, key, problem));
      }
    }
    return removed;
  });
}

const canBeLeftOut = ({ user, name }: AnyTable): boolean => user !== null && name !== accounts.name;

function findingOf(table: AnyTable, key: AnyRow, problem: string): Finding {
  const user_id = table.user === null ? null : (key[table.user] as string);
  const leaveOut = `or leave the row out: \`mobility store check --user ${user_id} --leave-out\``;
  const cure = canBeLeftOut(table) ? `${restore}, ${leaveOut}` : restore;
  return { user_id, table: table.name, row: rowName(table, key), problem, cure };
}

async function* everyKey(engine: Engine, table: AnyTable, userId?: string): AsyncGenerator<AnyRow> {
  const { user: column } = table;
  if (column === null) {
    if (userId === undefined) yield* everyRow(engine, table, table.key[0]!, table.key);
    return;
  }
  const users = userId === undefined ? everyRow(engine, accounts, 'user', ['user']) : [{ user: userId }];
  for await (const { user } of users)
    yield* await engine.read((rows) => rows.find(table, { where: { [column]: user } }, table.key));
}

/** Returns null if the row is not damaged, or was removed meanwhile. */
async function findProblem(engine: Engine, table: AnyTable, key: AnyRow, sumsOnly: boolean): Promise<string | null> {
  try {
    const [row] = await engine.read((rows) => rows.find(table, { where: key }));
    if (row !== undefined && !sumsOnly) decode(table.name, row);
    return null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return 'its content cannot be read';
    if (isMobilityError(error) && error.code !== 'MOBILITY_STORE_DAMAGED') throw error;
    return isMobilityError(error) ? 'its content does not match its checksum' : `cannot be read: ${errorText(error)}`;
  }
}

function decode(table: string, row: AnyRow): void {
  for (const [column, value] of Object.entries(row)) {
    if (table === 'chunks' && column === 'entries') entriesOf({ entries: value as Uint8Array });
    else if (table === 'batches' && column === 'entries') entriesIn({ entries: value as Uint8Array });
    else if (value instanceof Uint8Array && table === 'feeds') unpackText(value);
    else if (value instanceof Uint8Array && table !== 'feed_parts') unpackValue(value);
    else if (column === 'waiting') readHeader(row as unknown as BatchRow);
    else if (['state', 'profile', 'settings', 'outline'].includes(column)) JSON.parse((value as string) ?? 'null');
  }
}

/** Reports users whose rows have no account, and accounts of users who are not registered. */
async function checkOwners(engine: Engine, table: AnyTable, column: string, report: CheckReport): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const query = { where: { [column]: { gt: after } }, order: [column], limit: 1 };
    // One snapshot, because other processes register, push and erase meanwhile.
    const [user, owners] = await engine.read(async (rows) => {
      const found = (await rows.find(table, query, [column]))[0]?.[column] as string | undefined;
      if (found === undefined) return [undefined, 1];
      const isAccount = table.name === accounts.name;
      return [found, await (isAccount ? rows.total(people, { uuid: found }) : rows.total(accounts, { user: found }))];
    });
    after = user;
    if (user === undefined || owners > 0) continue;
    report.findings.push({ ...findingAbout(table.name, 'the user is not registered'), user_id: user });
  }
}
