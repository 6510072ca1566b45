// The embedded store and MongoDB, driven with the same random sequences of operations: every answer must be the same.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, it, vi } from 'vitest';
import type { Entry, Identity } from '../../src/model/entry.ts';
import { isMobilityError } from '../../src/model/errors.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type {
  EntryCursor,
  EntryQuery,
  ErrorRow,
  Lease,
  PipelineState,
  Store,
  WaitingEntry,
} from '../../src/store/store.ts';
import type { Opened } from './contract.ts';
import { describeOnServers, openOn } from './servers.ts';

const thorough = process.env.MOBILITY_REQUIRE_SERVERS === '1';
/** Sequences on a replica set; a quarter of that on a standalone server. */
const sequences = Number(process.env.MOBILITY_DIFFERENTIAL_RUNS ?? (thorough ? 1_000 : 25));

vi.setConfig({ testTimeout: 3_600_000, hookTimeout: 120_000 });

/** One store under comparison, and what the sequence has read from it so far. */
interface Side {
  store: Store;
  users: readonly string[];
  waiting: WaitingEntry[];
  errors: ErrorRow[];
  leases: Lease[];
  cursor: EntryCursor | undefined;
  /** Revisions and fences as they are met, so that their places can be compared instead of them. */
  met: Map<unknown, number>;
}

/** An operation: made the same way on each side, from what that side has read. */
type Operation = (side: Side) => Promise<unknown>;

const place = (side: Side, value: unknown): number => {
  if (!side.met.has(value)) side.met.set(value, side.met.size);
  return side.met.get(value)!;
};

async function answer(side: Side, operation: Operation): Promise<unknown> {
  try {
    return await operation(side);
  } catch (error) {
    if (isMobilityError(error)) return { refused: error.code };
    if (error instanceof TypeError) return { refused: 'TypeError' };
    throw error;
  }
}

const pick = <T>(list: readonly T[], at: number): T | undefined =>
  list.length === 0 ? undefined : list[at % list.length];

// ---------------------------------------------------------------- values

const keys = ['background/location', 'manual/incident', 'background/battery', 'statemachine/transition', 'a.b/$c'];
const anyKey = fc.constantFrom(...keys);
const anyTime = fc.constantFrom(0, 1, 1.5, 2, 1463501234.123456);
const anyJson: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(
  null,
  -0,
  'text',
  'half \ud800',
  { 'a.b': 1 },
  { $x: [-0, { '': null }] },
  JSON.parse('{"__proto__":{"x":1}}'),
  [1.5, 2 ** 40, 1e300],
  { b: 1, a: { 10: 'x', 2: 'y' } },
);
const anyData: fc.Arbitrary<JsonObject> = fc
  .record({ ts: anyTime, start_ts: anyTime, more: anyJson }, { requiredKeys: [] })
  .map((data) => ({ ...data }) as JsonObject);
const anyZone = fc.constantFrom('Europe/Berlin', 'America/Lima', 'Nowhere/Land', undefined);
const anyEntry: fc.Arbitrary<Entry> = fc.record({ key: anyKey, write_ts: anyTime, zone: anyZone, data: anyData }).map(
  ({ key, write_ts, zone, data }): Entry => ({
    metadata: { key, write_ts, ...(zone === undefined ? {} : { time_zone: zone }) },
    data,
  }),
);
const entries = (most: number): fc.Arbitrary<Entry[]> =>
  fc.array(anyEntry, { minLength: 2, maxLength: most, size: 'max' });
const anyIdentity: fc.Arbitrary<Identity> = fc.record({ key: anyKey, write_ts: anyTime });
/** Mostly the first of two, so that much meets. */
const user = fc.constantFrom(0, 0, 0, 0, 1);
const at = fc.nat(9);
const now = fc.integer({ min: 100, max: 120 });
const limit = fc.integer({ min: 1, max: 6 });

// ---------------------------------------------------------------- operations

