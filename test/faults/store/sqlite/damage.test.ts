// Rows that changed on disk: they are refused by table and key, for any value, and no other user is affected.
import { expect, it } from 'vitest';
import type { ColumnValue, Table } from '../../../../src/store/rows/rows.ts';
import { allTables } from '../../../../src/store/rows/tables.ts';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import type { Store } from '../../../../src/store/store.ts';
import { filledPerson, fix, type Person, same, storeWithUser } from '../../../store/contract/kit.ts';
import { atEnd } from '../../../support/clean-up.ts';
import { openStoreIn } from '../../../support/store.ts';
import { managerRecord, studySettings } from '../../../support/study.ts';

/** Two people with rows in every table, and a feed. */
async function filledStore() {
  const { folder, store } = await storeWithUser();
  const [ada, ben] = [await filledPerson(store, 'ada'), await filledPerson(store, 'ben')];
  const zip = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('zip');
  };
  await store.feeds.add({ id: 'feed', facts: { name: 'a' }, index: '{}' }, zip());
  const connection = connect(databaseIn(folder));
  atEnd(() => connection.close());
  return { folder, store, ada, ben, connection };
}

const damageOf = (row: string) => ({
  code: 'MOBILITY_STORE_DAMAGED',
  message: expect.stringContaining(`row of table ${row}`),
});

/** What reads a column without the rest of its row. */
const parts = [
  ['batches', 'waiting', (store: Store, user: Person) => store.usercache.keys(user.id)],
  ['batches', 'waiting', (store: Store, user: Person) => user.on(store).put([fix(4)])],
  ['trips', 'outline', (store: Store, user: Person) => store.trips.briefsAt(user.id, [5])],
  ['feeds', 'facts', (store: Store) => store.feeds.list()],
] as const;

it.each(parts)(
  'a row of %s with a damaged %s is refused by calls that read the damaged value',
  async (name, column, read) => {
    const { store, ada, ben, connection } = await filledStore();
    const [owner, row] = name === 'feeds' ? ['id', 'feed'] : ['user', ada.id];
    for (const value of ['7', '{"keys":[["background/', '{"name":"a']) {
      connection.prepare(`UPDATE ${name} SET "${column}" = ? WHERE "${owner}" = ?`).run(value, row);
      await expect(read(store, ada)).rejects.toMatchObject(damageOf(`${name} (${owner} "${row}"`));
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
  const { folder, store, ada, ben, connection } = await filledStore();
  await store.studies.put(studySettings());
  await store.managers.change('mira', () => managerRecord());
  const isNobodys = ['studies', 'managers', 'feeds', 'feed_parts'].includes(name);
  const read = readers[name]!;
  const whole = await read(store, ben);
  const owner = isNobodys ? '1' : name === 'people' ? `uuid = '${ada.id}'` : `user = '${ada.id}'`;
  const where = `WHERE rowid = (SELECT min(rowid) FROM ${name} WHERE ${owner})`;
  // A row whose key or user is another one belongs to another user or to none, which a check finds.
  const indexed = new Set([...key, ...indexes.flatMap((index) => index.columns.slice(0, 1)), 'user']);
  const values = Object.keys(columns).filter((column) => !indexed.has(column));
  expect(values.length).toBeGreaterThan(0);
  for (const column of values) {
    const selected = connection.prepare(`SELECT "${column}" AS value FROM ${name} ${where}`);
    const { value } = selected.get<{ value: ColumnValue }>()!;
    connection.prepare(`UPDATE ${name} SET "${column}" = 7 ${where}`).run();
    // Another process, which has read nothing yet.
    const other = await openStoreIn(folder);
    await expect(read(other, ada), column).rejects.toMatchObject(damageOf(`${name} (`));
    if (!isNobodys) same(await read(other, ben), whole);
    connection.prepare(`UPDATE ${name} SET "${column}" = ? ${where}`).run(value);
    same(await read(other, ben), whole);
    await read(other, ada);
  }
});
