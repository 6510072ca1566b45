// Contract: when the service received an entry first, and entries that claim to be written long after that.
import { expect } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { PersonFigures } from '../../../src/store/store.ts';
import { battery, entry, findRows, fix, type Person, refuse, same, type Use } from './kit.ts';

const day = 86_400;

export function receiptTests(use: Use): void {
  const receipts = async (user: Person, place: 'usercache' | 'timeseries' = 'usercache') => {
    const rows = await findRows(use.store[place], user.id, { time: 'write_ts', limit: 100 });
    return rows.map((row) => row.received_ts);
  };

  use.it('the first receipt of an identity is kept through all moves of the entry', async (user) => {
    await user.put([fix(1)], 10);
    await user.put([fix(1, { again: true })], 20);
    expect(await receipts(user)).toEqual([10]);
    await user.moveAll();
    expect(await receipts(user, 'timeseries')).toEqual([10]);
    await user.moveIn([fix(1, { later: true })], 30);
    expect(await receipts(user, 'timeseries')).toEqual([10]);
    await user.putFailed([fix(1, { bad: true })], 40);
    const [error] = await user.errors();
    expect(error!.received_ts).toBe(10);
    await use.store.errors.recover(user.id, [{ ...error!, entry: fix(1) }]);
    expect(await receipts(user)).toEqual([10]);
    await user.put([fix(1, { last: true }), fix(2)], 50);
    expect(await receipts(user)).toEqual([10, 50]);
  });

  use.it('a receipt that another store recorded is copied, and nothing else changes', async (user) => {
    const copy = (entries: Entry[], received_ts: (number | undefined)[], now: number) =>
      use.store.usercache.put(user.id, { entries, unusable: [], received_ts }, now);
    await copy([fix(1), fix(2)], [5, undefined], 50);
    expect(await receipts(user)).toEqual([5, 50]);
    await copy([fix(2)], [7], 60);
    expect(await receipts(user)).toEqual([5, 7]);
    await user.moveAll();
    await copy([fix(1)], [4], 70);
    const again = await user.moveAll();
    expect(again).toMatchObject({ unchanged: 1, updated: 0, dirty: { changed: null } });
    expect(await receipts(user, 'timeseries')).toEqual([4, 7]);
  });

  use.it('an entry with a write_ts outside of the calendar is due immediately', async (user) => {
    await user.put([fix(300_000_000_000)], 2_000);
    expect(await use.store.pipeline.withWork([user.id], 2_000)).toEqual(new Set([user.id]));
    expect((await user.moveAll(undefined, { at: 2_000 })).moved).toHaveLength(1);
    expect(await use.store.usercache.count(user.id)).toBe(0);
  });

  use.it('an entry with a write_ts more than a day after its receipt is pending until that time', async (user) => {
    const [inTime, edge, ahead, late] = [fix(1_000), fix(2_000 + day), fix(2_001 + day), entry(battery, 9 * day)];
    await user.put([inTime, edge, ahead, late], 2_000);
    const [{ waiting }] = (await use.store.users.figures({ uuid: user.id })) as [PersonFigures];
    expect(waiting).toEqual({ count: 4, ahead: 2, next_due_ts: 2_001 + day });

    const first = await user.moveAll(undefined, { at: 2_000.5 + day });
    expect(first).toMatchObject({ inserted: 2, more: false });
    same(await user.stored(), [inTime, edge]);
    same(await user.waiting(), [ahead, late]);
    expect(await use.store.pipeline.withWork([user.id], 2_000.5 + day)).toEqual(new Set([user.id])); // marked as changed
    await user.mergeState({ changed: null });
    expect(await use.store.pipeline.withWork([user.id], 2_000.5 + day)).toEqual(new Set());
    expect(await use.store.pipeline.withWork([user.id], 2_001 + day)).toEqual(new Set([user.id]));

    const second = await user.moveAll(refuse('late'), { at: 2_001 + day });
    expect(second).toMatchObject({ failed: [{ write_ts: 2_001 + day }], inserted: 0, more: false });
    same(await user.waiting(), [late]);
    await user.moveAll(undefined, { at: 9 * day });
    same(await user.waiting(), []);
  });

  use.it('an entry ahead of its time that is pushed again with a known receipt is still pending', async (user) => {
    await user.put([fix(3 * day, { a: 1 })], 10);
    await user.put([fix(3 * day, { a: 2 })], 2.5 * day);
    await user.moveAll(undefined, { at: 2.5 * day });
    same(await user.waiting(), [fix(3 * day, { a: 2 })]);
    expect(await receipts(user)).toEqual([10]);
  });
}