const people: fc.Arbitrary<Operation>[] = [
  fc.record({ u: user, name: fc.nat(1), now }).map(({ u, name, now }) => ({ store, users }) => {
    return store.users.register(`name ${name} of ${users[0]}`, { uuid: users[u]!, now });
  }),
  user.map(
    (u) =>
      ({ store, users }) =>
        store.users.byUuid(users[u]!),
  ),
  fc.nat(1).map(
    (name) =>
      ({ store, users }) =>
        store.users.byEmail(`name ${name} of ${users[0]}`),
  ),
  fc.record({ u: user, limit }).map(
    ({ u, limit }) =>
      ({ store, users }) =>
        store.users.list({ after: users[u]!, limit }),
  ),
  fc.record({ u: user, n: fc.nat(2), now }).map(({ u, n, now }) => async ({ store, users }) => {
    await store.tokens.add({
      hash: `${n} ${users[0]}`,
      user_id: users[u]!,
      created_ts: now,
      expires_ts: n === 0 ? null : 5,
    });
    return store.tokens.list(users[u]!);
  }),
  fc.nat(2).map(
    (n) =>
      ({ store, users }) =>
        store.tokens.byHash(`${n} ${users[0]}`),
  ),
  fc.record({ u: user, n: fc.option(fc.nat(2)) }).map(({ u, n }) => ({ store, users }) => {
    return n === null ? store.tokens.remove(users[u]!) : store.tokens.remove(users[u]!, `${n} ${users[0]}`);
  }),
  fc.record({ u: user, fields: anyData, defaults: anyData }).map(({ u, fields, defaults }) => ({ store, users }) => {
    return store.profiles.merge(users[u]!, fields, defaults);
  }),
  user.map(
    (u) =>
      ({ store, users }) =>
        store.profiles.get(users[u]!),
  ),
];

const anyUnusable = fc.record({
  entry: anyJson,
  reason: fc.constantFrom('a', 'b'),
  message: fc.constantFrom('m', 'é\u0000'),
});

const pushing: fc.Arbitrary<Operation>[] = [
  fc
    .record({ u: user, batch: entries(8), unusable: fc.array(anyUnusable, { maxLength: 2 }), now })
    .map(({ u, batch, unusable, now }) => ({ store, users }) => {
      return store.usercache.put(users[u]!, { entries: batch, unusable }, now);
    }),
];

const staging: fc.Arbitrary<Operation>[] = [
  fc.record({ u: user, after: fc.option(anyIdentity), limit }).map(({ u, after, limit }) => async (side) => {
    side.waiting = await side.store.usercache.read(side.users[u]!, after === null ? { limit } : { after, limit });
    return side.waiting.map(({ revision, ...rest }) => ({ ...rest, revision: place(side, revision) }));
  }),
  fc
    .record({ u: user, moved: fc.array(at, { maxLength: 4 }), failed: fc.array(at, { maxLength: 3 }), now })
    .map(({ u, moved, failed, now }) => ({ store, users, waiting }) => {
      const ref = (i: number) => {
        const row = waiting[i];
        return row === undefined ? [] : [{ ...identity(row.entry), revision: row.revision }];
      };
      const outcome = {
        moved: moved.flatMap(ref),
        failed: failed.flatMap(ref).map((one) => ({ ...one, reason: 'failed', message: 'why' })),
      };
      return store.usercache.settle(users[u]!, outcome, now);
    }),
  user.map(
    (u) =>
      ({ store, users }) =>
        store.usercache.summary(users[u]!),
  ),
  fc
    .record({ u: user, limit, key: fc.option(anyKey), after: fc.boolean() })
    .map(({ u, limit, key, after }) => async (side) => {
      const last = side.errors.at(-1)?.id;
      const page = { limit, ...(key === null ? {} : { key }), ...(after && last !== undefined ? { after: last } : {}) };
      side.errors = await side.store.errors.list(side.users[u]!, page);
      return side.errors;
    }),
  user.map((u) => async ({ store, users }) => {
    const rows = await store.errors.summary(users[u]!);
    return rows.map((row) => JSON.stringify(row)).sort();
  }),
  fc
    .record({ u: user, back: fc.array(fc.record({ at, entry: fc.option(anyEntry) }), { maxLength: 3 }) })
    .map(({ u, back }) => ({ store, users, errors }) => {
      const taken = back.flatMap(({ at, entry }) => {
        const error = pick(errors, at);
        const own = error?.identity ? (error.entry as unknown as Entry) : null;
        const sent = own ?? entry;
        return error === undefined || sent === null ? [] : [{ id: error.id, entry: sent }];
      });
      return store.errors.takeBack(users[u]!, taken);
    }),
  fc
    .record({ u: user, put: fc.array(at, { maxLength: 2 }), remove: fc.array(at, { maxLength: 2 }), tries: fc.nat(3) })
    .map(({ u, put, remove, tries }) => ({ store, users, errors }) => {
      const rows = put.flatMap((i) => pick(errors, i) ?? []).map((row) => ({ ...row, tries }));
      const ids = remove.flatMap((i) => pick(errors, i)?.id ?? []).filter((id) => rows.every((row) => row.id !== id));
      return store.errors.apply(users[u]!, { put: rows, remove: ids });
    }),
];

const identity = ({ metadata }: Entry): Identity => ({ key: metadata.key, write_ts: metadata.write_ts });

