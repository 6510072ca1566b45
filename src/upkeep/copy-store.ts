// All engines store the same bytes under the same keys, so rows are copied unchanged.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutCredentials } from '../model/address.ts';
import { isMobilityError, MobilityError } from '../model/mobility-error.ts';
import { NoStore } from '../model/store-errors.ts';
import { onEngine, openStore } from '../store/open.ts';
import type { Engine, Summed, Where } from '../store/rows/rows.ts';
import * as tables from '../store/rows/tables.ts';
import { accountOf, newAccount, released } from '../store/rules/accounts.ts';
import type { Store } from '../store/store.ts';
import { partsOf } from '../util/parts-of.ts';
import { type AnyRow, type AnyTable, everyRow } from './every-row.ts';
import { type MissingOptions, settleMissing } from './missing-people.ts';

interface CopyOptions extends MissingOptions {
  now: () => number;
  /** When aborted, the copy finishes the current person and throws the reason of the signal. */
  signal?: AbortSignal;
  onUser?: (done: number) => void;
}

interface CopiedUser {
  user_id: string;
  user_email: string;
  /** `differs`: the target has other data. `busy`: a run in the source holds the user. */
  status: 'copied' | 'same' | 'differs' | 'busy' | 'failed';
  message?: string;
  written: number;
  removed: number;
}

export type CopyReport = Awaited<ReturnType<typeof copyStore>>;

const copiedTables = [...tables.userTables, tables.tokens] as unknown as AnyTable[];

export async function copyBetween(
  from: string,
  to: string,
  options: CopyOptions & { onWarning?: (message: string) => void },
): Promise<CopyReport> {
  const opening = { make: options.dryRun !== true, onWarning: options.onWarning };
  return onEngine(from, { make: false }, (source) =>
    onEngine(to, opening, (target) => copyStore(source, target, options)).catch((error) => {
      if (options.dryRun !== true || !(error instanceof NoStore)) throw error;
      options.onWarning?.(`there is no store at ${withoutCredentials(to)}: without --dry-run it is created`);
      return copyStore(source, emptyEngine(to), options);
    }),
  );
}

/**
 * Copies one user and all feeds to a store that does not have the user. Creates this store if needed.
 * Throws `MOBILITY_LEASE_HELD` if a run holds the user or changes data of the user meanwhile.
 */
export async function copyPerson(from: string, to: string, userId: string): Promise<void> {
  await onEngine(from, { make: false }, (source) =>
    onEngine(to, { make: true }, async (target) => {
      const { status, message } = await copyUser(source, target, (await personAt(source, { uuid: userId }))!, {});
      if (status !== 'copied') {
        const text = `expected a user whose data do not change: ${message}; try again later`;
        throw new MobilityError('MOBILITY_LEASE_HELD', text);
      }
      await copyFeeds(source, target);
    }),
  );
}

function emptyEngine(address: string): Engine {
  const read: Engine['read'] = (work) => work({ find: async () => [], total: async () => 0 });
  return { address, read } as Engine;
}

/**
 * Copies all people, one after another, and does not change the source. To continue an interrupted
 * copy, repeat it: equal rows are not written again. Throws `MOBILITY_USER_EXISTS` if the target
 * has people who are not in the source, unless `merge` or `eraseMissing` is set.
 */
export async function copyStore(from: Engine, to: Engine, options: CopyOptions) {
  const started = options.now();
  const others = await settleMissing(from, to, options); // people who are only in the target
  const report = { users: 0, copied: 0, same: 0, written: 0, removed: 0, others, reports: [] as CopiedUser[] };
  if (options.dryRun !== true) {
    for (const table of [tables.studies, tables.managers, tables.erasedTokens] as unknown as AnyTable[]) {
      const found = await from.read((rows) => rows.find(table, { where: {} }));
      await to.write(null, (rows) => rows.put(table, found));
    }
    await copyFeeds(from, to);
  }
  for await (const person of everyRow(from, tables.people, 'uuid')) {
    options.signal?.throwIfAborted();
    const result = await copyUser(from, to, person, options).catch((error) => reportDamage(person, error));
    report.users += 1;
    report.written += result.written;
    report.removed += result.removed;
    if (result.status === 'copied' || result.status === 'same') report[result.status] += 1;
    else report.reports.push(result);
    options.onUser?.(report.users);
  }
  const equal = report.reports.length === 0 && !(options.dryRun === true && report.copied > 0);
  return { ...report, equal, seconds: options.now() - started };
}

/** Rows of `feeds` make a feed visible, so they are copied after its parts. */
async function copyFeeds(from: Engine, to: Engine): Promise<void> {
  for (const table of [tables.feedParts, tables.feeds] as unknown as AnyTable[]) {
    for await (const key of everyRow(from, table, table.key[0]!, table.key)) {
      const found = await from.read((rows) => rows.find(table, { where: key }));
      await to.write(null, (rows) => rows.put(table, found));
    }
  }
}

/** Reports a person with a damaged row as failed, so that the copy continues with other people. */
function reportDamage({ uuid, user_email }: tables.PersonRow, error: unknown): CopiedUser {
  if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
  return { user_id: uuid, user_email, status: 'failed', message: error.message, written: 0, removed: 0 };
}

