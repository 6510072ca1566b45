// Random sequences of calls on two stores that share their data, compared with plain maps after each of them.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dataTime, type Entry, identityOf } from '../../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import type { EntryQuery, Store, UnusableEntry } from '../../../src/store/store.ts';
import { expectedOf } from '../../store/contract/find.ts';
import {
  findAll,
  findRows,
  newPerson,
  numbers,
  type Person,
  rejects,
  same,
  storeWithUser,
} from '../../store/contract/kit.ts';
import { share } from '../../support/sample.ts';
import { countRejected, openStoreIn } from '../../support/store.ts';
import { around, isAhead, isSame, judge, Model, nameOf } from './model.ts';

const numRuns = Number(process.env.MOBILITY_MODEL_RUNS ?? share(25));

// ---------------------------------------------------------------- values

const day = 86_400;
const keys = ['background/location', 'background/battery', 'manual/incident', 'statemachine/transition'];
/** Around the borders of days, where many meet; and far from everything. */
const anyTime = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .tuple(fc.nat(4), fc.constantFrom(-0.001, 0, 0.5, 1, 7, 3_600))
      .map(([days, seconds]) => days * day + seconds),
  },
  fc.constantFrom(-5, 1e-7, 2 ** 53, -(2 ** 53), 1_463_400_000.123_456, 1.7e308),
);
const anyEntry: fc.Arbitrary<Entry> = fc
  .record({
    key: fc.constantFrom(...keys),
    write_ts: anyTime,
    n: fc.nat(9),
    ts: fc.oneof(fc.constant('same'), anyTime, fc.constantFrom(-100 * day, 100 * day), fc.constant(null)),
    zone: fc.oneof(fc.constant(undefined), fc.constantFrom('Europe/Berlin', 'Asia/Tokyo', 'Nowhere/Land')),
  })
  .map(({ key, write_ts, n, ts, zone }) => {
    const data: JsonObject = { n, ...(ts !== null && { ts: ts === 'same' ? write_ts : ts }) };
    return { metadata: { key, write_ts, ...(zone !== undefined && { time_zone: zone }) }, data };
  });
/** Many that follow each other: more than a row holds. */
const many = fc
  .record({ from: fc.nat(3), count: fc.constantFrom(700, 2_100), n: fc.nat(9), step: fc.constantFrom(1, 37) })
  .map(({ from, count, n, step }) =>
    numbers(0, count).map((i): Entry => {
      const write_ts = from * 1_000 + i * step;
      return { metadata: { key: keys[0]!, write_ts }, data: { n: n + (i % 2), ts: write_ts } };
    }),
  );
const someEntries = fc.oneof({ weight: 12, arbitrary: fc.array(anyEntry, { maxLength: 25, size: 'max' }) }, many);
const anyUnusable: fc.Arbitrary<UnusableEntry> = fc
  .record({ entry: anyEntry, isValid: fc.boolean(), n: fc.nat(2) })
  .map(({ entry, isValid, n }) => {
    const value = entry as unknown as JsonValue;
    const reasons = { reason: 'r', message: `unusable` };
    return isValid ? { entry: value, identity: identityOf(entry), ...reasons } : { entry: { n }, ...reasons };
  });

// ---------------------------------------------------------------- steps

interface Sides {
  store: Store;
  user: Person;
  model: Model;
  now: number;
}
type Step = { run: (sides: Sides) => Promise<void>; [fc.toStringMethod]: () => string };

function step<T>(name: string, given: fc.Arbitrary<T>, run: (given: T, sides: Sides) => Promise<void>) {
  return given.map((value): Step => {
    return { run: (sides) => run(value, sides), [fc.toStringMethod]: () => `${name} ${fc.stringify(value)}` };
  });
}

const putting = fc.record({
  entries: someEntries,
  unusable: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(anyUnusable, { maxLength: 3 })),
  received: fc.option(fc.constantFrom(-7, 5 * day), { nil: undefined, freq: 5 }),
});
const put = step('put', putting, async ({ entries, unusable, received }, { store, user, model, now }) => {
  const batch = { entries, unusable, received_ts: entries.map(() => received) };
  same((await store.usercache.put(user.id, batch, now)).results, model.put(batch, now));
});

const moving = fc.record({ ahead: fc.constantFrom(0, 0, 2 * day, 1e308), limit: fc.constantFrom(1, 30, 5_000) });
const move = step('move', moving, async ({ ahead, limit }, { user, model, now }) => {
  const at = now + ahead;
  const zonesBefore = model.zones();
  const expected = model.move(at);
  const { moved, failed, more, dirty: marked, ...counts } = await user.moveAll(judge, { at, limit });
  const names = (list: { key: string; write_ts: number }[]): string[] => list.map(nameOf).sort();
  const { moved: gone, failed: refused, dirty: marks, ...numbers } = expected;
  const done = { moved: names(moved), failed: names(failed), ...counts, more };
  same(done, { moved: gone.sort(), failed: refused.sort(), ...numbers, more: false });
  expect(marked.documents).toBe(marks.documents);
  // What another zone may change has to be marked as well; more than that only then.
  let [least, isRezoned] = [marks.changed, false];
  for (const [name, { around: zones, ts }] of model.zones()) {
    const before = zonesBefore.get(name);
    if (before === undefined || JSON.stringify(before.around) === JSON.stringify(zones)) continue;
    isRezoned = true;
    if (ts !== null) least = around(least, { from: ts, to: ts });
  }
  if (isRezoned) same(around(marked.changed, least), marked.changed);
  else if (marked.changed !== null && marks.changed !== null)
    same(around(marked.changed, marks.changed), marked.changed);
  else if (marks.changed !== null) same(marked.changed, marks.changed);
  model.changed = around(model.changed, marked.changed);
  model.due ||= marked.documents;
});

