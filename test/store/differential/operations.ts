// Random operations on a store, each made the same way on every side from what that side has read: for the comparison
// of backends.
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { dataTime, type Entry, type Identity } from '../../../src/model/entry.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import type {
  EntryCursor,
  EntryPage,
  EntryQuery,
  ErrorRow,
  KeptEntry,
  Lease,
  PipelineState,
  Store,
  WaitingEntry,
} from '../../../src/store/store.ts';
import { anyData, anyEntry, anyIdentity, anyJson, anyKey, anyTime, at, entries, limit, now, user } from './values.ts';

/** One store under comparison, and what the sequence has read from it so far. */
export interface Side {
  store: Store;
  users: readonly string[];
  waiting: WaitingEntry[];
  errors: ErrorRow[];
  leases: Lease[];
  cursor: EntryCursor | undefined;
  /** Revisions and fences as they are met, so that their places can be compared instead of them. */
  met: Map<unknown, number>;
}

/** A side from which nothing was read yet. */
export function newSide(store: Store, users: readonly string[]): Side {
  return { store, users, waiting: [], errors: [], leases: [], cursor: undefined, met: new Map() };
}

/** Prints as its name and what it was given. */
export interface Operation {
  run: (side: Side) => Promise<unknown>;
  [fc.toStringMethod]: () => string;
}

/** The place at which a side met a value that stores choose for themselves. */
function place(side: Side, value: unknown): number {
  if (!side.met.has(value)) side.met.set(value, side.met.size);
  return side.met.get(value)!;
}

/** `user` as an index in what is given becomes the UUID. */
type Named<T> = Omit<T, 'u'> & { userId: string };

function operation<T extends { u: number }>(
  name: string,
  given: { [K in keyof T]: fc.Arbitrary<T[K]> },
  run: (given: Named<T>, side: Side) => unknown,
): fc.Arbitrary<Operation> {
  return (fc.record(given) as fc.Arbitrary<T>).map((values) => ({
    run: async (side) => run({ ...values, userId: side.users[values.u]! }, side),
    [fc.toStringMethod]: () => `${name} ${fc.stringify(values)}`,
  }));
}

const u = user;
const pick = <T>(list: readonly T[], index: number): T | undefined =>
  list.length === 0 ? undefined : list[index % list.length];
const identity = ({ metadata }: Entry): Identity => ({ key: metadata.key, write_ts: metadata.write_ts });
const refTo = (row: WaitingEntry) => ({ ...identity(row.entry), revision: row.revision });

/** Receipts that the store took from its own clock are the same if both are; those of the sequences are long past. */
const receipt = (ts: number) => (ts > 1_700_000_000 ? 'by the clock' : ts);
const withReceipt = <Row extends { received_ts: number }>(row: Row) => ({
  ...row,
  received_ts: receipt(row.received_ts),
});

// ---------------------------------------------------------------- people

const name = fc.nat(1);
const n = fc.nat(2);
const nameOf = (one: number, { users }: Side): string => `name ${one} of ${users[0]}`;
const hashOf = (one: number, { users }: Side): string => `${one} ${users[0]}`;

const people: fc.Arbitrary<Operation>[] = [
  operation('users.register', { u, name, now }, ({ userId, name, now }, side) =>
    side.store.users.register(nameOf(name, side), { uuid: userId, now }),
  ),
  operation('users.byUuid', { u }, ({ userId }, { store }) => store.users.byUuid(userId)),
  operation('users.byEmail', { u, name }, ({ name }, side) => side.store.users.byEmail(nameOf(name, side))),
  operation('users.list', { u, limit }, ({ userId, limit }, { store }) => store.users.list({ after: userId, limit })),
  operation('tokens.add', { u, n, now }, async ({ userId, n, now }, side) => {
    const { tokens } = side.store;
    const expires_ts = n === 0 ? null : 5;
    await tokens.add({ hash: hashOf(n, side), user_id: userId, created_ts: now, expires_ts });
    return tokens.list(userId);
  }),
  operation('tokens.byHash', { u, n }, ({ n }, side) => side.store.tokens.byHash(hashOf(n, side))),
  operation('tokens.remove', { u, n: fc.option(n) }, ({ userId, n }, side) =>
    n === null ? side.store.tokens.remove(userId) : side.store.tokens.remove(userId, hashOf(n, side)),
  ),
  operation('profiles.merge', { u, fields: anyData, defaults: anyData }, ({ userId, fields, defaults }, { store }) =>
    store.profiles.merge(userId, fields, defaults),
  ),
  operation('profiles.get', { u }, ({ userId }, { store }) => store.profiles.get(userId)),
];