async function personAt(engine: Engine, where: Where<tables.PersonRow>): Promise<tables.PersonRow | null> {
  return (await engine.read((rows) => rows.find(tables.people, { where })))[0] ?? null;
}

async function copyUser(
  from: Engine,
  to: Engine,
  person: tables.PersonRow,
  options: Pick<CopyOptions, 'dryRun' | 'overwrite'>,
): Promise<CopiedUser> {
  const { uuid: user_id, user_email } = person;
  const result: CopiedUser = { user_id, user_email, status: 'same', written: 0, removed: 0 };
  const end = (status: CopiedUser['status'], message: string): CopiedUser => ({ ...result, status, message });
  const account = await from.read((rows) => accountOf(rows, user_id));
  if (account?.stage !== 'active') return end('failed', 'an erasure or a copy of this user has not ended');
  if (account.owner !== null && account.expires_ts > (await from.now()))
    return end('busy', `${account.owner} works on this user`);
  const namesake = await personAt(to, { user_email });
  const other = namesake?.uuid ?? user_id;
  if (other !== user_id)
    return end('failed', `the target has a user of the same name with another UUID, ${other}: erase that user there`);
  const targetAccount = await to.read((rows) => accountOf(rows, user_id));
  const differences = await compare(from, to, user_id);
  const target = await personAt(to, { uuid: user_id });
  const isSamePerson =
    JSON.stringify([person, released(account)]) === JSON.stringify([target, targetAccount && released(targetAccount)]);
  if (isSamePerson && differences.length === 0) return result;
  if (targetAccount?.stage === 'active' && !options.overwrite)
    return end('differs', 'the target has other data of this user: --overwrite replaces them');
  if (options.dryRun !== true) await beginArrival(to, person, targetAccount);
  for (const difference of differences) {
    result.written += difference.write.length;
    result.removed += difference.remove.length;
    if (options.dryRun !== true) await copyRows(from, to, user_id, difference);
  }
  result.status = 'copied';
  if (options.dryRun === true) return result;
  const left = await compare(from, to, user_id);
  if (left.length > 0) return end('failed', 'the source changed meanwhile: stop its servers and pipelines, and repeat');
  const arrived_ts = await to.now();
  await to.write(user_id, async (rows) => {
    await rows.put(tables.arrivals, [{ user: user_id, arrived_ts }]);
    await rows.put(tables.accounts, [released(account)]);
  });
  return result;
}

async function beginArrival(to: Engine, person: tables.PersonRow, account: tables.AccountRow | null): Promise<void> {
  const { uuid, update_ts } = person;
  const arriving: tables.AccountRow =
    account === null ? newAccount(uuid, update_ts, 'arriving') : { ...released(account), stage: 'arriving' };
  await to.write(account === null ? null : uuid, async (rows) => {
    await rows.put(tables.people, [person]);
    await rows.put(tables.accounts, [arriving]);
  });
}

/** The keys of the rows that a copy writes into the target, and removes from the target. */
type Difference = { table: AnyTable; write: AnyRow[]; remove: AnyRow[] };

async function compare(from: Engine, to: Engine, user: string): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const table of copiedTables) {
    const [source, target] = [await readSums(from, table, user), await readSums(to, table, user)];
    const write = [...source.keys()].filter((key) => target.get(key) !== source.get(key)).map(parseKey);
    const remove = [...target.keys()].filter((key) => !source.has(key)).map(parseKey);
    if (write.length + remove.length > 0) differences.push({ table, write, remove });
  }
  return differences;
}

const parseKey = (text: string): AnyRow => JSON.parse(text) as AnyRow;

/** Returns the checksums of a person's rows, by their keys as JSON. */
async function readSums(engine: Engine, table: AnyTable, user: string): Promise<Map<string, string>> {
  const columns = [...table.key, 'sum'] as 'sum'[];
  const where = { [table.user ?? 'user']: user };
  const heads = await engine.read((rows) => rows.find(table, { where }, columns));
  return new Map(heads.map((head) => [JSON.stringify(head, table.key as string[]), (head as Summed).sum]));
}

const rowsAtOnce = 100; // rows in a transaction

async function copyRows(from: Engine, to: Engine, user: string, { table, write, remove }: Difference): Promise<void> {
  for (const keys of partsOf(write, rowsAtOnce)) {
    const found = await from.read(async (rows) => {
      const copied: AnyRow[] = [];
      for (const key of keys) copied.push(...(await rows.find(table, { where: key })));
      return copied;
    });
    await to.write(user, (rows) => rows.put(table, found));
  }
  for (const keys of partsOf(remove, rowsAtOnce)) {
    await to.write(user, async (rows) => {
      for (const key of keys) await rows.remove(table, key);
    });
  }
}

/** Runs `work` on a temporary store that contains only this user. */
export async function onCopyOf<T>(address: string, userId: string, work: (store: Store) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-')); // readable by this account only
  try {
    await copyPerson(address, folder, userId);
    const store = await openStore(folder, { make: false });
    return await work(store).finally(() => store.close());
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