const recover = step(
  'take back',
  fc.record({ every: fc.constantFrom(1, 2, 3), other: anyEntry }),
  async ({ every, other }, { store, user, model }) => {
    const errors = (await user.errors()).filter((_, i) => i % every === 0);
    const back = errors.map((error, i) => {
      const { entry, identity } = error;
      const repaired = { ...other, metadata: { ...other.metadata, write_ts: other.metadata.write_ts + (i % 2) } };
      return { ...error, entry: identity === null ? repaired : (entry as unknown as Entry) };
    });
    expect(await store.errors.recover(user.id, back)).toBe(model.recover(back));
  },
);

const marksTaken = step('marks taken', fc.constant(null), async (_, { user, model }) => {
  await user.mergeState({ changed: null, documents_due: false });
  [model.changed, model.due] = [null, false];
});

const someKeys = fc.array(fc.constantFrom('a', 'b', 'é'), { maxLength: 4 });
const documents = step(
  'documents',
  fc.tuple(someKeys, someKeys),
  async ([added, remove], { store, user, model, now }) => {
    const put = added.map((key, i) => ({ key, write_ts: now + i, data: { i } }));
    const removed = [...new Set(remove)].filter((key) => model.documents.delete(key)).length;
    const results = put.map((one) => {
      const before = model.documents.get(one.key);
      if (isSame(before?.data, one.data)) return 'unchanged';
      model.documents.set(one.key, one);
      return before === undefined ? 'inserted' : 'updated';
    });
    const applied = await user.leased((lease) => store.documents.apply(user.id, { put, remove }, lease));
    same(applied, { results, removed } as never);
  },
);

const chain = fc.record({ at: fc.uniqueArray(fc.nat(17)), remove: fc.uniqueArray(fc.nat(17)), n: fc.nat(1) });
const applyTrips = step('trips', chain, async ({ at, remove, n }, { store, user, model }) => {
  const put = at.map((chain_ts) => {
    const kind = chain_ts % 3 === 0 ? 'dropped' : 'trip';
    const times = { chain_ts, start_ts: chain_ts, end_ts: chain_ts + 1, settled_ts: chain_ts % 4 ? chain_ts : null };
    return { id: `${n}`, kind, trip: null, day: `2016-05-1${chain_ts % 10}`, ...times } as unknown as TripRecord;
  });
  await user.leased((lease) => store.trips.apply(user.id, { put, remove }, {}, lease));
  for (const chain_ts of remove) model.trips.delete(chain_ts);
  for (const record of put) model.trips.set(record.chain_ts, record);
});

const leaseLost = step('lease lost', fc.constant(null), async (_, { store, user, now }) => {
  const lost = await user.lease();
  await user.leased(async (lease) => {
    expect(lease.fence).toBeGreaterThan(lost.fence);
    await rejects(store.usercache.move(user.id, { at: now, limit: 9 }, lost, judge), 'MOBILITY_LEASE_LOST');
    await rejects(store.documents.apply(user.id, { put: [], remove: ['a', 'b'] }, lost), 'MOBILITY_LEASE_LOST');
    await rejects(store.trips.apply(user.id, { put: [], remove: [] }, {}, lost), 'MOBILITY_LEASE_LOST');
  });
});

const erase = step('erase', fc.constant(null), async (_, { store, user, model, now }) => {
  const counts = await store.erase(user.id);
  const expected = { usercache: model.waiting.size, errors: model.errors.size, timeseries: model.stored.size };
  expect(counts).toMatchObject({ ...expected, documents: model.documents.size, trips: model.trips.size });
  model.erase();
  await rejects(store.profiles.merge(user.id, {}), 'MOBILITY_USER_UNKNOWN');
  await store.users.register(`${user.id} again`, { uuid: user.id, now });
});

const anyQuery: fc.Arbitrary<EntryQuery> = fc
  .record({
    time: fc.constantFrom('write_ts' as const, 'ts' as const),
    descending: fc.boolean(),
    limit: fc.constantFrom(1, 3, 500),
    from: fc.option(anyTime),
    to: fc.option(anyTime),
    keys: fc.option(fc.subarray(keys)),
  })
  .map(({ from, to, keys, ...query }) => {
    return { ...query, ...(from !== null && { from }), ...(to !== null && { to }), ...(keys !== null && { keys }) };
  });
