// What an erasure leaves in the files of the embedded store, searched byte by byte, also while others have it open.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, constants } from 'node:zlib';
import { expect, it } from 'vitest';
import { packText } from '../../../src/store/chunks/pack.ts';
import { copyDatabase } from '../../../src/store/sqlite/copy-database.ts';
import type { Judge } from '../../../src/store/store.ts';
import { accept, entry, newId, numbers, Person, same } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

const marker = 'WIPEMARKER';

/** The files of a folder that keep data; the index of the log has no content. */
async function filesOf(folder: string): Promise<Map<string, Buffer>> {
  const names = (await readdir(folder)).filter((name) => !name.endsWith('-shm'));
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)));
}

/** Which of `texts` stand in the files of a folder. */
async function found(folder: string, texts: readonly string[]): Promise<string[]> {
  const hits: string[] = [];
  for (const [name, bytes] of await filesOf(folder)) {
    const content = bytes.toString('latin1');
    for (const text of texts) if (content.includes(text)) hits.push(`${text} in ${name}`);
  }
  return hits;
}

/** How packed texts begin: with the size of the window. */
const window = packText('a')[0]! & 15;

/** The texts that stand in compressed data in the files of a folder. */
async function foundPacked(folder: string, texts: readonly string[]): Promise<Set<string>> {
  const hits = new Set<string>();
  const options = { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength: 100_000 };
  for (const bytes of (await filesOf(folder)).values()) {
    for (let at = 0; at < bytes.length && hits.size < texts.length; at++) {
      if ((bytes[at]! & 15) !== window) continue;
      try {
        const content = brotliDecompressSync(bytes.subarray(at, at + 600), options);
        for (const text of texts) if (content.includes(text)) hits.add(text);
      } catch {
        // no compressed data begins here
      }
    }
  }
  return hits;
}

/** Rows of every kind that are moved, replaced, fail and are taken back, in the pages of somebody else's. */
async function live(user: Person, word: string): Promise<void> {
  const { store } = user;
  const judge: Judge = (one) => (one.metadata.write_ts % 7 === 0 ? { reason: 'r', message: word } : accept(one));
  for (let round = 0; round < 3; round++) {
    const entries = numbers(0, 40).map((i) =>
      entry(i % 3 === 0 ? `manual/${word}` : 'background/battery', 10 * i + round, { word: `${word} ${round} ${i}` }),
    );
    await user.put(entries);
    await store.usercache.put(
      user.id,
      { entries: [], unusable: [{ entry: { word }, reason: 'r', message: word }] },
      round,
    );
    await store.profiles.merge(user.id, { word: `${word} ${round}` });
    await user.moveAll(judge);
    const [error] = await user.errors();
    await store.errors.takeBack(user.id, [{ id: error!.id, entry: entry(word, round, { word }) }]);
    await user.leased(async (lease) => {
      const document = { key: `diary/${word}`, write_ts: round, data: { word } };
      await store.documents.apply(user.id, { put: [document], remove: [] }, lease);
      const link = {
        id: word,
        kind: 'trip',
        chain_ts: round,
        start_ts: 1,
        end_ts: 2,
        day: '2016-05-17',
        trip: { word },
      };
      await store.trips.apply(user.id, { put: [link as never], remove: [] }, { last_error: word }, lease);
    });
  }
  await user.put(numbers(0, 20).map((i) => entry(`manual/${word}`, 5_000 + i, { word: `${word} ${newId()}` })));
}

it('no byte of an erased user is in the file, its log or a copy, as it is or compressed', async () => {
  const { folder, store, user: ben } = await places.newStore();
  const serving = await places.open(folder);
  const { uuid } = (await store.users.register(`carla-${marker}@example.org`, { now: 1 })).user;
  const token = newId().replaceAll('-', '').repeat(2);
  await store.tokens.add({ hash: token, user_id: uuid, created_ts: 1, expires_ts: null });
  for (let round = 0; round < 2; round++) {
    await live(ben.on(serving), 'BENSWORD');
    await live(new Person(store, uuid), marker);
  }
  const texts = [marker, uuid, token];
  expect((await found(folder, texts)).length).toBeGreaterThanOrEqual(texts.length);
  same(await foundPacked(folder, [marker]), new Set([marker]));
  const before = await ben.on(serving).stored();

  await store.erase(uuid);

  expect(await found(folder, texts)).toEqual([]);
  same(await foundPacked(folder, [marker, 'BENSWORD']), new Set(['BENSWORD']));
  const copy = join(await places.folder(), 'copy');
  await mkdir(copy);
  await copyDatabase(folder, copy);
  expect(await found(copy, texts)).toEqual([]);
  // Others are whole, for whoever had the store open before too; and a name that was erased can be used again.
  same(await ben.on(serving).stored(), before);
  expect(await ben.on(serving).put([entry(`manual/${marker}`, 7, { a: 1 })])).toEqual(['inserted']);
  await ben.on(serving).moveAll();
  expect((await ben.stored()).length).toBeGreaterThan(before.length);
});
