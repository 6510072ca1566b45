// Copies people from one store to another, row by row as they are: engines keep the same bytes under the same keys.
import { MobilityError } from '../model/errors.ts';
import { onEngine } from '../store/open.ts';
import type { Engine, Rows, Summed, Table, Where } from '../store/rows/rows.ts';
import {
  type AccountRow,
  accounts,
  type PersonRow,
  people,
  studies,
  tokens,
  userTables,
} from '../store/rows/tables.ts';
import { accountOf, released } from '../store/rules/accounts.ts';

/** How people are copied. */
export interface CopyOptions {
  /** Seconds since the epoch. */
  now: () => number;
  /** Compare and count only. */
  dryRun?: boolean;
  /** Replace people whose data at the target differs. */
  overwrite?: boolean;
  /** Allow people at the target whom the source does not have. */
  merge?: boolean;
  /** Once aborted, the copy ends with its reason after the person in work. */
  signal?: AbortSignal;
  /** Called after each person. */
  onUser?: (copied: CopiedUser) => void;
}

/** What became of a person. */
export interface CopiedUser {
  user_id: string;
  user_email: string;
  /**
   * `same`: nothing was to do. `differs`: the target has other data, and may not lose them. `busy`: somebody holds the
   * lease at the source. `failed`: see `message`.
   */
  status: 'copied' | 'same' | 'differs' | 'busy' | 'failed';
  message?: string;
  /** Rows that were written and removed at the target, or that would be. */
  written: number;
  removed: number;
}

/** What a copy came to. */
export interface CopyReport {
  users: number;
  copied: number;
  same: number;
  written: number;
  removed: number;
  /** People whom only the target has. */
  others: number;
  /** People who are not the same at the target now, with the reason. */
  reports: CopiedUser[];
  /** True if everybody of the source is the same at the target. */
  equal: boolean;
  seconds: number;
}

type AnyRow = Record<string, string | number | null | Uint8Array>;
type AnyTable = Table<AnyRow>;

/** Tables of one person's rows, besides the account and the registry. */
const copiedTables = [...userTables, tokens] as unknown as AnyTable[];

/** Copies everybody from the store at one address to that at another, see `copyStore`. */
export async function copyBetween(
  from: string,
  to: string,
  options: CopyOptions & { onWarning?: (message: string) => void },
): Promise<CopyReport> {
  const { onWarning, ...copying } = options;
  const make = options.dryRun !== true;
  return onEngine(from, { make: false }, (source) =>
    onEngine(to, { make, ...(onWarning && { onWarning }) }, (target) => copyStore(source, target, copying)),
  );
}

/**
 * Copies everybody. Interrupted at any moment, a repetition goes on: rows that are there already are not written again.
 * The source is not changed. Throws `MOBILITY_USER_EXISTS` when the target has other people and may not have them.
 */
export async function copyStore(from: Engine, to: Engine, options: CopyOptions): Promise<CopyReport> {
  const started = options.now();
  const report: CopyReport = {
    ...{ users: 0, copied: 0, same: 0, written: 0, removed: 0, others: 0 },
    ...{ reports: [], equal: false, seconds: 0 },
  };
  report.others = await othersAt(from, to);
  if (report.others > 0 && !options.merge) throw strangers(from, to, report.others);
  if (options.dryRun !== true) {
    const found = await from.read((rows) => rows.find(studies, { where: {} }));
    await to.write(null, (rows) => rows.put(studies, found));
  }
  for await (const person of everybody(from)) {
    options.signal?.throwIfAborted();
    const one = await copyUser(from, to, person, options);
    report.users += 1;
    report.written += one.written;
    report.removed += one.removed;
    if (one.status === 'copied' || one.status === 'same') report[one.status] += 1;
    else report.reports.push(one);
    options.onUser?.(one);
  }
  report.equal = report.reports.length === 0 && !(options.dryRun === true && report.copied > 0);
  report.seconds = options.now() - started;
  return report;
}

function strangers(from: Engine, to: Engine, count: number): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    `expected no other users at ${to.address} than those of ${from.address}, found ${count}: name another target, ` +
      'or allow both to be together there with --merge',
  );
}

const peopleAtOnce = 500;

async function* everybody(engine: Engine): AsyncGenerator<PersonRow> {
  for (let after = ''; ; ) {
    const query = { where: { uuid: { gt: after } }, order: ['uuid'] as const, limit: peopleAtOnce };
    const page = await engine.read((rows) => rows.find(people, query));
    yield* page;
    if (page.length < peopleAtOnce) return;
    after = page.at(-1)!.uuid;
  }
}

async function othersAt(from: Engine, to: Engine): Promise<number> {
  let others = 0;
  for await (const { uuid } of everybody(to)) others += (await personAt(from, { uuid })) === null ? 1 : 0;
  return others;
}

async function personAt(engine: Engine, where: Where<PersonRow>): Promise<PersonRow | null> {
  return (await engine.read((rows) => rows.find(people, { where })))[0] ?? null;
}

