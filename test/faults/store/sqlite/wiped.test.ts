// What an erasure leaves in the files of the embedded store, searched byte by byte, also while others have it open.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { onEngine } from '../../../../src/store/open.ts';
import { storeOver } from '../../../../src/store/rules/build-store.ts';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { copyDatabase, databaseIn } from '../../../../src/store/sqlite/folder.ts';
import type { Judge } from '../../../../src/store/store.ts';
import { accept, entry, newId, numbers, Person, same, storeWithUser } from '../../../store/contract/kit.ts';
import { tempFolder } from '../../../support/clean-up.ts';
import { openStoreIn } from '../../../support/store.ts';
import { packedTextsIn, piecesIn, piecesOf, textsIn } from '../../../support/traces.ts';

const marker = 'WIPEMARKER';

/** Rows of every kind that are moved, replaced, rejected and removed, in pages with rows of another user. */
async function live(user: Person, word: string): Promise<void> {
  const { store } = user;
  const judge: Judge = (one) => (one.metadata.write_ts % 7 === 0 ? { reason: 'r', message: word } : accept(one));
  for (let round = 0; round < 3; round++) {
    const entries = numbers(0, 40).map((i) =>
      entry(i % 3 === 0 ? `manual/${word}` : 'background/battery', 10 * i + round, { word: `${word} ${round} ${i}` }),
    );
    await user.put(entries);
    await user.putUnusable([{ entry: { word }, reason: 'r', message: word }], round);
    await store.profiles.merge(user.id, { word: `${word} ${round}` });
    await user.moveAll(judge);
    const [error] = await user.errors();
    await store.errors.recover(user.id, [{ ...error!, entry: entry(word, round, { word }) }]);
    await user.leased(async (lease) => {
      const document = { key: `diary/${word}`, write_ts: round, data: { word } };
      await store.documents.apply(user.id, { put: [document], remove: [] }, lease);
      const times = { chain_ts: round, start_ts: 1, end_ts: 2, day: '2016-05-17' };
      const link = { id: word, kind: 'trip', ...times, trip: { word } };
      await store.trips.apply(user.id, { put: [link as never], remove: [] }, { last_error: word }, lease);
    });
  }
  await user.put(numbers(0, 20).map((i) => entry(`manual/${word}`, 5_000 + i, { word: `${word} ${newId()}` })));
}

it('no byte of an erased user is in the file, its log or a copy, plain or compressed', async () => {
  const { folder, store, user: ben } = await storeWithUser();
  const serving = await openStoreIn(folder);
  const { uuid } = (await store.users.register(`carla-${marker}@example.org`, { now: 1 })).user;
  const token = newId().replaceAll('-', '').repeat(2);
  await store.tokens.add({ hash: token, user_id: uuid, created_ts: 1, expires_ts: null });
  for (let round = 0; round < 2; round++) {
    await live(ben.on(serving), 'BENSWORD');
    await live(new Person(store, uuid), marker);
  }
  const texts = [marker, uuid, token];
  expect(textsIn(folder, texts).length).toBeGreaterThanOrEqual(texts.length);
  expect(packedTextsIn(folder, [marker])).toEqual([marker]);
  const pieces = piecesOf(folder, uuid);
  expect(pieces.size).toBeGreaterThan(1_000);
  const before = await ben.on(serving).stored();

  await store.erase(uuid);

  const kept = piecesOf(folder);
  for (const piece of pieces) if (kept.has(piece)) pieces.delete(piece);
  expect(packedTextsIn(folder, [marker, 'BENSWORD'])).toEqual(['BENSWORD']);
  const copy = join(tempFolder(), 'copy');
  await mkdir(copy);
  await copyDatabase(folder, copy);
  for (const place of [folder, copy]) {
    expect(textsIn(place, texts)).toEqual([]);
    expect(piecesIn(place, pieces)).toEqual([]);
  }
  // Other users are complete, also for connections opened before, and an erased name can be used again.
  same(await ben.on(serving).stored(), before);
  expect(await ben.on(serving).put([entry(`manual/${marker}`, 7, { a: 1 })])).toEqual(['inserted']);
  await ben.on(serving).moveAll();
  expect((await ben.stored()).length).toBeGreaterThan(before.length);
});

it('an erasure completes when its traces are overwritten, and fails if they cannot be', async () => {
  const { folder, user } = await storeWithUser();
  await onEngine(folder, {}, async (engine) => {
    const forget = () => Promise.reject(new Error('the disk is full'));
    await expect(storeOver({ ...engine, forget }).erase(user.id)).rejects.toThrow('the disk is full');
  });
});

/** Writes `text` into the unused middle of every leaf page that has room for it; returns how many have. */
async function hideInGaps(path: string, text: string): Promise<number> {
  const bytes = await readFile(path);
  let count = 0;
  for (let page = 4096; page < bytes.length; page += 4096) {
    const end = 8 + 2 * bytes.readUInt16BE(page + 3);
    if (![10, 13].includes(bytes[page]!) || end + text.length > bytes.readUInt16BE(page + 5)) continue;
    count += bytes.write(text, page + end) > 0 ? 1 : 0;
  }
  await writeFile(path, bytes);
  return count;
}

it('copies of rows that SQLite leaves in unused parts of pages are overwritten', async () => {
  const { folder, store, user: ben } = await storeWithUser();
  const { uuid } = (await store.users.register('carla', { now: 1 })).user;
  for (const user of [ben, new Person(store, uuid)]) await live(user, 'BENSWORD');
  const before = await ben.stored();
  await store.close();
  expect(await hideInGaps(databaseIn(folder), marker)).toBeGreaterThan(5);
  const again = await openStoreIn(folder);
  await again.erase(uuid);
  expect(textsIn(folder, [marker])).toEqual([]);
  const connection = connect(databaseIn(folder));
  expect(connection.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  connection.close();
  same(await ben.on(again).stored(), before);
});
