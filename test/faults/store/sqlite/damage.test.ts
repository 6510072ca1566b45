// Rows that changed on disk: they are refused by table and key, for any value, and no other user is affected.
import { expect, it } from 'vitest';
import type { ColumnValue, Table } from '../../../../src/store/rows/rows.ts';
import { allTables } from '../../../../src/store/rows/tables.ts';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import type { Store } from '../../../../src/store/store.ts';
import { fix, newId, Person, same, storeWithUser } from '../../../store/contract/kit.ts';
import { atEnd } from '../../../support/clean-up.ts';
import { openStoreIn } from '../../../support/store.ts';
import { managerRecord, studySettings } from '../../../support/study.ts';

/** Gives a user one row or more in every table. */
async function fill(store: Store, name: string): Promise<Person> {
  const uuid = newId();
  const person = new Person(store, uuid);
  await store.users.register(name, { uuid, now: 1, study: 'sunny', subgroup: 'a' });
  await store.tokens.add({ hash: name, user_id: uuid, created_ts: 1, expires_ts: 9, kind: 'owntracks' });
  await store.tokens.touch(name, 5);
  await store.tokens.revoke(uuid, name, { ts: 6, why: 'revoked' });
  await store.profiles.merge(uuid, { name });
  await person.moveIn([fix(1), fix(2)]);
  await person.putFailed([fix(3)]);
  await person.put([fix(4)]);
  await person.leased(async (lease) => {
    const times = { chain_ts: 1, start_ts: 1, end_ts: 2, settled_ts: 3 };
    const link = { id: name, kind: 'trip', day: '2016-05-17', trip: {}, ...times };
    await store.trips.apply(uuid, { put: [link as never], remove: [] }, { complete_until: 5 }, lease);
    await store.documents.apply(uuid, { put: [{ key: 'diary/a', write_ts: 1, data: { name } }], remove: [] }, lease);
  });
  const zip = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(name);
  };
  await store.feeds.add({ id: 'feed', facts: { name }, index: '{}' }, zip());
  return person;
}

/** What reads a column without the rest of its row. */
const parts = [
  ['batches', 'waiting', (store: Store, user: Person) => store.usercache.keys(user.id)],
  ['batches', 'waiting', (store: Store, user: Person) => user.on(store).put([fix(4)])],
  ['trips', 'outline', (store: Store, user: Person) => store.trips.briefsAt(user.id, [1])],
  ['feeds', 'facts', (store: Store) => store.feeds.list()],
] as const;

it.each(parts)(
  'a row of %s with a damaged %s is refused by calls that read the damaged value',
  async (name, column, read) => {
    const { folder, store } = await storeWithUser();
    const [ada, ben] = [await fill(store, 'ada'), await fill(store, 'ben')];
    const connection = connect(databaseIn(folder));
    atEnd(() => connection.close());
    const [owner, row] = name === 'feeds' ? ['id', 'feed'] : ['user', ada.id];
    for (const value of ['7', '{"keys":[["background/', '{"name":"a']) {
      connection.prepare(`UPDATE ${name} SET "${column}" = ? WHERE "${owner}" = ?`).run(value, row);
      await expect(read(store, ada)).rejects.toMatchObject({
        code: 'MOBILITY_STORE_DAMAGED',
        message: expect.stringContaining(`row of table ${name} (${owner} "${row}"`),
      });
      if (name !== 'feeds') await read(store, ben);
    }
  },
);

/** Reads the rows of a table. */
const readers: Record<string, (store: Store, user: Person) => Promise<unknown>> = {
  people: (store, user) => store.users.byUuid(user.id),
  tokens: (store, user) => store.tokens.list(user.id),
  studies: (store) => store.studies.list(),
  managers: (store) => store.managers.list(),
  feeds: async (store) => [await store.feeds.list(), await store.feeds.index('feed')],
  feed_parts: (store) => store.feeds.part('feed', 1),
  accounts: (store, user) => store.pipeline.get(user.id),
  profiles: (store, user) => store.profiles.get(user.id),
  batches: (store, user) => user.on(store).waiting(),
  errors: (store, user) => store.errors.list(user.id, { limit: 10 }),
  chunks: (store, user) => user.on(store).stored(),
  trips: (store, user) => store.trips.chain(user.id, { limit: 10 }),
  documents: (store, user) => store.documents.list(user.id),
};

/** All but one of keys only, since another key is another row, one that only `migrate` reads, and derived figures. */
const tables = (allTables as unknown as readonly Table<Record<string, unknown>>[]).filter(
  ({ name }) => !['erased_tokens', 'arrivals', 'places', 'months'].includes(name),
);

it.each(tables)('a row of $name with any changed value is refused', async ({ name, columns, key, indexes }) => {
  const { folder, store } = await storeWithUser();
  const [ada, ben] = [await fill(store, 'ada'), await fill(store, 'ben')];
  await store.studies.put(studySettings());
  await store.managers.change('mira', () => managerRecord());
  const isNobodys = ['studies', 'managers', 'feeds', 'feed_parts'].includes(name);
  const read = readers[name]!;
  const whole = await read(store, ben);
  const owner = isNobodys ? '1' : name === 'people' ? `uuid = '${ada.id}'` : `user = '${ada.id}'`;
  const connection = connect(databaseIn(folder));
  atEnd(() => connection.close());
  // A row whose key or user is another one belongs to another user or to none, which a check finds.
  const indexed = new Set([...key, ...indexes.flatMap((index) => index.columns.slice(0, 1)), 'user']);
  const values = Object.keys(columns).filter((column) => !indexed.has(column));
  expect(values.length).toBeGreaterThan(0);
  for (const column of values) {
    const { value } = connection
      .prepare(`SELECT "${column}" AS value FROM ${name} WHERE ${owner}`)
      .get<{ value: ColumnValue }>()!;
    connection.prepare(`UPDATE ${name} SET "${column}" = 7 WHERE ${owner}`).run();
    // Another process, which has read nothing yet.
    const other = await openStoreIn(folder);
    const refused = await read(other, ada).then(
      () => `${column}: read`,
      (error: Error & { code: string }) => `${error.code} ${error.message}`,
    );
    expect(refused).toMatch(/^MOBILITY_STORE_DAMAGED/);
    expect(refused).toContain(`row of table ${name} (`);
    if (!isNobodys) same(await read(other, ben), whole);
    connection.prepare(`UPDATE ${name} SET "${column}" = ? WHERE ${owner}`).run(value);
    same(await read(other, ben), whole);
    await read(other, ada);
  }
});