async function copyUser(from: Engine, to: Engine, person: PersonRow, options: CopyOptions): Promise<CopiedUser> {
  const { uuid: user_id, user_email } = person;
  const result: CopiedUser = { user_id, user_email, status: 'same', written: 0, removed: 0 };
  const end = (status: CopiedUser['status'], message: string): CopiedUser => ({ ...result, status, message });
  const account = await from.read((rows) => accountOf(rows, user_id));
  if (account?.stage !== 'active') return end('failed', 'an erasure or a copy of this user has not ended');
  if (account.owner !== null && account.expires_ts > (await from.now()))
    return end('busy', `${account.owner} works on this user`);
  const namesake = await personAt(to, { user_email });
  if (namesake !== null && namesake.uuid !== user_id)
    return end('failed', `the target has the name with the UUID ${namesake.uuid}`);
  const there = await to.read((rows) => accountOf(rows, user_id));
  const differences = await compare(from, to, user_id);
  const target = await personAt(to, { uuid: user_id });
  const isSame =
    differences.length === 0 && sameAccount(account, there) && JSON.stringify(target) === JSON.stringify(person);
  if (isSame) return result;
  if (there?.stage === 'active' && !options.overwrite)
    return end('differs', 'the target has other data of this user: --overwrite replaces them');
  if (options.dryRun !== true) await beginArrival(to, person, there);
  for (const { table, write, remove } of differences) {
    result.written += write.length;
    result.removed += remove.length;
    if (options.dryRun !== true) await copyRows(from, to, user_id, table, write, remove);
  }
  result.status = 'copied';
  if (options.dryRun === true) return result;
  await to.write(user_id, (rows) => rows.put(accounts, [released(account)]));
  const left = await compare(from, to, user_id);
  return left.length === 0
    ? result
    : end('failed', 'the source changed meanwhile: stop its servers and pipelines, and repeat');
}

function sameAccount(account: AccountRow, there: AccountRow | null): boolean {
  return there !== null && JSON.stringify(released(account)) === JSON.stringify(released(there));
}

/** Registers the person at the target as one whose rows are still arriving: nobody else writes them. */
async function beginArrival(to: Engine, person: PersonRow, there: AccountRow | null): Promise<void> {
  await to.write(there === null ? null : person.uuid, async (rows) => {
    const stage = { ...newArrival(person.uuid), ...(there && { ...released(there), stage: 'arriving' }) };
    await rows.put(people, [person]);
    await rows.put(accounts, [stage]);
  });
}

function newArrival(user: string): AccountRow {
  const lease = { fence: 0, owner: null, expires_ts: 0, seconds: 0 };
  return { user, stage: 'arriving', ...lease, due: 0, version: null, zoned: 0, zoneless: 0, state: '{}' };
}

interface Difference {
  table: AnyTable;
  /** Keys of rows that the target lacks or has with other content, and of those that only the target has. */
  write: AnyRow[];
  remove: AnyRow[];
}

async function compare(from: Engine, to: Engine, user: string): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const table of copiedTables) {
    const [source, target] = [await headsOf(from, table, user), await headsOf(to, table, user)];
    const write = [...source].filter(([name, { sum }]) => target.get(name)?.sum !== sum).map(([, head]) => head);
    const remove = [...target].filter(([name]) => !source.has(name)).map(([, head]) => head);
    if (write.length + remove.length > 0)
      differences.push({ table, write: write.map(keyOf), remove: remove.map(keyOf) });
  }
  return differences;
}

const keyOf = ({ sum: _, ...key }: AnyRow & Summed): AnyRow => key as AnyRow;

async function headsOf(engine: Engine, table: AnyTable, user: string): Promise<Map<string, AnyRow & Summed>> {
  const columns = [...table.key, 'sum'];
  const heads = await engine.read((rows) =>
    rows.find(table, { where: { [table.user ?? 'user']: user } }, columns as 'sum'[]),
  );
  return new Map(
    heads.map((head) => [JSON.stringify(table.key.map((column) => (head as AnyRow)[column])), head as AnyRow & Summed]),
  );
}

/** Rows copied in one transaction. */
const rowsAtOnce = 100;

async function copyRows(
  from: Engine,
  to: Engine,
  user: string,
  table: AnyTable,
  write: readonly AnyRow[],
  remove: readonly AnyRow[],
): Promise<void> {
  for (let i = 0; i < write.length; i += rowsAtOnce) {
    const some = write.slice(i, i + rowsAtOnce);
    const read = (rows: Rows) => Promise.all(some.map((key) => rows.find(table, { where: key })));
    const found = (await from.read(read)).flat();
    await to.write(user, (rows) => rows.put(table, found));
  }
  for (let i = 0; i < remove.length; i += rowsAtOnce) {
    await to.write(user, async (rows) => {
      for (const key of remove.slice(i, i + rowsAtOnce)) await rows.remove(table, key);
    });
  }
}
