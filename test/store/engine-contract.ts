// The contract of the engines: the behaviour of every `Engine`, for any database.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { escapeText } from '../../src/model/json-text.ts';
import type { Engine, Query, Table } from '../../src/store/rows/rows.ts';
import { sumOf } from '../../src/store/rows/sums.ts';
import type { DocumentRow, PersonRow, RejectedRow, TripRow } from '../../src/store/rows/tables.ts';
import { accounts, documents, errors, people, profiles, trips } from '../../src/store/rows/tables.ts';
import { noise } from '../support/noise.ts';

/** A new, empty database behind an engine. */
export interface OpenedEngine {
  engine: Engine;
  /** Opens another engine on the same rows. Whoever calls it closes it. */
  reopen(): Promise<Engine>;
  /** Sets the column of every row of the table without the engine, and leaves the checksums as they are. */
  damage(table: string, column: string, value: string): Promise<void>;
  /** Closes the first engine and removes the rows. */
  dispose(): Promise<void>;
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** A user without rows: tests share a database. */
export const newUser = (): string => randomUUID();

export function tripOf(user: string, chain_ts: number, fields: Partial<TripRow> = {}): TripRow {
  const times = { start_ts: chain_ts, end_ts: chain_ts, settled_ts: chain_ts, written_ts: chain_ts };
  return { user, chain_ts, kind: 'trip', day: '2016-05-17', ...times, outline: null, record: bytesOf('{}'), ...fields };
}

function errorOf(user: string, id: string, write_ts: number | null): RejectedRow {
  const times = { write_ts, first_ts: 1, last_ts: 1, tries: 1, received_ts: 1 };
  return { user, id, key: 'a/key', reason: 'r', message: 'm', ...times, entry: bytesOf('1') };
}

export const documentOf = (user: string, key: string, data = bytesOf('1')): DocumentRow => ({
  ...{ user, key, write_ts: 1, data },
});

const personOf = (name: string): PersonRow => ({
  ...{ uuid: newUser(), user_email: name, update_ts: 1 },
  ...{ study: null, subgroup: null, joined_ts: null, sent_ts: null },
});

export const accountOf = (user: string, fence: number) => ({
  ...{ user, fence, registered_ts: 0, audit_key: '', stage: 'active', owner: null, version: null, state: '{}' },
  ...{ expires_ts: 0, seconds: 0, due: 0, zoned: 0, zoneless: 0, sent: 0 },
});

const find = <Row>(engine: Engine, table: Table<Row>, query: Query<Row>): Promise<Row[]> =>
  engine.read((rows) => rows.find(table, query));

export const put = <Row>(engine: Engine, user: string | null, table: Table<Row>, some: readonly Row[]) =>
  engine.write(user, (rows) => rows.put(table, some));

/** Fails unless the rows are the same to the last bit. Bytes may come as a Buffer. */
function same<Row extends object>(found: readonly Row[], expected: readonly Row[]): void {
  const plain = (value: unknown) => (Buffer.isBuffer(value) ? new Uint8Array(value) : value);
  const plainRow = (row: Row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
  deepStrictEqual(found.map(plainRow), expected);
}

/** Runs the contract. Tests share the database of `open`, and each has its own users. */
export function engineContract(name: string, open: () => Promise<OpenedEngine>): void {
  describe(name, () => {
    let opened: OpenedEngine;
    let engine: Engine;
    let other: Engine;
    let user: string;
    beforeAll(async () => {
      opened = await open();
      engine = opened.engine;
      other = await opened.reopen();
    });
    beforeEach(() => {
      user = newUser();
    });
    afterAll(async () => {
      await other?.close();
      await opened?.dispose();
    });

    const texts = ['', ' ', '!', '$a', 'Z', 'a', 'a\0', 'a\0b', 'a.b', 'a\\', 'a\\u0000', 'ab', 'ä', '\ud800'];
    const oddTexts = [...texts, 'b\udfff', '\uffff', '😀', '\\', '\0', '{"a":1}', "'; --", 'é', 'e\u0301'];
    const byBytes = (a: string, b: string): number =>
      Buffer.compare(Buffer.from(escapeText(a)), Buffer.from(escapeText(b)));

    it('keeps texts of any characters, orders them by their bytes and finds them by range', async () => {
      const all = oddTexts.map((key) => documentOf(user, key));
      await put(engine, user, documents, all);
      const sorted = [...oddTexts].sort(byBytes);
      const keysOf = async (where: Partial<Query<DocumentRow>['where']>, more: Partial<Query<DocumentRow>> = {}) =>
        (await find(engine, documents, { where: { user, ...where }, order: ['key'], ...more })).map(({ key }) => key);
      expect(await keysOf({})).toEqual(sorted);
      expect(await keysOf({}, { limit: 3, order: ['-key'] })).toEqual(sorted.slice(-3).reverse());
      for (const [i, bound] of sorted.entries()) {
        expect(await keysOf({ key: bound })).toEqual([bound]);
        expect(await keysOf({ key: { lt: bound } })).toEqual(sorted.slice(0, i));
        expect(await keysOf({ key: { gte: bound, lte: bound } })).toEqual([bound]);
        expect(await keysOf({ key: { gt: bound } }, { limit: 2 })).toEqual(sorted.slice(i + 1, i + 3));
      }
      expect(await keysOf({ key: { in: ['\0', '😀', 'no'] } })).toEqual(['\0', '😀'].sort(byBytes));
      expect(await keysOf({ key: { in: [] } })).toEqual([]);
    });

    const numbers = [-Infinity, -Number.MAX_VALUE, -2.5, -1, 0, 0.1, 1, 2 ** 31, 2 ** 53, 2 ** 63, 1e308, Infinity];

    it('keeps numbers to the last bit, orders them and finds them by range', async () => {
      const all = numbers.map((chain_ts) => tripOf(user, chain_ts, { start_ts: 1 / 3, end_ts: 5e-324 }));
      await put(engine, user, trips, [...all].reverse());
      same(await find(engine, trips, { where: { user }, order: ['chain_ts'] }), all);
      for (const [i, bound] of numbers.entries()) {
        same(await find(engine, trips, { where: { user, chain_ts: bound } }), [all[i]!]);
        const [upTo, after] = [{ lte: bound }, { gt: bound, lt: Infinity }];
        const first = await find(engine, trips, { where: { user, chain_ts: upTo }, order: ['chain_ts'] });
        const rest = await find(engine, trips, { where: { user, written_ts: after }, order: ['-written_ts'] });
        same([...first, ...rest.toReversed()], all.slice(0, i === all.length - 1 ? undefined : -1));
        expect(first).toHaveLength(i + 1);
      }
    });

    it('finds null by null, sorts it first, and does not find it by range', async () => {
      const all = [null, -5, 0, 7].map((write_ts, i) => errorOf(user, `${i}`, write_ts));
      await put(engine, user, errors, all);
      same(await find(engine, errors, { where: { user, write_ts: null } }), [all[0]!]);
      same(await find(engine, errors, { where: { user, write_ts: { lt: 5 } }, order: ['write_ts'] }), all.slice(1, 3));
      same(await find(engine, errors, { where: { user }, order: ['write_ts', 'id'] }), all);
    });

    it('orders by several columns, and reads columns without the others', async () => {
      const all = ['b', 'a', 'b', 'a'].map((day, i) => tripOf(user, i, { day }));
      await put(engine, user, trips, all);
      const query = { where: { user, day: { in: ['a', 'b'] } }, order: ['day', '-chain_ts'], limit: 3 } as const;
      const found = await engine.read((rows) => rows.find(trips, query, ['chain_ts', 'day', 'sum']));
      const expected = [3, 1, 2].map((i) => ({ chain_ts: i, day: all[i]!.day, sum: sumOf(trips, all[i]!) }));
      expect(found).toEqual(expected);
    });

    it('counts rows and sums columns, where null counts as zero', async () => {
      const all = [null, 2, 0.5].map((write_ts, i) => errorOf(user, `${i}`, write_ts));
      await put(engine, user, errors, all);
      const totals = await engine.read(async (rows) => [
        await rows.total(errors, { user }),
        await rows.total(errors, { user }, 'write_ts'),
        await rows.total(errors, { user, tries: { gt: 7 } }),
        await rows.total(errors, { user, tries: { gt: 7 } }, 'write_ts'),
      ]);
      expect(totals).toEqual([3, 2.5, 0, 0]);
    });

    it('replaces a row with the same key, and returns the checksum of each', async () => {
      const [old, kept] = [tripOf(user, 1, { day: 'old' }), tripOf(user, 2)];
      const [next, more] = [tripOf(user, 1, { day: 'new' }), tripOf(user, 3)];
      await put(engine, user, trips, [old, kept]);
      expect(await put(engine, user, trips, [next, more])).toEqual([sumOf(trips, next), sumOf(trips, more)]);
      same(await find(engine, trips, { where: { user }, order: ['chain_ts'] }), [next, kept, more]);
      expect(await put(engine, user, trips, [])).toEqual([]);
    });

    it('removes the rows that match, at most a limit, and no others', async () => {
      const bystander = newUser();
      await put(engine, bystander, trips, [tripOf(bystander, 1)]);
      const all = Array.from({ length: 9 }, (_, i) => tripOf(user, i));
      await put(engine, user, trips, all);
      const removed = await engine.write(user, async (rows) => [
        await rows.remove(trips, { user, chain_ts: { gte: 7 } }),
        await rows.remove(trips, { user }, 3),
        await rows.remove(trips, { user, chain_ts: 99 }),
        await rows.remove(trips, { user }),
      ]);
      expect(removed).toEqual([2, 3, 0, 4]);
      expect(await find(engine, trips, { where: { user } })).toEqual([]);
      expect(await find(engine, trips, { where: { user: bystander } })).toHaveLength(1);
    });

    it('keeps bytes of 20 MB, also where they replace others, and removes them with their row', async () => {
      const [small, first, second] = [bytesOf('{}'), bytesOf(noise('first', 20e6)), bytesOf(noise('second', 17e6))];
      for (const record of [first, small, second, first].map((bytes) => new Uint8Array(bytes))) {
        await put(engine, user, trips, [tripOf(user, 1, { record }), tripOf(user, 2)]);
        same(await find(engine, trips, { where: { user, chain_ts: 1 } }), [tripOf(user, 1, { record })]);
      }
      const [row] = await engine.read((rows) => rows.find(trips, { where: { user } }, ['record']));
      expect(Buffer.compare(row!.record, first)).toBe(0);
      expect(await engine.write(user, (rows) => rows.remove(trips, { user }))).toBe(2);
      await put(engine, user, trips, [tripOf(user, 1)]);
      same(await find(engine, trips, { where: { user } }), [tripOf(user, 1)]);
    });

    it('shows a write its own changes, and rolls them back if it throws', async () => {
      await put(engine, user, trips, [tripOf(user, 1)]);
      const failure = new Error('stop');
      const failing = engine.write(user, async (rows) => {
        await rows.put(trips, [tripOf(user, 2)]);
        await rows.remove(trips, { user, chain_ts: 1 });
        expect(await rows.find(trips, { where: { user } }, ['chain_ts'])).toEqual([{ chain_ts: 2 }]);
        throw failure;
      });
      await expect(failing).rejects.toBe(failure);
      same(await find(engine, trips, { where: { user } }), [tripOf(user, 1)]);
    });

    it('reads one snapshot, despite writes of other processes', async () => {
      await put(engine, user, trips, [tripOf(user, 1)]);
      await put(engine, user, documents, [documentOf(user, 'old')]);
      let writes = 0;
      const [before, after] = await engine.read(async (rows) => {
        const counts = async () => [await rows.total(trips, { user }), await rows.total(documents, { user })];
        const first = await counts();
        writes++;
        await other.write(user, async (changed) => {
          await changed.put(trips, [tripOf(user, 1 + writes)]);
          await changed.put(documents, [documentOf(user, `new ${writes}`)]);
        });
        return [first, await counts()];
      });
      expect(after).toEqual(before);
      expect(await engine.read((rows) => rows.total(documents, { user }))).toBe(1 + writes);
    });

    it('runs the writes of a user one after another, over all processes', async () => {
      await put(engine, user, accounts, [accountOf(user, 0)]);
      // Each write reads rows that the others write, and writes rows that no other writes.
      const add = (by: Engine): Promise<unknown> =>
        by.write(user, async (rows) => {
          const count = await rows.total(trips, { user });
          await rows.put(trips, [tripOf(user, count)]);
        });
      await Promise.all([engine, other].flatMap((by) => Array.from({ length: 50 }, () => add(by))));
      expect(await engine.read((rows) => rows.total(trips, { user }))).toBe(100);
    });

    it('repeats a write that another write left without its unique name', async () => {
      const register = (by: Engine, name: string): Promise<string> =>
        by.write(null, async (rows) => {
          const taken = await rows.total(people, { user_email: name });
          if (taken === 0) await rows.put(people, [personOf(name)]);
          return taken === 0 ? 'registered' : 'taken';
        });
      for (let i = 0; i < 5; i++) {
        const name = `${newUser()}@example.org`;
        const answers = await Promise.all([engine, other, engine].map((by) => register(by, name)));
        expect(answers.sort()).toEqual(['registered', 'taken', 'taken']);
        expect(await engine.read((rows) => rows.total(people, { user_email: name }))).toBe(1);
      }
    });

    it('names table and row if a row is damaged', async () => {
      const fresh = await open();
      await put(fresh.engine, user, profiles, [{ user, profile: '{"a":1}' }]);
      await fresh.damage('profiles', 'profile', '{"a":2}');
      const error = await find(fresh.engine, profiles, { where: { user } }).catch((thrown) => thrown);
      const message = expect.stringMatching(`profiles.*${user}`);
      expect(error).toMatchObject({ code: 'MOBILITY_STORE_DAMAGED', message });
      await fresh.dispose();
    });

    it('has a clock that other engines share', async () => {
      const before = await other.now();
      const now = await engine.now();
      expect(now).toBeGreaterThan(before - 1); // each engine asked the server for itself
      expect(Math.abs(now - Date.now() / 1000)).toBeLessThan(60);
    });
  });
}
