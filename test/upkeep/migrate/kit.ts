// What the tests of moving between stores share: users with something in every collection, and everything of a store as
// text.
import { silentLog } from '../../../src/log/log.ts';
import type { Entry } from '../../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import { jsonText } from '../../../src/model/json-text.ts';
import { tokenHash } from '../../../src/model/user.ts';
import { runPipeline } from '../../../src/pipeline/run-pipeline.ts';
import { everyError, everyLink, everyUser } from '../../../src/store/pages.ts';
import type { Lease, Store } from '../../../src/store/store.ts';
import { type MigrationReport, migrate } from '../../../src/upkeep/migrate/migrate.ts';
import type { MigrateOptions } from '../../../src/upkeep/migrate/migrate-user.ts';
import { timeseriesKeys, timeseriesOf, waitingKeys, waitingOf } from '../../../src/upkeep/migrate/streams.ts';
import { pushesOf } from '../../faults/kit.ts';
import { putDocument } from '../../support/store.ts';

export const now = (): number => 1_720_000_000;

/** Migrates with what every test needs. Nobody is waited for. */
export function move(from: Store, to: Store, options: Partial<MigrateOptions> = {}): Promise<MigrationReport> {
  return migrate(from, to, { now, owner: 'test', leaseSeconds: 60, wait: async () => {}, ...options });
}

const entry = (key: string, write_ts: number, data: JsonObject): Entry => ({
  metadata: { key, write_ts, platform: 'android', time_zone: 'Europe/Berlin' },
  data,
});

const strange: JsonObject = {
  'a.b': -0,
  $set: { '': null, 'é\u0000': '\ud800' },
  10: [1e-320, '\\u0000 \\ 🚲'],
  deep: [[[[]]]],
};

/**
 * Registers somebody whose days, or the beginning of each, the pipeline has done, with rows of every kind. Returns the
 * UUID.
 */
export async function fillUser(store: Store, email: string, days = 1, entriesADay = 10_000): Promise<string> {
  const { user } = await store.users.register(email, { now: 1_600_000_000.25 });
  const id = user.uuid;
  await store.tokens.add({ hash: tokenHash(`${email} 1`), user_id: id, created_ts: 1.5, expires_ts: null });
  await store.tokens.add({ hash: tokenHash(`${email} 2`), user_id: id, created_ts: 2, expires_ts: 9e9 });
  await store.profiles.merge(id, { curr_platform: 'ios', strange, 7: 'number' });
  for (const entries of pushesOf(email, 'android', days)) {
    await store.usercache.put(id, { entries: entries.slice(0, entriesADay), unusable: [] }, 5);
  }
  const unusable = [
    { entry: { metadata: { key: 'background/location' }, strange } as JsonValue, reason: 'no', message: 'write_ts \\' },
    { entry: null, reason: 'not_an_object', message: 'found null' },
  ];
  const failing = [1, 2, 3].map((ts) => entry('background/motion_activity', ts, { ts, type: 'x'.repeat(ts) }));
  await store.usercache.put(id, { entries: [entry('manual/survey', 4, strange), ...failing], unusable }, 6.5);
  await runPipeline(store, id, { log: silentLog, now });
  await store.usercache.put(id, { entries: [], unusable }, 7.5);
  // Errors of entries: one of them stays, one was taken back and waits, one waits with another content too.
  const errors = (await store.errors.list(id, { limit: 100 })).filter((row) => row.identity !== null);
  const back = errors.slice(0, 1).map((row) => ({ id: row.id, entry: row.entry as unknown as Entry }));
  if (errors.length < 3) throw new Error(`expected entries that cannot be converted, found ${errors.length} errors`);
  await store.errors.takeBack(id, back);
  const again = errors[1]!.entry as unknown as Entry;
  await store.usercache.put(id, { entries: [{ ...again, data: { ts: 0.5, again: true } }], unusable: [] }, 8);
  await store.usercache.put(
    id,
    { entries: [entry('manual/survey', 4, { ts: 4 }), entry('a/b', 1, {})], unusable: [] },
    9,
  );
  await putDocument(store, id, { key: 'config/sensor_config', write_ts: 12.75, data: strange });
  return id;
}

/** Everything that a store holds of a user, as text, but for leases and revisions. */
export async function contentOf(store: Store, userId: string): Promise<string> {
  const lines: string[] = [];
  const line = (name: string, value: unknown): void => void lines.push(`${name} ${jsonText(value as JsonValue)}`);
  line('user', (await store.users.byUuid(userId)) ?? null);
  for (const { hash, user_id, created_ts, expires_ts } of await store.tokens.list(userId)) {
    line('token', [hash, user_id, created_ts, expires_ts]);
  }
  const profile = await store.profiles.get(userId);
  line('profile', profile && Object.entries(profile).sort(([one], [other]) => (one < other ? -1 : 1)));
  for (const key of (await waitingKeys(store, userId)).sort()) {
    for await (const { entry: waiting, received_ts, failed } of waitingOf(store, userId, key))
      line('waits', [waiting, received_ts, failed ?? null]);
  }
  for await (const { identity, ...error } of everyError(store, userId)) {
    const { id, entry: aside, reason, message, first_ts, last_ts, tries, received_ts } = error;
    const place = identity && [identity.key, identity.write_ts];
    line('error', [id, place, aside, reason, message, first_ts, last_ts, tries, received_ts]);
  }
  for (const key of (await store.documents.keys(userId)).sort()) {
    const { write_ts, data } = (await store.documents.get(userId, key))!;
    line('document', [key, write_ts, data]);
  }
  for (const key of (await timeseriesKeys(store, userId)).sort()) {
    for await (const stored of timeseriesOf(store, userId, key)) line('timeseries', stored);
  }
  for await (const link of everyLink(store, userId)) line('trip', link);
  line('state', await store.pipeline.get(userId));
  return lines.join('\n');
}

/** The content of every registered user, by UUID. */
export async function contentOfAll(store: Store): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for await (const { uuid } of everyUser(store)) all[uuid] = await contentOf(store, uuid);
  return all;
}

/** Takes the lease on a user, whoever else wants it. */
export async function leaseOn(store: Store, userId: string, owner = 'somebody', seconds = 600): Promise<Lease> {
  await store.users.admit(userId);
  const taken = await store.leases.acquire(userId, owner, seconds);
  if ('lease' in taken) return taken.lease;
  throw new Error(`expected a free user, found ${taken.heldBy.owner} at work`);
}
