// The only way into the store: a pushed value of any form becomes an entry or is rejected, is counted and reported.
import { beforeEach, expect, it, vi } from 'vitest';
import { maxTransactionEntries, type Pushed, putBatch } from '../../src/intake/put-batch.ts';
import { line } from '../../src/log/messages.ts';
import { createLineLog, type Lines } from '../../src/log/queue.ts';
import { newUuid } from '../../src/model/ids.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { Store } from '../../src/store/store.ts';
import { newStore, pendingEntries } from '../support/store.ts';

let store: Store;
let user: string;
const now = (): number => 1_710_300_000;
const entry = (writeTs: number, data: JsonObject = { ts: writeTs }, more: JsonObject = {}): JsonObject => ({
  metadata: { key: 'background/location', write_ts: writeTs, ...more },
  data,
});
const stored = () => pendingEntries(store, user);

/** A log, and what it emitted: texts that are formatted later. */
function lineLog() {
  const emitted: Lines[] = [];
  const emit = (lines: Lines) => void emitted.push(lines);
  const log = createLineLog({ level: 'debug', threadId: 'p', zone: 'UTC', now, emit });
  return { log, lines: () => emitted.flatMap((lines) => lines.text().trimEnd().split('\n')) };
}

beforeEach(async () => {
  store = await newStore();
  user = (await store.users.register('ada', { now: 1 })).user.uuid;
});

it('objects and JSON texts, with or without a platform, are stored alike, and invalid entries are rejected', async () => {
  const pushed: Pushed[] = [
    entry(1),
    JSON.stringify(entry(2)),
    entry(3, { ts: 3 }, { platform: 'ios' }),
    entry(1.71e12),
    'no JSON at all {',
    null,
    { metadata: { key: 'a/b' }, data: {} },
    entry(1, { ts: 1, accuracy: 5 }),
  ];
  expect(await putBatch(user, pushed, { store, now })).toEqual({ inserted: 4, updated: 1, rejected: 3 });
  expect((await stored()).map(({ metadata }) => metadata.write_ts)).toEqual([1, 2, 3, 1.71e9]);
  const errors = await store.errors.list(user, { limit: 10 });
  expect(errors.map(({ reason }) => reason).sort()).toEqual(['not_an_object', 'not_an_object', 'write_ts_missing']);
  expect(errors.map((row) => row.entry)).toContain('no JSON at all {');
});

it('a JSON text with half a character is stored unchanged', async () => {
  const texts = ['\ud83d', 'x\udc00', '😀'];
  const pushed = texts.map((text, i) => `{"metadata":{"key":"a/b","write_ts":${i}},"data":{"text":"${text}"}}`);
  await putBatch(user, pushed, { store, now });
  expect((await stored()).map(({ data }) => data.text)).toEqual(texts);
});

it('lists, generators and streams of more than one transaction are stored in parts, counted once and recorded once', async () => {
  const parts: [entries: number, unusable: number, isWithReceipts: boolean][] = [];
  let notes = 0;
  const counting: Pick<Store, 'usercache'> = {
    usercache: {
      ...store.usercache,
      put: (userId, batch, ts) => {
        parts.push([batch.entries.length, batch.unusable.length, batch.received_ts !== undefined]);
        notes += Number(batch.note !== undefined);
        return store.usercache.put(userId, batch, ts);
      },
    },
  };
  const list = [null, ...Array.from({ length: maxTransactionEntries }, (_, i) => entry(i))];
  async function* stream() {
    yield* list;
  }
  const first = await putBatch(user, stream(), { store: counting, now });
  expect(first).toEqual({ inserted: maxTransactionEntries, updated: 0, rejected: 1 });
  const again = await putBatch(user, list.values(), { store: counting, now });
  expect(again).toEqual({ inserted: 0, updated: maxTransactionEntries, rejected: 1 });
  const two = [
    [maxTransactionEntries - 1, 1, false],
    [1, 0, false],
  ];
  expect(parts).toEqual([...two, ...two]);
  expect(notes).toBe(2);
});

it('records the last put in the profile', async () => {
  await putBatch(user, [entry(5), {}], { store, now });
  expect(await store.profiles.get(user)).toEqual({
    last_put_ts: now(),
    last_stored_ts: now(),
    last_located_ts: now(),
    waiting_since_ts: now(),
    last_phone_data_ts: 5,
    last_location_ts: 5,
    last_unusable_ts: now(),
    last_unusable_why: 'misdated',
  });
});

it('a put with a failed part is not recorded in the profile, for the first part and the last', async () => {
  await putBatch(user, [entry(1)], { store, now });
  const before = await store.profiles.get(user);
  for (const failing of [1, 2]) {
    let parts = 0;
    const put: Store['usercache']['put'] = async (...args) => {
      parts += 1;
      // What the store itself refuses, and not what never reaches it.
      return store.usercache.put(parts === failing ? newUuid() : args[0], args[1], args[2]);
    };
    const refusing = { ...store, usercache: { ...store.usercache, put } };
    const list = Array.from({ length: maxTransactionEntries + 1 }, (_, i) => entry(100 + i));
    await expect(putBatch(user, list, { store: refusing, now: () => now() + 60 })).rejects.toThrow();
    expect(await store.profiles.get(user)).toEqual(before);
  }
});

it('the log lines of a large put are formatted after its answer', async () => {
  const { log, lines } = lineLog();
  const built = vi.spyOn(line, 'entryStored');
  const pushed = Array.from({ length: 2_000 }, (_, i) => entry(i));
  await putBatch(user, pushed, { store, now, log });
  expect(built.mock.calls.length).toBeLessThan(20);
  built.mockRestore();
  expect(
    lines()
      .map((text) => /write_ts = (\d+) = inserted$/.exec(text)?.[1])
      .slice(0, -1),
  ).toEqual(pushed.map((_, i) => String(i)));
});

it('an empty batch is a put without entries', async () => {
  expect(await putBatch(user, [], { store, now })).toEqual({ inserted: 0, updated: 0, rejected: 0 });
  expect(await store.profiles.get(user)).toEqual({ last_put_ts: now() });
});

it('values without a key are logged in a hundred lines and a count, and every value with a key in a line', async () => {
  const { log, lines } = lineLog();
  const pushed = [...new Array<number>(1000).fill(0), { metadata: { key: 'a/b' } }];
  await putBatch(user, pushed, { store, now, log });
  expect(lines().filter((text) => text.includes('key = null'))).toHaveLength(100);
  expect(lines().filter((text) => text.includes('key = a/b'))).toHaveLength(1);
  expect(lines().some((text) => text.endsWith(line.valuesNotListed(user, 900)))).toBe(true);
});
