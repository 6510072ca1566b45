import { newUuid } from '../../model/ids.ts';
import { clockSlack, derivedDays } from '../../model/pipeline-state.ts';
import { leaseLost, notAdmitted } from '../../model/store-errors.ts';
import type { Engine, Rows, WritableRows } from '../rows/rows.ts';
import { objectIn } from '../rows/sums.ts';
import { type AccountRow, accounts, batches } from '../rows/tables.ts';
import { initialPipelineState, type Lease, type Leases, type PipelineState, type PipelineStates } from '../store.ts';

export function newAccount(user: string, now: number, stage: AccountRow['stage'] = 'active'): AccountRow {
  return {
    user,
    registered_ts: now,
    audit_key: newUuid(),
    stage,
    fence: 0,
    owner: null,
    expires_ts: 0,
    seconds: 0,
    due: 0,
    version: null,
    zoned: 0,
    zoneless: 0,
    sent: 0,
    state: '{}',
  };
}

export async function accountOf(rows: Rows, user: string): Promise<AccountRow | null> {
  return (await rows.find(accounts, { where: { user } }))[0] ?? null;
}

/** Runs `work` in one transaction, and rejects if the user is not admitted. */
export function writeAdmitted<T>(
  engine: Engine,
  user: string,
  work: (rows: WritableRows, account: AccountRow) => Promise<T>,
): Promise<T> {
  return engine.write(user, async (rows) => {
    const account = await accountOf(rows, user);
    if (account?.stage !== 'active') throw notAdmitted();
    return work(rows, account);
  });
}

/** Throws if `lease` was lost. An expired lease is valid until another owner acquires a lease. */
export async function underLease(rows: Rows, user: string, lease: Lease): Promise<AccountRow> {
  const account = await accountOf(rows, user);
  const found = account && leaseIn(account);
  const isSame = found?.fence === lease.fence && found.owner === lease.owner && lease.user_id === user;
  if (account === null || account.stage !== 'active' || !isSame) throw leaseLost(user, lease, found);
  return account;
}

/** Returns the last lease on the user, even if it has expired; null: none, or it was released. */
export function leaseIn({ user, owner, fence, expires_ts, seconds }: AccountRow): Lease | null {
  return owner === null ? null : { user_id: user, owner, fence, expires_ts, seconds };
}

export function stateIn(account: Pick<AccountRow, 'user' | 'state'> | null): PipelineState {
  const stored = account && objectIn<AccountRow, Partial<PipelineState>>(accounts, account, 'state');
  return { ...initialPipelineState, ...stored };
}

export function withState(account: AccountRow, fields: Partial<PipelineState>): AccountRow {
  const state: PipelineState = { ...stateIn(account), ...fields };
  const due = state.changed !== null || state.documents_due ? 1 : 0;
  return { ...account, due, version: state.analysis_version, state: JSON.stringify(state) };
}

export async function putAccount(rows: WritableRows, before: AccountRow, after: AccountRow): Promise<void> {
  if (JSON.stringify(before) !== JSON.stringify(after)) await rows.put(accounts, [after]);
}

export function pipelineStates(engine: Engine): PipelineStates {
  return {
    get: (userId) => engine.read(async (rows) => stateIn(await accountOf(rows, userId))),
    of: async (userIds) => {
      const where = { user: { in: userIds } };
      const found = await engine.read((rows) => rows.find(accounts, { where }, ['user', 'state']));
      return new Map(found.map((row) => [row.user, stateIn(row)]));
    },
    merge: (userId, fields, lease) =>
      engine.write(userId, async (rows) => {
        const account = await underLease(rows, userId, lease);
        await putAccount(rows, account, withState(account, fields));
      }),
    withWork: async (userIds, at, version) => {
      // Reads pending entries first: if a run moves them meanwhile, the second read finds a dirty range.
      const waits = { user: { in: userIds }, due_ts: { lte: at } };
      const pending = await engine.read((rows) => rows.find(batches, { where: waits }, ['user']));
      const found = new Set(pending.map(({ user }) => user));
      const where = { user: { in: userIds.filter((user) => !found.has(user)) } };
      if (where.user.in.length === 0) return found;
      const others = await engine.read((rows) => rows.find(accounts, { where }, ['user', 'due', 'version']));
      const isOutdated = (other: string | null): boolean =>
        version !== undefined && other !== null && other !== version;
      for (const { user, due, version: other } of others) if (due === 1 || isOutdated(other)) found.add(user);
      return found;
    },
    outdated: async (version, userId) => {
      const sum = { people: 0, days: 0 };
      for (const other of [{ lt: version }, { gt: version }]) {
        for (let after = ''; ; ) {
          const where = { user: userId ?? { gt: after }, version: other };
          const query = { where, order: ['user'], limit: statesAtOnce } as const;
          const found = await engine.read((rows) => rows.find(accounts, query, ['user', 'state']));
          sum.people += found.length;
          for (const row of found) sum.days += derivedDays(stateIn(row));
          if (found.length < statesAtOnce) break;
          after = found.at(-1)!.user;
        }
      }
      return sum;
    },
  };
}

const statesAtOnce = 1000; // pipeline states that one statement reads

/**
 * True if the lease ended before `at`. Also true if it ends more than its `seconds` after `at`:
 * then the clock was ahead when the lease was acquired, and the real end is unknown.
 */
function isExpired({ expires_ts, seconds }: Lease, at: number): boolean {
  return expires_ts <= at || expires_ts > at + seconds + clockSlack;
}

export function leases(engine: Engine): Leases {
  return {
    acquire: async (userId, owner, seconds) => {
      const at = await engine.now();
      return writeAdmitted(engine, userId, async (rows, account) => {
        const held = leaseIn(account);
        if (held !== null && held.owner !== owner && !isExpired(held, at)) return { heldBy: held };
        const leased = { ...account, owner, fence: account.fence + 1, expires_ts: at + seconds, seconds };
        await rows.put(accounts, [leased]);
        return { lease: leaseIn(leased)!, state: stateIn(leased) };
      });
    },
    renew: async (lease, seconds) => {
      const at = await engine.now();
      return engine.write(lease.user_id, async (rows) => {
        const account = await underLease(rows, lease.user_id, lease);
        const renewed = { ...account, expires_ts: at + seconds, seconds };
        await rows.put(accounts, [renewed]);
        return leaseIn(renewed)!;
      });
    },
    release: (lease) =>
      engine.write(lease.user_id, async (rows) => {
        const account = await accountOf(rows, lease.user_id);
        if (account?.owner === lease.owner && account.fence === lease.fence)
          await rows.put(accounts, [released(account)]);
      }),
    get: async (userId) => {
      const at = await engine.now();
      const account = await engine.read((rows) => accountOf(rows, userId));
      const lease = account && leaseIn(account);
      return lease !== null && !isExpired(lease, at) ? lease : null;
    },
  };
}

/** Ends the lease. Keeps the fence, so that its number is never used again. */
export function released(account: AccountRow): AccountRow {
  return { ...account, owner: null, expires_ts: 0, seconds: 0 };
}