const find = step('find', fc.tuple(anyQuery, anyTime), async ([query, at], { store, user, model }) => {
  for (const [place, rows] of [
    ['usercache', model.waiting],
    ['timeseries', model.stored],
  ] as const) {
    // Pages of one are enough for a few.
    const { limit } = rows.size > 300 ? { limit: 500 } : query;
    const entries = [...rows.values()].map(({ entry }) => entry);
    same(await findAll(store[place], user.id, { ...query, limit }), expectedOf(entries, query));
  }
  same(await store.timeseries.zonesAround(user.id, at), model.zonesAround(at));
});

const anySteps = fc.array(
  fc.tuple(
    fc.boolean(),
    fc.oneof(
      { weight: 6, arbitrary: put },
      { weight: 5, arbitrary: move },
      { weight: 3, arbitrary: find },
      ...[recover, marksTaken, documents, applyTrips, leaseLost, erase],
    ),
  ),
  { minLength: 5, maxLength: 25, size: 'max' },
);

// ---------------------------------------------------------------- comparison

async function compare({ store, user, model, now }: Sides): Promise<void> {
  const byTime = (a: { entry: Entry }, b: { entry: Entry }): number => {
    const [k, l] = [a.entry.metadata, b.entry.metadata];
    return k.write_ts - l.write_ts || (k.key < l.key ? -1 : 1);
  };
  for (const [place, rows] of [
    ['usercache', model.waiting],
    ['timeseries', model.stored],
  ] as const) {
    const expected = [...rows.values()].map(({ entry, received_ts }) => ({ entry, received_ts })).sort(byTime);
    same(await findRows(store[place], user.id, { time: 'write_ts', limit: 900 }), expected);
  }
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  const errors = [];
  for (let after = ''; ; after = errors.at(-1)!.id) {
    const page = await store.errors.list(user.id, { after, limit: 700 });
    if (page.length === 0) break;
    errors.push(...page);
  }
  same(errors, [...model.errors.values()].sort(byId));
  const rejected = await countRejected(store, user.id);
  same(new Map(rejected.map(({ key, reason, count }) => [JSON.stringify([key, reason]), count])), model.errorCounts());
  same((await store.documents.list(user.id)).map(({ key }) => key).sort(), [...model.documents.keys()].sort());
  const trips = [...model.trips.values()].sort((a, b) => a.chain_ts - b.chain_ts);
  same(await store.trips.chain(user.id, { limit: 99 }), trips);
  const ofDays = trips.filter(({ kind, day }) => kind === 'trip' && day >= '2016-05-12' && day <= '2016-05-14');
  same(await store.trips.byDay(user.id, { from: '2016-05-12', to: '2016-05-14' }), ofDays);
  const open = trips.findIndex(({ settled_ts }) => settled_ts === null || settled_ts >= 9);
  same(await store.trips.lastSettledBefore(user.id, 9), (open < 0 ? trips : trips.slice(0, open)).at(-1) ?? null);

  const waiting = [...model.waiting.values()];
  same(await store.usercache.count(user.id), waiting.length);
  same(new Set(await store.usercache.keys(user.id)), new Set(waiting.map(({ entry }) => entry.metadata.key)));
  const ahead = waiting.filter((stored) => isAhead(stored) && stored.entry.metadata.write_ts > now);

  const { changed, documents_due } = await store.pipeline.get(user.id);
  same({ changed, documents_due }, { changed: model.changed, documents_due: model.due });
  const hasWork = changed !== null || documents_due || ahead.length < waiting.length;
  same(await store.pipeline.withWork([user.id], now), new Set(hasWork ? [user.id] : []));
  const counts = { usercache: waiting.length, errors: model.errors.size, timeseries: model.stored.size };
  expect(await store.counts(user.id)).toMatchObject({ ...counts, documents: model.documents.size });
  const keySummary = [...keys].sort().flatMap((key) => {
    const list = [...model.stored.values()].filter(({ entry }) => entry.metadata.key === key);
    const times = list.flatMap(({ entry }) => dataTime(entry.data) ?? []).sort((a, b) => a - b);
    const row = { key, count: list.length, first_ts: times[0] ?? null, last_ts: times.at(-1) ?? null };
    return list.length === 0 ? [] : [row];
  });
  same(await store.timeseries.summary(user.id), keySummary);
}

it('a store has the same contents as plain maps after the same calls', async () => {
  const { folder, store: first } = await storeWithUser();
  const second = await openStoreIn(folder);
  await fc.assert(
    fc.asyncProperty(anySteps, async (steps) => {
      const person = await newPerson(first);
      const model = new Model();
      for (const [i, [isSecond, one]] of steps.entries()) {
        const [store, other] = isSecond ? [second, first] : [first, second];
        const sides = { model, now: 1_000 * (i + 1) };
        await one.run({ ...sides, store, user: person.on(store) });
        await compare({ ...sides, store: other, user: person.on(other) });
      }
      await first.erase(person.id);
      expect(Object.values(await second.counts(person.id)).every((count) => count === 0)).toBe(true);
    }),
    { numRuns, endOnFailure: process.env.MOBILITY_MODEL_SHRINK !== '1' },
  );
});