// ---------------------------------------------------------------- staging

const why = { reason: fc.constantFrom('a', 'b'), message: fc.constantFrom('m', 'é\u0000') };
const anyUnusable = fc.oneof(
  fc.record({ entry: anyJson, ...why }),
  fc.record({ entry: anyEntry, ...why }).map(({ entry, ...rest }) => {
    return { entry: entry as unknown as JsonValue, identity: identity(entry), ...rest };
  }),
);

/** When entries were received first, where another store noted it. */
const received = fc.option(fc.constantFrom(50, 60), { nil: undefined, freq: 2 });

const pushing: fc.Arbitrary<Operation>[] = [
  operation(
    'usercache.put',
    {
      u,
      batch: entries(8),
      unusable: fc.array(anyUnusable, { maxLength: 2 }),
      now,
      received,
      noted: fc.option(anyData),
    },
    async ({ userId, batch, unusable, now, received, noted }, { store }) => {
      let failure: unknown = null;
      const onFailure = (error: unknown): void => {
        failure = error;
      };
      const note = noted === null ? {} : { note: { fields: noted, onFailure } };
      const received_ts = batch.map(() => received);
      const results = await store.usercache.put(userId, { entries: batch, unusable, received_ts, ...note }, now);
      return { results, failure };
    },
  ),
];

const staging: fc.Arbitrary<Operation>[] = [
  operation('usercache.read', { u, after: fc.option(anyIdentity), limit }, async ({ userId, after, limit }, side) => {
    side.waiting = await side.store.usercache.read(userId, after === null ? { limit } : { after, limit });
    return side.waiting.map(({ revision, text, ...rest }) => {
      // A store need not have the text; one that has it has that of the entry.
      if (text !== undefined) deepStrictEqual(JSON.parse(text), rest.entry);
      const { key, write_ts } = identity(rest.entry);
      return { ...withReceipt(rest), revision: place(side, JSON.stringify([userId, key, write_ts, revision])) };
    });
  }),
  operation(
    'usercache.settle what was read',
    { u, moved: fc.array(at, { maxLength: 4 }), failed: fc.array(at, { maxLength: 3 }), now },
    ({ userId, moved, failed, now }, { store, waiting }) => {
      const refs = (indexes: readonly number[]) => indexes.flatMap((i) => (waiting[i] ? [refTo(waiting[i])] : []));
      const why = { reason: 'failed', message: 'why' };
      const outcome = { moved: refs(moved), failed: refs(failed).map((one) => ({ ...one, ...why })) };
      return store.usercache.settle(userId, outcome, now);
    },
  ),
  operation('usercache.summary', { u }, ({ userId }, { store }) => store.usercache.summary(userId)),
  operation(
    'errors.list',
    {
      ...{ u, limit, key: fc.option(anyKey), reason: fc.option(fc.constantFrom('a', 'failed')) },
      after: fc.boolean(),
    },
    async ({ userId, limit, key, reason, after }, side) => {
      const last = side.errors.at(-1)?.id;
      const page = {
        limit,
        ...(key === null ? {} : { key }),
        ...(reason === null ? {} : { reason }),
        ...(after && last !== undefined ? { after: last } : {}),
      };
      side.errors = await side.store.errors.list(userId, page);
      return side.errors.map(withReceipt);
    },
  ),
  operation('errors.summary', { u }, ({ userId }, { store }) => store.errors.summary(userId)),
  operation(
    'errors.takeBack some of what was read',
    { u, back: fc.array(fc.record({ at, entry: fc.option(anyEntry) }), { maxLength: 3 }) },
    ({ userId, back }, { store, errors }) => {
      const taken = back.flatMap(({ at, entry }) => {
        const error = pick(errors, at);
        const own = error?.identity ? (error.entry as unknown as Entry) : null;
        const sent = own ?? entry;
        return error === undefined || sent === null ? [] : [{ id: error.id, entry: sent }];
      });
      return store.errors.takeBack(userId, taken);
    },
  ),
  operation(
    'errors.apply to what was read',
    { u, put: fc.array(at, { maxLength: 2 }), remove: fc.array(at, { maxLength: 2 }), tries: fc.nat(3) },
    ({ userId, put, remove, tries }, { store, errors }) => {
      const rows = put.flatMap((i) => pick(errors, i) ?? []).map((row) => ({ ...row, tries }));
      const ids = remove.flatMap((i) => pick(errors, i)?.id ?? []).filter((id) => rows.every((row) => row.id !== id));
      return store.errors.apply(userId, { put: rows, remove: ids });
    },
  ),
];

