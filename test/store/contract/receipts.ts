// Contract: when the service received an entry first, and what claims to have been written long after that.
import { expect, it } from 'vitest';
import { apply, battery, entry, failedOf, fix, newUser, put, refOf, same, type Use, waiting } from './kit.ts';

const day = 86_400;

export function receiptTests(use: Use): void {
  const receipts = async (user: string) => (await waiting(use.store, user)).map((row) => row.received_ts);

  it('the first receipt of an identity stays the same, wherever the entry is moved', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1), fix(2)], 10);
    await put(use.store, user, [fix(1, { again: true }), fix(3)], 20);
    expect(await receipts(user)).toEqual([10, 10, 20]);
    const [one, two, three] = await waiting(use.store, user);
    const { received_ts } = one!;
    await apply(use.store, user, { put: [{ entry: one!.entry, ts: 1, received_ts }] });
    const outcome = { moved: [refOf(one!)], failed: [failedOf(two!), failedOf(three!)] };
    await use.store.usercache.settle(user, outcome, 30);
    await put(use.store, user, [fix(1, { late: 1 }), fix(2, { late: 1 }), fix(4)], 40);
    expect(await receipts(user)).toEqual([10, 10, 40]);
    const errors = await use.store.errors.list(user, { limit: 9 });
    expect(errors.map((error) => [error.identity!.write_ts, error.received_ts]).sort()).toEqual([
      [2, 10],
      [3, 20],
    ]);
    const third = errors.find((error) => error.identity!.write_ts === 3)!;
    await use.store.errors.takeBack(user, [{ id: third.id, entry: fix(3) }]);
    expect(await receipts(user)).toEqual([10, 10, 20, 40]);
    const page = await use.store.timeseries.find(user, { time: 'ts', limit: 9 });
    expect(page.received_ts).toEqual([10]);
  });

  it('a receipt that another store noted is taken over, and changes alone', async () => {
    const user = await newUser(use.store);
    await use.store.usercache.put(user, { entries: [fix(1), fix(2)], unusable: [], received_ts: [5, undefined] }, 50);
    expect(await receipts(user)).toEqual([5, 50]);
    await use.store.usercache.put(user, { entries: [fix(2)], unusable: [], received_ts: [7] }, 60);
    expect(await receipts(user)).toEqual([5, 7]);
    await apply(use.store, user, { put: [{ entry: fix(1), ts: 1, received_ts: 5 }] });
    const again = await apply(use.store, user, { put: [{ entry: fix(1), ts: 1, received_ts: 4 }] });
    expect(again).toMatchObject({ unchanged: 1, updated: 0 });
    expect((await use.store.timeseries.find(user, { time: 'ts', limit: 9 })).received_ts).toEqual([4]);
  });

  it('an entry with a write_ts more than a day after its receipt is left out until that time', async () => {
    const user = await newUser(use.store);
    const [inTime, edge, ahead] = [fix(1_000), fix(2_000 + day), fix(2_001 + day)];
    await put(use.store, user, [inTime, edge, ahead, entry(battery, 9 * day)], 2_000);
    const read = async (at: number) =>
      (await use.store.usercache.read(user, { limit: 10, at })).map((row) => row.entry.metadata.write_ts);
    expect(await read(3_000)).toEqual([1_000, 2_000 + day]);
    expect(await read(2_000.5 + day)).toEqual([1_000, 2_000 + day]);
    expect(await read(2_001 + day)).toEqual([1_000, 2_000 + day, 2_001 + day]);
    expect(await read(9 * day)).toEqual([9 * day, 1_000, 2_000 + day, 2_001 + day]);
    expect(await use.store.usercache.ahead(user, 3_000)).toEqual({ count: 2, first_ts: 2_001 + day });
    expect(await use.store.usercache.ahead(user, 9 * day)).toEqual({ count: 0, first_ts: null });
    const moved = (await use.store.usercache.read(user, { limit: 10, at: 3_000 })).map(refOf);
    await use.store.usercache.settle(user, { moved, failed: [] }, 3_000);
    expect(await use.store.pipeline.withWork([user], 3_000)).toEqual(new Set());
    expect(await use.store.pipeline.withWork([user], 2_001 + day)).toEqual(new Set([user]));
  });

  it('entries of the timeseries whose time has not come are found, and wait again, but not over newer ones', async () => {
    const user = await newUser(use.store);
    const rows = [fix(1), fix(3 * day), fix(4 * day)].map((one) => ({ entry: one, ts: 1, received_ts: 100 }));
    await apply(use.store, user, { put: rows });
    const ahead = await use.store.timeseries.ahead(user, { at: 200, limit: 9 });
    expect(ahead.map((one) => [one.entry.metadata.write_ts, one.received_ts, one.ts])).toEqual([
      [3 * day, 100, 1],
      [4 * day, 100, 1],
    ]);
    expect(await use.store.timeseries.ahead(user, { at: 200, limit: 1 })).toHaveLength(1);
    expect(await use.store.timeseries.ahead(user, { at: 4 * day, limit: 9 })).toEqual([]);
    await put(use.store, user, [fix(4 * day, { newer: true })], 300);
    const entries = ahead.map((one) => one.entry);
    await use.store.usercache.put(user, { entries, unusable: [], received_ts: [100, 100], kept: true }, 400);
    const found = await waiting(use.store, user);
    same(
      found.map((row) => [row.entry, row.received_ts, row.kept ?? false]),
      [
        [fix(3 * day), 100, true],
        [fix(4 * day, { newer: true }), 100, false],
      ],
    );
    await put(use.store, user, [fix(3 * day, { newer: true })], 500);
    expect((await waiting(use.store, user)).some((row) => row.kept)).toBe(false);
  });
}
