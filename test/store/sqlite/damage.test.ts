// Rows that changed on disk: they are refused by file, table and user, and nobody else notices.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { putBatch } from '../../../src/intake/put-batch.ts';
import { createLineLog } from '../../../src/log/line-log.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import { connect, type SqlValue } from '../../../src/store/sqlite/driver.ts';
import { type SummedTable, summedColumns } from '../../../src/store/sqlite/row-sums.ts';
import type { Store } from '../../../src/store/store.ts';
import { fix, leased, newUser, same } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

/** A link of the chain, as far as the store looks at it. */
function link(chain_ts: number): TripRecord {
  const times = { chain_ts, start_ts: chain_ts, end_ts: chain_ts + 1, settled_ts: chain_ts + 2 };
  return { id: String(chain_ts), kind: 'trip', day: '2016-05-17', ...times, trip: {} } as unknown as TripRecord;
}

/** Gives a user a row in every table whose rows have a checksum. */
async function fill(store: Store, name: string): Promise<string> {
  const user = await newUser(store);
  await store.tokens.add({ hash: name, user_id: user, created_ts: 1, expires_ts: null });
  await store.tokens.touch(name, 5);
  await store.profiles.merge(user, { name });
  await store.usercache.put(user, { entries: [], unusable: [{ entry: name, reason: 'r', message: 'm' }] }, 1);
  await store.usercache.put(user, { entries: [fix(1)], unusable: [{ entry: name, reason: 'r', message: 'n' }] }, 2);
  await leased(store, user, async (lease) => {
    await store.trips.replace(user, { from: 0, to: 100 }, [link(1), link(2)], { complete_until: 5 }, lease);
    await store.documents.apply(user, { put: [{ key: 'diary/a', write_ts: 1, data: { name } }], remove: [] }, lease);
  });
  return user;
}

/** Reads everything of the tables, as a command would. */
const readers: Record<SummedTable, (store: Store, user: string) => Promise<unknown>> = {
  errors: (store, user) => store.errors.list(user, { limit: 10 }),
  profiles: (store, user) => store.profiles.get(user),
  users: (store, user) => store.users.byUuid(user),
  tokens: (store, user) => store.tokens.list(user),
  studies: (store) => store.studies.list(),
  trips: (store, user) => store.trips.chain(user, { limit: 10 }),
  documents: (store, user) => store.documents.list(user),
  pipeline: (store, user) => store.pipeline.get(user),
};

/** Reads that follow one another share a snapshot until the process may have learned of anything from outside. */
const newsFromOutside = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Columns by which a row is found: changed, it is somebody else's or nobody's, which `store check` finds. */
const placesOfRows = ['user', 'uuid', 'user_id', 'hash', 'name', 'id', 'chain_ts'];

it.each(Object.keys(summedColumns) as SummedTable[])(
  'a row of %s with another value anywhere is refused',
  async (table) => {
    const folder = join(await places.folder(), 'store');
    const store = await places.open(folder);
    const [ada, ben] = [await fill(store, 'ada'), await fill(store, 'ben')];
    await store.studies.put({ name: 'sunny' } as never);
    const whole = await readers[table](store, ben);
    expect(JSON.stringify(await readers[table](store, ada))).not.toBe('null');
    const role = ['trips', 'documents', 'pipeline'].includes(table) ? 'timeseries' : 'usercache';
    const connection = connect(join(folder, `${role}-0.sqlite`));
    const owner = ['users', 'tokens', 'studies'].includes(table)
      ? { users: `uuid = '${ada}'`, tokens: `user_id = '${ada}'`, studies: '1' }[table as 'users']
      : `user = (SELECT id FROM user_ids WHERE uuid = '${ada}')`;
    try {
      for (const column of summedColumns[table].filter((name) => !placesOfRows.includes(name))) {
        const kept = connection.prepare(`SELECT ${column} AS value FROM ${table} WHERE ${owner}`);
        const { value } = kept.get<{ value: SqlValue }>()!;
        connection.prepare(`UPDATE ${table} SET ${column} = 7 WHERE ${owner}`).run();
        await newsFromOutside();
        const refused = await readers[table](store, ada).then(
          () => `${column}: read`,
          (error: Error & { code: string }) => `${error.code} ${error.message}`,
        );
        expect(refused).toMatch(/^MOBILITY_STORE_DAMAGED/);
        expect(refused).toContain(`${role}-0.sqlite, table ${table}`);
        if (table !== 'studies') {
          expect(refused).toContain(`user ${ada}`);
          same(await readers[table](store, ben), whole);
        }
        connection.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${owner}`).run(value);
        await newsFromOutside();
      }
    } finally {
      connection.close();
    }
  },
);

it('a put is stored though the profile of its user is damaged, which stays as it is, and the log says so', async () => {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await fill(store, 'ada');
  const connection = connect(join(folder, 'usercache-0.sqlite'));
  connection.exec(`UPDATE profiles SET profile = '{"name":"eve"}'`);
  connection.close();
  await newsFromOutside();
  let text = '';
  const emit = (lines: { text(): string }): void => {
    text += lines.text();
  };
  const log = createLineLog({ level: 'info', threadId: 'p', zone: 'UTC', now: () => 1, emit });
  const put = await putBatch(user, [fix(7)], { store, now: () => 9, log });
  expect(put).toEqual({ inserted: 1, updated: 0, rejected: 0 });
  expect(text).toMatch(/WARNING:p:Profile does not show this put: .*table profiles/);
  await expect(store.profiles.get(user)).rejects.toThrow(/table profiles/);
});