const key = anyKey;
const anyDocument = fc.record({ key, write_ts: anyTime, data: anyJson });
const documents: fc.Arbitrary<Operation>[] = [
  operation('documents.get', { u, key }, ({ userId, key }, { store }) => store.documents.get(userId, key)),
  operation('documents.list and keys', { u }, async ({ userId }, { store }) => [
    await store.documents.list(userId),
    await store.documents.keys(userId),
  ]),
];

// ---------------------------------------------------------------- reading

const anyQuery = fc.record(
  {
    time: fc.constantFrom('ts' as const, 'write_ts' as const),
    limit,
    keys: fc.array(anyKey, { maxLength: 3 }),
    from: anyTime,
    to: anyTime,
    descending: fc.boolean(),
  },
  { requiredKeys: ['time', 'limit'] },
);
const anyCursor = fc.option(fc.record({ time: anyTime, key: anyKey, write_ts: anyTime }));
const where = fc.constantFrom('usercache' as const, 'timeseries' as const);

/** Ranges that ascend and lie apart from each other. */
const anyRanges = fc.option(
  fc.uniqueArray(anyTime, { minLength: 2, maxLength: 6 }).map((times) => {
    const sorted = times.toSorted((a, b) => a - b);
    return sorted.flatMap((from, i) => (i % 2 === 0 && i + 1 < sorted.length ? [{ from, to: sorted[i + 1]! }] : []));
  }),
);

const pageAnswer = (page: EntryPage) => ({ ...page, received_ts: page.received_ts.map(receipt) });

const reading: fc.Arbitrary<Operation>[] = [
  operation(
    'find a page',
    { u, where, query: anyQuery, cursor: anyCursor, go: fc.boolean() },
    async ({ userId, where, query, cursor, go }, side) => {
      const after = go ? side.cursor : (cursor ?? undefined);
      const asked: EntryQuery = after === undefined ? query : { ...query, after };
      const page = await side.store[where].find(userId, asked);
      side.cursor = page.next ?? undefined;
      return pageAnswer(page);
    },
  ),
  operation('pick a page', { u, query: anyQuery, cursor: anyCursor, within: anyRanges }, async (asked, { store }) => {
    const { userId, query, cursor, within } = asked;
    return store.timeseries.pick(
      userId,
      { ...query, ...(cursor && { after: cursor }), ...(within && { within }) },
      { metadata: ['key', 'write_ts', 'time_zone'], data: ['ts', 'start_ts', 'more'] },
      ({ metadata: { key, write_ts, time_zone }, data: { ts, start_ts, more } }) =>
        structuredClone({ key, write_ts, time_zone, ts, start_ts, more }),
    );
  }),
  operation('timeseries.get', { u, identity: anyIdentity }, ({ userId, identity }, { store }) =>
    store.timeseries.get(userId, identity),
  ),
  operation('timeseries.summary', { u }, ({ userId }, { store }) => store.timeseries.summary(userId)),
  operation('timeseries.zonesAround', { u, ts: anyTime }, ({ userId, ts }, { store }) =>
    store.timeseries.zonesAround(userId, ts),
  ),
  operation('timeseries.zonelessSpan', { u, from: anyTime, to: anyTime }, ({ userId, from, to }, { store }) =>
    store.timeseries.zonelessSpan(userId, { from, to }),
  ),
];