const documents: fc.Arbitrary<Operation>[] = [
  fc
    .record({ u: user, key: anyKey, write_ts: anyTime, data: anyJson })
    .map(({ u, ...document }) => ({ store, users }) => {
      return store.documents.put(users[u]!, document);
    }),
  fc.record({ u: user, key: anyKey }).map(
    ({ u, key }) =>
      ({ store, users }) =>
        store.documents.get(users[u]!, key),
  ),
  fc.record({ u: user, key: anyKey }).map(
    ({ u, key }) =>
      ({ store, users }) =>
        store.documents.remove(users[u]!, key),
  ),
  user.map((u) => async ({ store, users }) => [
    await store.documents.list(users[u]!),
    await store.documents.keys(users[u]!),
  ]),
];

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

const reading: fc.Arbitrary<Operation>[] = [
  fc
    .record({
      u: user,
      where: fc.constantFrom('usercache' as const, 'timeseries' as const),
      query: anyQuery,
      cursor: anyCursor,
      go: fc.boolean(),
    })
    .map(({ u, where, query, cursor, go }) => async (side) => {
      const after = go ? side.cursor : (cursor ?? undefined);
      const asked: EntryQuery = after === undefined ? query : { ...query, after };
      const page = await side.store[where].find(side.users[u]!, asked);
      side.cursor = page.next ?? undefined;
      return page;
    }),
  fc.record({ u: user, identity: anyIdentity }).map(({ u, identity }) => ({ store, users }) => {
    return store.timeseries.get(users[u]!, identity);
  }),
  user.map((u) => async ({ store, users }) => {
    const rows = await store.timeseries.summary(users[u]!);
    return rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  }),
  fc.record({ u: user, ts: anyTime }).map(
    ({ u, ts }) =>
      ({ store, users }) =>
        store.timeseries.zonesAround(users[u]!, ts),
  ),
  fc.record({ u: user, from: anyTime, to: anyTime }).map(({ u, ...written }) => ({ store, users }) => {
    return store.timeseries.zonelessSpan(users[u]!, written);
  }),
];

