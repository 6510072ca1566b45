// Contract: what makes two pushed entries one, and what a put answers.
import { describe, expect } from 'vitest';
import { type Entry, identityOf } from '../../../src/model/entry.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import { battery, entry, findRows, fix, numbers, type Person, same, storedAt, type Use } from './kit.ts';

export function identityTests(use: Use): void {
  const receipts = (user: Person) => findRows(use.store.usercache, user.id, { time: 'write_ts', limit: 100 });

  use.it('a later entry replaces one with its identity, and results are in the order of the put', async (user) => {
    expect(await user.put([fix(2, { old: true })])).toEqual(['inserted']);
    const results = await user.put([fix(3, { a: 1 }), fix(2), fix(1), fix(3, { a: 2 }), fix(3, { a: 3 })]);
    expect(results).toEqual(['inserted', 'updated', 'inserted', 'updated', 'updated']);
    same(await user.waiting(), [fix(1), fix(2), fix(3, { a: 3 })]);
  });

  use.it('keys and write times are compared exactly', async (user) => {
    const texts = 'a/b A/b a.b $a a\u0000b a\u0000c a \ud800 \udbff a\\u0000b é e\u0301 😀 __proto__';
    const times = [1463501234.123456, 1463501234.1234562, 1463501234.1234565, 0.1, -5.25, 1e-17, 5e-324, 0];
    const entries = [...texts.split(' ').map((key) => entry(key, 1)), ...times.map((ts) => entry(battery, ts))];
    expect(await user.put(entries)).toEqual(entries.map(() => 'inserted'));
    expect(await user.put(entries)).toEqual(entries.map(() => 'updated'));
    same(new Set(await user.waiting(3)), new Set(entries));
  });

  use.it('an identity that only timeseries or error timeseries have is updated, and is pending again', async (user) => {
    await user.moveIn([fix(1), fix(2), entry(battery, 9)]);
    await user.putFailed([fix(4)]);
    const results = await user.put([fix(1), fix(1.5), fix(3), fix(2), entry(battery, 1), fix(4)]);
    expect(results).toEqual(['updated', 'inserted', 'inserted', 'updated', 'inserted', 'updated']);
    expect(await user.waiting()).toHaveLength(6);
  });

  use.it('an identity that another user has is another entry', async (a, b) => {
    await a.moveIn([fix(1)]);
    await a.putFailed([fix(2)]);
    await a.put([fix(3, { of: 'a' })]);
    expect(await b.put([fix(1), fix(2), fix(3)])).toEqual(['inserted', 'inserted', 'inserted']);
    same(await a.waiting(), [fix(3, { of: 'a' })]);
  });

  use.it('an unusable entry is written to the error timeseries unchanged, once per content', async (user) => {
    const things: JsonValue[] = [null, 'text', 7, [], {}, { metadata: { key: battery } }, { metadata: 3, data: [-0] }];
    const why = { reason: 'no_identity', message: 'expected metadata' };
    const unusable = things.map((thing) => ({ entry: thing, ...why }));
    expect((await use.store.usercache.put(user.id, { entries: [fix(1)], unusable }, 10)).results).toEqual(['inserted']);
    expect(await user.putUnusable(unusable, 20)).toEqual([]);
    const rows = await user.errors();
    const times = { first_ts: 10, received_ts: 10, last_ts: 20, tries: 2 };
    const expected = unusable.map((one) => ({ ...one, identity: null, ...times }));
    same(new Set(rows.map(({ id: _, ...row }) => row)), new Set(expected));
    expect(new Set(rows.map((row) => row.id)).size).toBe(things.length);
    expect(await user.waiting()).toHaveLength(1);
  });

  describe('a valid entry that the put rejects', () => {
    const why = { reason: 'too_many', message: 'expected few' };
    const unusableOf = (one: Entry) => ({ entry: one as unknown as JsonValue, identity: identityOf(one), ...why });
    const setAside = (user: Person, entries: Entry[], now: number) => user.putUnusable(entries.map(unusableOf), now);

    use.it('has its identity: a repetition updates it, and a move removes its error', async (user) => {
      await setAside(user, [fix(1, { a: 1 }), entry('\\odd key\u0000', 2)], 10);
      const [odd] = await use.store.errors.list(user.id, { key: '\\odd key\u0000', limit: 2 });
      expect(odd).toMatchObject({ identity: { key: '\\odd key\u0000', write_ts: 2 }, tries: 1 });
      expect(await user.put([fix(1, { a: 2 })], 20)).toEqual(['updated']);
      same(await receipts(user), [{ entry: fix(1, { a: 2 }), received_ts: 10 }]);
      await user.moveAll();
      same(await user.errors(), [odd!]);
    });

    use.it('replaces an earlier content that was rejected, and one that failed', async (user) => {
      await user.putFailed([fix(1, { a: 1 })], 10);
      await setAside(user, [fix(1, { a: 2 }), fix(1, { a: 3 })], 20);
      const times = { first_ts: 10, last_ts: 20, tries: 3, received_ts: 10 };
      const expected = { entry: fix(1, { a: 3 }), reason: 'too_many', ...times };
      expect(await user.errors()).toMatchObject([expected]);
      await setAside(user, [fix(1, { a: 1 })], 30);
      const again = { ...expected, entry: fix(1, { a: 1 }), last_ts: 30, tries: 4 };
      expect(await user.errors()).toMatchObject([again]);
    });

    use.it('replaces an earlier pending content, with its receipt and its failures', async (user) => {
      await user.putFailed([fix(1)], 10);
      const [error] = await user.errors();
      await use.store.errors.recover(user.id, [{ ...error!, entry: fix(1) }]);
      await user.put([fix(2, { large: 'x'.repeat(3_000_000) }), fix(3), entry(battery, 1)], 20);
      await setAside(user, [fix(1, { a: 2 }), fix(2, { a: 2 })], 30);
      same(await user.waiting(), [entry(battery, 1), fix(3)]);
      const errors = (await user.errors()).sort((a, b) => a.identity!.write_ts - b.identity!.write_ts);
      expect(errors).toMatchObject([
        { entry: fix(1, { a: 2 }), first_ts: 10, last_ts: 30, tries: 2, received_ts: 10 },
        { entry: fix(2, { a: 2 }), first_ts: 30, last_ts: 30, tries: 1, received_ts: 20 },
      ]);
    });

    use.it('keeps the first receipt that the timeseries has, and leaves the earlier content there', async (user) => {
      await user.moveIn([fix(1)], 5);
      await setAside(user, [fix(1, { a: 2 })], 30);
      expect(await user.errors()).toMatchObject([{ first_ts: 30, received_ts: 5 }]);
      same(await storedAt(use.store, user.id, identityOf(fix(1))), fix(1));
    });

    use.it('is earlier than the entries of its batch', async (user) => {
      await user.put([fix(1, { a: 1 })], 10);
      const batch = { entries: [fix(1, { a: 3 }), fix(2)], unusable: [unusableOf(fix(1, { a: 2 }))] };
      expect((await use.store.usercache.put(user.id, batch, 20)).results).toEqual(['updated', 'inserted']);
      same(await receipts(user), [
        { entry: fix(1, { a: 3 }), received_ts: 10 },
        { entry: fix(2), received_ts: 20 },
      ]);
    });
  });

  use.it('of many simultaneous puts through two stores, exactly one inserts each identity', async (user) => {
    const other = user.on(await use.another());
    const batches = numbers(0, 40).map((i) => numbers(0, 20).map((j) => fix((i * 7 + j) % 100)));
    const results = await Promise.all(batches.map((batch, i) => (i % 2 === 0 ? user : other).put(batch)));
    const inserted = batches.flatMap((batch, i) =>
      batch.filter((_, j) => results[i]![j] === 'inserted').map((one) => one.metadata.write_ts),
    );
    expect(inserted.sort((a, b) => a - b)).toEqual(numbers(0, 100));
    for (const one of [user, other]) expect(await one.waiting()).toHaveLength(100);
  });
}