// ---------------------------------------------------------------- under a lease

const leaseAnswer = (side: Side, lease: Lease) => ({
  ...lease,
  user_id: 0,
  fence: place(side, lease.fence),
  expires_ts: 0,
});
const anyLease = ({ leases }: Side, userId: string, index: number): Lease =>
  pick(leases.filter((lease) => lease.user_id === userId).reverse(), index) ?? {
    user_id: userId,
    owner: 'nobody',
    fence: 7,
    seconds: 60,
    expires_ts: 0,
  };
/** Mostly the newest lease on the user. */
const which = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1);

const link = (
  chain_ts: number,
  end: number,
  kind: 'trip' | 'dropped',
  settled: number | null,
  day: number,
): TripRecord =>
  ({
    ...{ id: `${chain_ts}`, kind, chain_ts, start_ts: chain_ts, end_ts: chain_ts + end, settled_ts: settled },
    ...{ day: `2016-05-0${day}`, trip: null, untracked: null, carry: { x: -0 } },
  }) as unknown as TripRecord;
const anyLink = fc
  .tuple(
    fc.integer({ min: 0, max: 6 }),
    fc.constantFrom(1, 2),
    fc.constantFrom('trip' as const, 'dropped' as const),
    fc.option(fc.nat(8)),
    fc.integer({ min: 1, max: 4 }),
  )
  .map((fields) => link(...fields));
const state: fc.Arbitrary<Partial<PipelineState>> = fc.record(
  {
    changed: fc.option(fc.constant({ from: 1, to: 2 })),
    documents_due: fc.boolean(),
    complete_until: fc.option(anyTime),
    last_error: fc.option(fc.constantFrom('e', 'half \udfff')),
    analysis_version: fc.constant(3),
  },
  { requiredKeys: [] },
);
const edge = fc.constantFrom(-Infinity, -Infinity, 2, 4, Infinity, Infinity);

const changing: fc.Arbitrary<Operation>[] = [
  operation(
    'timeseries.apply',
    { u, n: which, put: entries(8), remove: fc.array(anyIdentity, { maxLength: 3 }), also: fc.boolean(), received },
    ({ userId, n, put, remove, also, received }, side) => {
      const kept = put.map((entry) => ({ entry, ts: dataTime(entry.data), received_ts: received }) as KeptEntry);
      const change = {
        put: received === undefined ? put : kept,
        remove,
        alsoChanged: also ? { from: 0.5, to: 0.75 } : null,
      };
      return side.store.timeseries.apply(userId, change, anyLease(side, userId, n));
    },
  ),
  operation(
    'documents.apply',
    {
      u,
      n: which,
      put: fc.array(anyDocument, { maxLength: 3 }),
      remove: fc.array(key, { maxLength: 2 }),
      state,
      release: fc.boolean(),
    },
    ({ userId, n, put, remove, state, release }, side) =>
      side.store.documents.apply(userId, { put, remove }, anyLease(side, userId, n), { state, release }),
  ),
  operation(
    'trips.replace',
    { u, n: which, from: edge, to: edge, links: fc.array(anyLink, { maxLength: 5 }), state },
    ({ userId, n, from, to, links, state }, side) => {
      const inside = links.filter((one, i) => {
        const first = links.findIndex(({ chain_ts }) => chain_ts === one.chain_ts) === i;
        return first && one.chain_ts >= from && one.chain_ts < to;
      });
      return side.store.trips.replace(userId, { from, to }, inside, state, anyLease(side, userId, n));
    },
  ),
];

