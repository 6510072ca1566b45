// What a process leaves that is killed before any statement of a put, a move, an erasure or the making of a store: the
// files as they are at that moment, opened again. Nothing acknowledged is lost, and nothing is there twice.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Judge } from '../../../../src/store/store.ts';
import {
  accept,
  battery,
  entry,
  fix,
  fixes,
  newPerson,
  noRows,
  type Person,
  same,
  storeWithUser,
} from '../../../store/contract/kit.ts';
import { copiesDuring, watched } from '../../../store/support/watched-driver.ts';
import { tempFolder } from '../../../support/clean-up.ts';
import { openStoreIn } from '../../../support/store.ts';

vi.mock('../../../../src/store/sqlite/driver.ts', async (original) =>
  (await import('../../../store/support/watched-driver.ts')).watchedDriver(await original()),
);

afterEach(() => watched.reset());

/** Fails unless each copy has all of the work or nothing of it, the last all, and the work can be repeated on each. */
async function allOrNothing(work: (user: Person) => Promise<unknown>): Promise<void> {
  const { folder, user } = await filledStore();
  const before = await user.content();
  const copies = [...(await copiesDuring(folder, () => work(user))), folder];
  const after = await user.content();
  expect(after).not.toEqual(before);
  expect(copies.length).toBeGreaterThan(5);
  let isDone = false;
  for (const [i, copy] of copies.entries()) {
    const again = await openStoreIn(copy);
    const found = await user.on(again).content();
    isDone ||= JSON.stringify(found) === JSON.stringify(after);
    same(found, isDone ? after : before);
    if (i % 7 === 0 || i === copies.length - 1) {
      await work(user.on(again));
      await user.on(again).moveAll();
      const { waiting: left, stored: all, counts } = await user.on(again).content();
      expect(left).toEqual([]);
      expect(counts.timeseries).toBe(all.length);
    }
    await again.close();
  }
  expect(isDone).toBe(true);
}

/** A user with something everywhere. The connection for writes is open. */
async function filledStore() {
  const { folder, store, user } = await storeWithUser();
  await user.moveIn([...fixes(0, 400), entry(battery, 7, { ts: 7 })]);
  await user.putFailed([fix(500), fix(501)], 10);
  await user.put([...fixes(300, 600, { again: true }), entry(battery, 9)]);
  await store.tokens.add({ hash: 'x', user_id: user.id, created_ts: 1, expires_ts: null });
  return { folder, store, user };
}

describe('a kill before any statement', () => {
  it('of a put leaves all its entries or none', async () => {
    const entries = [...fixes(290, 310, { third: true }), fix(500, { new: 1 }), fix(999)];
    const unusable = [{ entry: 1, reason: 'r', message: 'm' }];
    const note = { set: { put: 1 } };
    await allOrNothing((one) => one.store.usercache.put(one.id, { entries, unusable, note }, 77));
  });

  it('of a move leaves each entry in one place, with its marks', async () => {
    const judge: Judge = (one) => (one.metadata.write_ts % 10 === 0 ? { reason: 'r', message: 'm' } : accept(one));
    await allOrNothing((one) => one.leased((lease) => one.move(lease, judge)));
  });

  it('of an erasure leaves the user unchanged, with an erasure that can be repeated, or erased', async () => {
    const { folder, store, user } = await filledStore();
    const before = await store.counts(user.id);
    const copies = [...(await copiesDuring(folder, () => store.erase(user.id))), folder];
    expect(copies.length).toBeGreaterThan(20);
    const stages = new Set<string>();
    for (const copy of copies) {
      const again = await openStoreIn(copy);
      const [begun] = await again.unfinished();
      const isThere = (await again.users.byUuid(user.id)) !== null;
      const stage = begun?.stage ?? (isThere ? 'there' : 'gone');
      stages.add(stage);
      if (stage === 'there') same(await again.counts(user.id), before);
      else await expect(user.on(again).put([fix(1)])).rejects.toMatchObject({ code: 'MOBILITY_USER_UNKNOWN' });
      if (stage === 'erasing') expect((await again.tokens.list(user.id)).length).toBe(0);
      await again.erase(user.id);
      same(await again.counts(user.id), noRows);
      expect(await again.unfinished()).toEqual([]);
      await again.close();
    }
    expect(stages).toEqual(new Set(['there', 'erasing', 'gone']));
  });

  it('of the creation of a store leaves a folder in which the next opening creates one', async () => {
    const folder = tempFolder();
    const copies = await copiesDuring(folder, async () => {
      const store = await openStoreIn(folder);
      await (await newPerson(store)).put([fix(1)]);
    });
    expect(copies.length).toBeGreaterThan(20);
    for (const copy of copies) {
      const store = await openStoreIn(copy);
      const user = await newPerson(store);
      await user.put([fix(2)]);
      same(await user.waiting(), [fix(2)]);
      await store.close();
    }
  });
});
