// Any two states of one user, with few identities so that they meet in every way, and the claim that a move makes one
// the other.
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Entry, Identity } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import { errorIdOf } from '../../../src/store/error-ids.ts';
import type { ErrorRow, PipelineState, Store } from '../../../src/store/store.ts';
import { migrateUser } from '../../../src/upkeep/migrate/migrate-user.ts';
import { putDocument } from '../../support/store.ts';
import { contentOf, leaseOn, now } from './kit.ts';

const times = [1, 2, 2.5, 3];
const identity: fc.Arbitrary<Identity> = fc.record({
  key: fc.constantFrom('background/location', 'manual/survey', 'a/\u{1F6B2}', 'a/\uE000'),
  write_ts: fc.constantFrom(...times),
});
const content: fc.Arbitrary<JsonObject> = fc.record({ ts: fc.constantFrom(1, 2, 3), n: fc.nat({ max: 2 }) });
const entry: fc.Arbitrary<Entry> = fc
  .record({ metadata: identity, data: content })
  .map(({ metadata, data }) => ({ metadata: { ...metadata }, data }));
const times2 = fc.record({
  first_ts: fc.nat({ max: 2 }),
  last_ts: fc.nat({ max: 2 }),
  tries: fc.integer({ min: 1, max: 3 }),
  received_ts: fc.nat({ max: 2 }),
});

const error: fc.Arbitrary<ErrorRow> = fc
  .record({ entry, history: times2, reason: fc.constantFrom('r', 's'), unusable: fc.boolean() })
  .map(({ entry: failed, history, reason, unusable }) => {
    const { key, write_ts } = failed.metadata;
    const place = { key, write_ts };
    const [id, owner] = unusable ? [`unusable ${write_ts}`, null] : [errorIdOf(place), place];
    return { id, entry: failed as unknown as JsonValue, identity: owner, reason, message: 'm', ...history };
  });

const link: fc.Arbitrary<TripRecord> = fc
  .record({ chain_ts: fc.constantFrom(...times), end: fc.nat({ max: 2 }), settled: fc.option(fc.nat({ max: 3 })) })
  .map(({ chain_ts, end, settled }) => {
    const bounds = { chain_ts, start_ts: chain_ts, end_ts: chain_ts + end, day: '2024-03-12', settled_ts: settled };
    return {
      id: `${chain_ts}`,
      kind: 'trip',
      ...bounds,
      trip: null,
      untracked: null,
      carry: {},
    } as unknown as TripRecord;
  });

const state: fc.Arbitrary<Partial<PipelineState>> = fc.record(
  {
    changed: fc.constantFrom(null, { from: 1, to: 2 }),
    documents_due: fc.boolean(),
    last_error: fc.constantFrom(null, 'out of luck \\ \u0000'),
  },
  { requiredKeys: [] },
);

/** Everything that a store may hold of a user. */
export interface Side {
  waiting: Entry[];
  takenBack: ErrorRow[];
  errors: ErrorRow[];
  timeseries: Entry[];
  trips: TripRecord[];
  documents: { key: string; write_ts: number; data: JsonValue }[];
  profile: JsonObject | null;
  tokens: string[];
  state: Partial<PipelineState>;
  registered: boolean;
}

const side: fc.Arbitrary<Side> = fc.record({
  waiting: fc.array(entry, { maxLength: 5 }),
  takenBack: fc.array(error, { maxLength: 2 }),
  errors: fc.array(error, { maxLength: 5 }),
  timeseries: fc.array(entry, { maxLength: 5 }),
  trips: fc.uniqueArray(link, { maxLength: 3, selector: ({ chain_ts }) => chain_ts }),
  documents: fc.array(
    fc.record({ key: fc.constantFrom('x', 'y'), write_ts: fc.nat({ max: 2 }), data: fc.nat({ max: 1 }) }),
    { maxLength: 2 },
  ),
  profile: fc.option(fc.dictionary(fc.constantFrom('a', 'b', '1'), fc.nat({ max: 1 }), { maxKeys: 3 })),
  tokens: fc.subarray(['a'.repeat(64), 'b'.repeat(64)]),
  state,
  registered: fc.boolean(),
});

/** Any source, and any target to be overwritten. */
export const sides: fc.Arbitrary<{ source: Side; target: Side }> = fc.record({
  source: side.map((one) => ({ ...one, registered: true })),
  target: side,
});

async function fill(store: Store, userId: string, one: Side): Promise<void> {
  await store.users.admit(userId);
  if (one.registered) await store.users.register(userId, { uuid: userId, now: 1 });
  if (one.profile !== null) await store.profiles.merge(userId, one.profile);
  for (const token of one.tokens) {
    await store.tokens.add({
      hash: `${userId.replaceAll('-', '')}${token}`.slice(0, 64),
      user_id: userId,
      created_ts: 1,
      expires_ts: null,
    });
  }
  if (one.takenBack.length > 0) {
    await store.errors.apply(userId, { put: one.takenBack, remove: [] });
    const back = one.takenBack.map(({ id, entry: failed }) => ({ id, entry: failed as unknown as Entry }));
    await store.errors.takeBack(userId, back);
  }
  if (one.waiting.length > 0) await store.usercache.put(userId, { entries: one.waiting, unusable: [] }, 1);
  if (one.errors.length > 0) await store.errors.apply(userId, { put: one.errors, remove: [] });
  for (const document of one.documents) await putDocument(store, userId, document);
  const lease = await leaseOn(store, userId);
  if (one.timeseries.length > 0) await store.timeseries.apply(userId, { put: one.timeseries, remove: [] }, lease);
  const links = one.trips.toSorted((a, b) => a.chain_ts - b.chain_ts);
  if (links.length > 0) await store.trips.replace(userId, { from: 0, to: 10 }, links, {}, lease);
  if (Object.keys(one.state).length > 0) await store.pipeline.merge(userId, one.state, lease);
  await store.leases.release(lease);
}

/** Gives both stores a user in these states, moves the user, and compares. */
export async function expectEqualAfterMove(
  from: Store,
  to: Store,
  { source, target }: { source: Side; target: Side },
): Promise<void> {
  const userId = newUuid();
  await Promise.all([fill(from, userId, source), fill(to, userId, target)]);
  const before = await contentOf(from, userId);
  const user = (await from.users.byUuid(userId))!;
  const options = { now, owner: 'test', leaseSeconds: 60, overwrite: true };
  const report = await migrateUser(from, to, user, options);
  expect(['copied', 'same'], report.message).toContain(report.status);
  expect(await contentOf(to, userId)).toBe(before);
  expect(await contentOf(from, userId)).toBe(before);
  expect(await migrateUser(from, to, user, options)).toMatchObject({ status: 'same' });
}