const working: fc.Arbitrary<Operation>[] = [
  operation('leases.acquire', { u, owner: fc.constantFrom('a', '$b') }, async ({ userId, owner }, side) => {
    const result = await side.store.leases.acquire(userId, owner, 600);
    if ('heldBy' in result) return { heldBy: leaseAnswer(side, result.heldBy) };
    side.leases.push(result.lease);
    return { lease: leaseAnswer(side, result.lease) };
  }),
  operation('leases.renew', { u, n: which }, async ({ userId, n }, side) =>
    leaseAnswer(side, await side.store.leases.renew(anyLease(side, userId, n), 600)),
  ),
  operation('leases.release', { u, n: which }, ({ userId, n }, side) =>
    side.store.leases.release(anyLease(side, userId, n)),
  ),
  operation('leases.get', { u }, async ({ userId }, side) => {
    const lease = await side.store.leases.get(userId);
    return lease && leaseAnswer(side, lease);
  }),
  operation('pipeline.merge', { u, n: which, state }, ({ userId, n, state }, side) =>
    side.store.pipeline.merge(userId, state, anyLease(side, userId, n)),
  ),
  operation('pipeline.get', { u }, ({ userId }, { store }) => store.pipeline.get(userId)),
  operation('pipeline.withWork', { u }, async (_, { store, users }) => {
    const found = await store.pipeline.withWork(users, 4e9);
    return users.map((one) => found.has(one));
  }),
  operation('trips.chain', { u, from: edge, to: edge, limit }, ({ userId, from, to, limit }, { store }) =>
    store.trips.chain(userId, { from, to, limit }),
  ),
  operation('trips, the other reads', { u, ts: fc.nat(9) }, async ({ userId, ts }, { store }) => [
    await store.trips.lastSettledBefore(userId, ts),
    await store.trips.next(userId, ts),
    await store.trips.summary(userId),
    await store.trips.byDay(userId, { from: '2016-05-02', to: '2016-05-03' }),
  ]),
  operation('counts', { u }, ({ userId }, { store }) => store.counts(userId)),
];

const erasing = [
  operation('erase', { u }, async ({ userId }, { store }) => {
    await store.erase(userId);
    await store.users.admit(userId);
  }),
];

// ---------------------------------------------------------------- sequences

/** Operations that make use of what they have just read, so that sequences get far. */
const chained: fc.Arbitrary<Operation>[] = [
  operation(
    'read and settle',
    { u, choice: fc.array(fc.nat(2), { maxLength: 8 }), now },
    async ({ userId, choice, now }, { store }) => {
      const rows = await store.usercache.read(userId, { limit: 8 });
      const chosen = (kind: number) => rows.filter((_, i) => choice[i] === kind).map(refTo);
      const failed = chosen(1).map((ref) => ({ ...ref, reason: 'failed', message: `at ${now}` }));
      return store.usercache.settle(userId, { moved: chosen(0), failed }, now);
    },
  ),
  operation('list errors and take them back', { u, limit }, async ({ userId, limit }, side) => {
    side.errors = await side.store.errors.list(userId, { limit });
    const own = side.errors.filter((error) => error.identity !== null);
    const back = own.map(({ id, entry }) => ({ id, entry: entry as unknown as Entry }));
    return [side.errors.map(withReceipt), await side.store.errors.takeBack(userId, back)];
  }),
  operation('find all pages', { u, where, query: anyQuery }, async ({ userId, where, query }, { store }) => {
    const pages: unknown[] = [];
    let after: EntryCursor | null | undefined;
    do {
      const page = await store[where].find(userId, after ? { ...query, after } : query);
      pages.push(pageAnswer(page));
      after = page.next;
    } while (after !== null);
    return pages;
  }),
];

const weighed = (list: fc.Arbitrary<Operation>[], weight: number) => ({ arbitrary: fc.oneof(...list), weight });

/** A sequence of operations on two users. */
export const anySequence = fc.array(
  fc.oneof(
    weighed(pushing, 6),
    weighed(changing, 7),
    weighed(chained, 6),
    weighed(staging, 4),
    weighed(reading, 5),
    weighed(working, 4),
    weighed(documents, 1),
    weighed(people, 2),
    weighed(erasing, 1),
  ),
  { minLength: 10, maxLength: 30, size: 'max' },
);