const leaseAnswer = (side: Side, lease: Lease) => ({
  ...lease,
  user_id: 0,
  fence: place(side, lease.fence),
  expires_ts: 0,
});
const anyLease = ({ leases, users }: Side, u: number, n: number): Lease =>
  pick(leases.filter((lease) => lease.user_id === users[u]).reverse(), n) ?? {
    user_id: users[u]!,
    owner: 'nobody',
    fence: 7,
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
const anyState: fc.Arbitrary<Partial<PipelineState>> = fc.record(
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
  fc
    .record({ u: user, n: which, put: entries(8), remove: fc.array(anyIdentity, { maxLength: 3 }), also: fc.boolean() })
    .map(({ u, n, put, remove, also }) => (side) => {
      const change = { put, remove, alsoChanged: also ? { from: 0.5, to: 0.75 } : null };
      return side.store.timeseries.apply(side.users[u]!, change, anyLease(side, u, n));
    }),
  fc
    .record({ u: user, n: which, from: edge, to: edge, links: fc.array(anyLink, { maxLength: 5 }), state: anyState })
    .map(({ u, n, from, to, links, state }) => (side) => {
      const inside = links.filter((one, i) => {
        const first = links.findIndex(({ chain_ts }) => chain_ts === one.chain_ts) === i;
        return first && one.chain_ts >= from && one.chain_ts < to;
      });
      return side.store.trips.replace(side.users[u]!, { from, to }, inside, state, anyLease(side, u, n));
    }),
];

const working: fc.Arbitrary<Operation>[] = [
  fc.record({ u: user, owner: fc.constantFrom('a', '$b') }).map(({ u, owner }) => async (side) => {
    const result = await side.store.leases.acquire(side.users[u]!, owner, 600);
    if ('heldBy' in result) return { heldBy: leaseAnswer(side, result.heldBy) };
    side.leases.push(result.lease);
    return { lease: leaseAnswer(side, result.lease) };
  }),
  fc.record({ u: user, n: which }).map(({ u, n }) => async (side) => {
    return leaseAnswer(side, await side.store.leases.renew(anyLease(side, u, n), 600));
  }),
  fc.record({ u: user, n: which }).map(
    ({ u, n }) =>
      (side) =>
        side.store.leases.release(anyLease(side, u, n)),
  ),
  user.map((u) => async (side) => {
    const lease = await side.store.leases.get(side.users[u]!);
    return lease && leaseAnswer(side, lease);
  }),
  fc.record({ u: user, n: which, state: anyState }).map(({ u, n, state }) => (side) => {
    return side.store.pipeline.merge(side.users[u]!, state, anyLease(side, u, n));
  }),
  user.map(
    (u) =>
      ({ store, users }) =>
        store.pipeline.get(users[u]!),
  ),
  fc.constant<Operation>(async ({ store, users }) => {
    const found = await store.pipeline.withWork(users);
    return users.map((one) => found.has(one));
  }),
  fc.record({ u: user, from: edge, to: edge, limit }).map(({ u, ...range }) => ({ store, users }) => {
    return store.trips.chain(users[u]!, range);
  }),
  fc.record({ u: user, ts: fc.nat(9) }).map(({ u, ts }) => async ({ store, users }) => [
    await store.trips.lastSettledBefore(users[u]!, ts),
    await store.trips.next(users[u]!, ts),
    await store.trips.summary(users[u]!),
    await store.trips.byDay(users[u]!, { from: '2016-05-02', to: '2016-05-03' }),
  ]),
  user.map(
    (u) =>
      ({ store, users }) =>
        store.counts(users[u]!),
  ),
];

const erasing = user.map<Operation>(
  (u) =>
    ({ store, users }) =>
      store.erase(users[u]!),
);

/** Operations that make use of what they have just read, so that sequences get far. */
const chained: fc.Arbitrary<Operation>[] = [
  fc
    .record({ u: user, choice: fc.array(fc.nat(2), { maxLength: 8 }), now })
    .map(({ u, choice, now }) => async (side) => {
      const rows = await side.store.usercache.read(side.users[u]!, { limit: 8 });
      const chosen = (n: number) => rows.filter((_, i) => choice[i] === n);
      const moved = chosen(0).map((row) => ({ ...identity(row.entry), revision: row.revision }));
      const failed = chosen(1).map((row) => {
        return { ...identity(row.entry), revision: row.revision, reason: 'failed', message: `at ${now}` };
      });
      return side.store.usercache.settle(side.users[u]!, { moved, failed }, now);
    }),
  fc.record({ u: user, limit }).map(({ u, limit }) => async (side) => {
    side.errors = await side.store.errors.list(side.users[u]!, { limit });
    const own = side.errors.filter((error) => error.identity !== null);
    const back = own.map(({ id, entry }) => ({ id, entry: entry as unknown as Entry }));
    return [side.errors, await side.store.errors.takeBack(side.users[u]!, back)];
  }),
  fc.record({ u: user, query: anyQuery }).map(({ u, query }) => async ({ store, users }) => {
    const pages: unknown[] = [];
    let after: EntryCursor | null | undefined;
    do {
      const page = await store.timeseries.find(users[u]!, after ? { ...query, after } : query);
      pages.push(page);
      after = page.next;
    } while (after !== null);
    return pages;
  }),
];

const named = <T>(list: fc.Arbitrary<T>[], weight: number) => ({ arbitrary: fc.oneof(...list), weight });
const anySequence = fc.array(
  fc.oneof(
    named(pushing, 6),
    named(changing, 7),
    named(chained, 6),
    named(staging, 4),
    named(reading, 5),
    named(working, 4),
    named(documents, 1),
    named(people, 2),
    named([erasing], 1),
  ),
  { minLength: 10, maxLength: 30, size: 'max' },
);

describeOnServers('embedded store and MongoDB', (server, mode) => {
  const numRuns = mode === 'standalone' ? Math.ceil(sequences / 4) : sequences;
  let folder: string;
  let embedded: Store;
  let opened: Opened;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mobility-differential-'));
    embedded = await openSqliteStore({ folder });
    opened = await openOn(server());
  });
  afterAll(async () => {
    await embedded?.close();
    await opened?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  it(`give the same answers in ${numRuns} random sequences of operations`, async () => {
    const newSide = (store: Store, users: readonly string[]): Side => {
      return { store, users, waiting: [], errors: [], leases: [], cursor: undefined, met: new Map() };
    };
    await fc.assert(
      fc.asyncProperty(anySequence, async (operations) => {
        const users = [randomUUID(), randomUUID()].sort();
        const [one, other] = [newSide(embedded, users), newSide(opened.store, users)];
        for (const side of [one, other]) {
          for (const userId of users) {
            const result = await side.store.leases.acquire(userId, 'a', 600);
            if ('lease' in result) side.leases.push(result.lease);
          }
        }
        for (const operation of operations) {
          const expected = await answer(one, operation);
          deepStrictEqual(await answer(other, operation), expected);
        }
      }),
      { numRuns, endOnFailure: process.env.MOBILITY_DIFFERENTIAL_SHRINK !== '1' },
    );
  });
});
