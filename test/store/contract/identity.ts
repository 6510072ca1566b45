// Contract: what makes two pushed entries one, and what a put answers.
import { describe, expect, it } from 'vitest';
import { type Entry, identityOf } from '../../../src/model/entry.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import type { UnusableEntry } from '../../../src/store/store.ts';
import { battery, entry, findRows, fix, fixes, newPerson, numbers, type Person, same, type Use } from './kit.ts';

export function identityTests(use: Use): void {
  const receipts = async (user: Person) =>
    (await findRows(use.store.usercache, user.id, { time: 'write_ts', limit: 100 })).map((row) => [
      row.entry,
      row.received_ts,
    ]);
  it('a new entry is inserted, a second put with the same write_ts updates', async () => {
    const user = await newPerson(use.store);
    expect(await user.put([fix(1, { a: 1 })])).toEqual(['inserted']);
    expect(await user.put([fix(1, { a: 2 })])).toEqual(['updated']);
    same(await user.waiting(), [fix(1, { a: 2 })]);
  });

  it('results are in the order of the entries, and a later entry of a batch replaces an earlier one', async () => {
    const user = await newPerson(use.store);
    await user.put([fix(2)]);
    const results = await user.put([fix(3, { a: 1 }), fix(2), fix(1), fix(3, { a: 2 }), fix(3, { a: 3 })]);
    expect(results).toEqual(['inserted', 'updated', 'inserted', 'updated', 'updated']);
    same(await user.waiting(), [fix(1), fix(2), fix(3, { a: 3 })]);
  });

  it('a batch of any size answers and stores as its entries would one by one', async () => {
    const fixes = (count: number, apart: number) =>
      Array.from({ length: count }, (_, i) => fix((i * apart) % 67, { i, neg: -0, big: Number.POSITIVE_INFINITY }));
    for (const [count, apart] of [
      [9, 1],
      [10, 1],
      [59, 5],
      [171, 7],
    ] as const) {
      const user = await newPerson(use.store);
      await user.moveIn([fix(7)]);
      await user.put([fix(3, { old: true }), fix(14, { old: true })]);
      const batch = fixes(count, apart);
      const met = new Set([3, 14, 7]);
      const expected = batch.map(({ metadata: { write_ts } }) => {
        const result = met.has(write_ts) ? 'updated' : 'inserted';
        met.add(write_ts);
        return result;
      });
      expect(await user.put(batch)).toEqual(expected);
      const last = new Map(
        [fix(3, { old: true }), fix(14, { old: true }), ...batch].map((one) => [one.metadata.write_ts, one]),
      );
      same(
        await user.waiting(),
        [...last.values()].sort((a, b) => a.metadata.write_ts - b.metadata.write_ts),
      );
    }
  });

  it('an empty batch stores nothing and answers nothing', async () => {
    const user = await newPerson(use.store);
    expect(await user.put([])).toEqual([]);
    expect((await use.store.counts(user.id)).usercache).toBe(0);
  });

  it('the metadata type is not part of the identity', async () => {
    const user = await newPerson(use.store);
    await user.put([entry('config/consent', 5, { v: 1 }, { type: 'message' })]);
    expect(await user.put([entry('config/consent', 5, { v: 2 }, { type: 'rw-document' })])).toEqual(['updated']);
    expect(await user.waiting()).toHaveLength(1);
  });

  it('decimals of write_ts survive, and the smallest difference makes another entry', async () => {
    const user = await newPerson(use.store);
    const times = [
      1463501234.123456, 1463501234.1234562, 1463501234.1234565, 0.1, -5.25, 1e-7, 1e-17, 5e-324, 0, 1463501234,
    ];
    const entries = times.map((ts) => entry(battery, ts));
    expect(await user.put(entries)).toEqual(times.map(() => 'inserted'));
    const found = (await user.waiting()).map((one) => one.metadata.write_ts);
    same(
      found,
      [...times].sort((a, b) => a - b),
    );
    expect(await user.put(entries)).toEqual(times.map(() => 'updated'));
  });

  it('one identity of two users is two entries', async () => {
    const [a, b] = [await newPerson(use.store), await newPerson(use.store)];
    await a.put([fix(1, { of: 'a' })]);
    expect(await b.put([fix(1, { of: 'b' })])).toEqual(['inserted']);
    same(await a.waiting(), [fix(1, { of: 'a' })]);
    same(await b.waiting(), [fix(1, { of: 'b' })]);
  });

  it('keys are compared exactly', async () => {
    const user = await newPerson(use.store);
    const keys = [
      'a/b',
      'A/b',
      'a.b',
      '$a',
      'a\u0000b',
      'a\u0000c',
      'a',
      '\ud800',
      '\udbff',
      'a\\u0000b',
      'é',
      'e\u0301',
      '😀',
      '__proto__',
    ];
    const entries = keys.map((key) => entry(key, 1, { key }));
    expect(await user.put(entries)).toEqual(keys.map(() => 'inserted'));
    expect(await user.put(entries)).toEqual(keys.map(() => 'updated'));
    const found = new Set((await user.waiting(3)).map((one) => one.metadata.key));
    expect(found).toEqual(new Set(keys));
  });

  it('an identity that only the timeseries knows is updated', async () => {
    const user = await newPerson(use.store);
    await user.moveIn([fix(1), fix(2), entry(battery, 9)]);
    const results = await user.put([fix(1), fix(1.5), fix(3), fix(2), entry(battery, 1)]);
    expect(results).toEqual(['updated', 'inserted', 'inserted', 'updated', 'inserted']);
  });

  it('an identity that only the error timeseries knows is updated, and waits again', async () => {
    const user = await newPerson(use.store);
    await user.putFailed([fix(1)]);
    expect(await user.put([fix(1, { repaired: true }), fix(2)])).toEqual(['updated', 'inserted']);
    expect(await user.waiting()).toHaveLength(2);
  });

  it('an identity that is known to another user only is inserted', async () => {
    const [a, b] = [await newPerson(use.store), await newPerson(use.store)];
    await a.moveIn([fix(1)]);
    await a.putFailed([fix(2)]);
    expect(await b.put([fix(1), fix(2)])).toEqual(['inserted', 'inserted']);
  });

  it('an unusable entry goes to the error timeseries as it came, once per content', async () => {
    const user = await newPerson(use.store);
    const things: JsonValue[] = [
      null,
      'text',
      7,
      [],
      {},
      { metadata: { key: battery } },
      { metadata: 3, data: [-0, 1.5] },
    ];
    const unusable = things.map((thing) => ({ entry: thing, reason: 'no_identity', message: 'expected metadata' }));
    expect(await use.store.usercache.put(user.id, { entries: [fix(1)], unusable }, 10)).toEqual(['inserted']);
    expect(await user.putUnusable(unusable, 20)).toEqual([]);
    const rows = await user.errors();
    expect(rows).toHaveLength(things.length);
    for (const row of rows) {
      same(row, {
        id: row.id,
        entry: things.find((thing) => JSON.stringify(thing) === JSON.stringify(row.entry))!,
        identity: null,
        reason: 'no_identity',
        message: 'expected metadata',
        first_ts: 10,
        received_ts: 10,
        last_ts: 20,
        tries: 2,
      });
    }
    expect(new Set(rows.map((row) => row.id)).size).toBe(things.length);
    expect(await user.waiting()).toHaveLength(1);
  });

  describe('a valid entry that is set aside at once', () => {
    const unusableOf = (one: Entry): UnusableEntry => ({
      entry: one as unknown as JsonValue,
      identity: identityOf(one),
      reason: 'too_many',
      message: 'expected few',
    });
    const setAside = (user: Person, entries: Entry[], now: number) => user.putUnusable(entries.map(unusableOf), now);

    it('has its identity: the same again updates it, and its error leaves with the move', async () => {
      const user = await newPerson(use.store);
      await setAside(user, [fix(1, { a: 1 }), entry('\\odd key\u0000', 2)], 10);
      const [odd] = await use.store.errors.list(user.id, { key: '\\odd key\u0000', limit: 2 });
      expect(odd).toMatchObject({ identity: { key: '\\odd key\u0000', write_ts: 2 }, tries: 1 });
      expect(await user.put([fix(1, { a: 2 })], 20)).toEqual(['updated']);
      same(await receipts(user), [[fix(1, { a: 2 }), 10]]);
      await user.moveAll();
      same(await user.errors(), [odd!]);
    });

    it('replaces an earlier content that was set aside, and one that failed', async () => {
      const user = await newPerson(use.store);
      await user.putFailed([fix(1, { a: 1 })], 10);
      await setAside(user, [fix(1, { a: 2 }), fix(1, { a: 3 })], 20);
      const times = { first_ts: 10, last_ts: 20, tries: 3, received_ts: 10 };
      const expected = { entry: fix(1, { a: 3 }), reason: 'too_many', ...times };
      expect(await user.errors()).toMatchObject([expected]);
      await setAside(user, [fix(1, { a: 1 })], 30);
      const again = { ...expected, entry: fix(1, { a: 1 }), last_ts: 30, tries: 4 };
      expect(await user.errors()).toMatchObject([again]);
    });

    it('takes the place of an earlier content that waits, with its receipt and its failures', async () => {
      const user = await newPerson(use.store);
      await user.putFailed([fix(1)], 10);
      const [error] = await user.errors();
      await use.store.errors.takeBack(user.id, [{ id: error!.id, entry: fix(1) }]);
      await user.put([fix(2, { large: 'x'.repeat(3_000_000) }), fix(3), entry(battery, 1)], 20);
      await setAside(user, [fix(1, { a: 2 }), fix(2, { a: 2 })], 30);
      same(await user.waiting(), [entry(battery, 1), fix(3)]);
      const errors = (await user.errors()).sort((a, b) => a.identity!.write_ts - b.identity!.write_ts);
      expect(errors).toMatchObject([
        { entry: fix(1, { a: 2 }), first_ts: 10, last_ts: 30, tries: 2, received_ts: 10 },
        { entry: fix(2, { a: 2 }), first_ts: 30, last_ts: 30, tries: 1, received_ts: 20 },
      ]);
    });

    it('keeps the first receipt that the timeseries has, and leaves the earlier content there', async () => {
      const user = await newPerson(use.store);
      await user.moveIn([fix(1)], 5);
      await setAside(user, [fix(1, { a: 2 })], 30);
      expect(await user.errors()).toMatchObject([{ first_ts: 30, received_ts: 5 }]);
      same(await use.store.timeseries.get(user.id, identityOf(fix(1))), fix(1));
    });

    it('counts as earlier than the entries of its batch', async () => {
      const user = await newPerson(use.store);
      await user.put([fix(1, { a: 1 })], 10);
      const batch = { entries: [fix(1, { a: 3 }), fix(2)], unusable: [unusableOf(fix(1, { a: 2 }))] };
      expect(await use.store.usercache.put(user.id, batch, 20)).toEqual(['updated', 'inserted']);
      same(await receipts(user), [
        [fix(1, { a: 3 }), 10],
        [fix(2), 20],
      ]);
    });
  });

  it('many puts at once store each identity once, and exactly one of them inserted it', async () => {
    const user = await newPerson(use.store);
    const batches = numbers(0, 40).map((i) => numbers(0, 20).map((j) => fix((i * 7 + j) % 100)));
    const results = await Promise.all(batches.map((batch) => user.put(batch)));
    const inserted = new Map<number, number>();
    batches.forEach((batch, i) => {
      batch.forEach((one, j) => {
        const ts = one.metadata.write_ts;
        inserted.set(ts, (inserted.get(ts) ?? 0) + (results[i]![j] === 'inserted' ? 1 : 0));
      });
    });
    expect([...inserted.values()]).toEqual(Array.from({ length: inserted.size }, () => 1));
    expect(await user.waiting()).toHaveLength(inserted.size);
  });

  it('puts of many users at once stay apart', async () => {
    const users = await Promise.all(Array.from({ length: 60 }, () => newPerson(use.store)));
    await Promise.all(users.map((user, i) => user.put([fix(1, { i }), fix(2, { i })])));
    for (const [i, user] of users.entries()) {
      same(await user.waiting(), [fix(1, { i }), fix(2, { i })]);
    }
  });

  it('two stores on the same data agree about what is inserted', async () => {
    const user = await newPerson(use.store);
    const other = await use.another();
    const entries = fixes(0, 50);
    const [a, b] = await Promise.all([user.put(entries), user.on(other).put(entries)]);
    entries.forEach((_, i) => {
      expect([a[i], b[i]].sort()).toEqual(['inserted', 'updated']);
    });
    expect(await user.on(other).waiting()).toHaveLength(50);
  });
}
