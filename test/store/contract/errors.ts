// Contract: the error timeseries, and the way back from there.
import { expect } from 'vitest';
import { errorIdOf } from '../../../src/model/rejections.ts';
import type { ErrorRow } from '../../../src/store/store.ts';
import { countRejected } from '../../support/store.ts';
import { battery, entry, fix, fixes, type Person, refuse, same, type Use } from './kit.ts';

export function errorTests(use: Use): void {
  /** Errors without an identity. */
  const putUnusable = async (user: Person, things: string, now: number): Promise<ErrorRow[]> => {
    const unusable = [...things].map((what) => ({ entry: { what }, reason: 'r', message: 'm' }));
    await user.putUnusable(unusable, now);
    return (await user.errors()).filter(({ identity }) => identity === null);
  };

  use.it('errors are listed by id in parts, selected by key and reason', async (user, other) => {
    await user.putFailed([fix(1), fix(2), fix(3)], 1, 'one');
    await user.putFailed([entry(battery, 1)], 1, 'two');
    const unusable = [
      { entry: { metadata: { key: battery } }, reason: 'one', message: 'no write_ts' },
      { entry: 'text', reason: 'one', message: 'no object' },
    ];
    await user.putUnusable(unusable, 1);
    await other.putFailed([fix(9)], 1, 'one');
    const all = await user.errors();
    expect(all.map((row) => row.id)).toEqual(all.map((row) => row.id).sort());
    for (const limit of [1, 2, 5, 6]) same(await user.errors(limit), all);
    for (const [chosen, count] of [
      [{ key: battery }, 2],
      [{ reason: 'one' }, 5],
      [{ key: battery, reason: 'two' }, 1],
      [{ key: 'not/there' }, 0],
    ] as const)
      expect(await use.store.errors.list(user.id, { ...chosen, limit: 10 })).toHaveLength(count);
    expect(await countRejected(use.store, user.id)).toEqual([
      { key: null, reason: 'one', count: 1 },
      { key: battery, reason: 'one', count: 1 },
      { key: battery, reason: 'two', count: 1 },
      { key: 'background/location', reason: 'one', count: 3 },
    ]);
  });

  use.it('a recovered error is pending, and a removed one is gone, for one user only', async (user, other) => {
    await user.putFailed([fix(1), fix(2)]);
    const one = (await user.errors()).filter((row) => row.identity?.write_ts === 1);
    expect(await other.recover(one)).toBe(0);
    expect(await user.recover(one)).toBe(1);
    same(await user.waiting(), [fix(1)]);
    expect(await user.errors()).toHaveLength(1);
    expect(await user.recover(one)).toBe(0);
    expect(await user.recover([])).toBe(0);
    expect(await user.moveAll()).toMatchObject({ inserted: 1 });
    await other.putFailed([fix(2)]);
    const [{ id }] = (await user.errors()) as [ErrorRow];
    expect(await use.store.errors.remove(user.id, [id, 'unknown'], 1e13)).toBe(1);
    expect(await Promise.all([user, other].map((one) => use.store.errors.count(one.id)))).toEqual([0, 1]);
  });

  use.it('an error that newer content replaced since it was read is neither recovered nor removed', async (user) => {
    await user.putFailed([fix(1, { a: 'old' })], 10);
    const read = await user.errors();
    await user.putFailed([fix(1, { a: 'new' })], 20);
    expect(await user.recover(read)).toBe(0);
    expect(await use.store.errors.remove(user.id, [read[0]!.id], 20)).toBe(0);
    expect(await user.errors()).toMatchObject([{ entry: fix(1, { a: 'new' }), last_ts: 20, tries: 2 }]);
  });

  use.it('an error whose identity is pending with newer content gives way to it', async (user) => {
    await user.putFailed([fix(1, { a: 'old' }), fix(2, { a: 'old' })]);
    await user.put([fix(1, { a: 'new' })]);
    expect(await user.recover(await user.errors())).toBe(1);
    same(await user.waiting(), [fix(1, { a: 'new' }), fix(2, { a: 'old' })]);
    same(await user.errors(), []);
  });

  use.it('an unusable value gives way to newer content, and stays if it may be newer or older', async (one, other) => {
    for (const at of [10, 11]) {
      const user = at === 11 ? one : other;
      const unusable = await putUnusable(user, 'abcd', 10);
      await user.moveIn([fix(0)], at);
      await user.putFailed([fix(1)], at);
      await user.put([fix(2)], at);
      const kept = (await user.errors()).filter(({ id }) => !unusable.some((some) => some.id === id));
      expect(await user.recover(unusable, (i) => fix(i, { old: true }))).toBe(1);
      same(await user.waiting(), [fix(2), fix(3, { old: true })]);
      const left = at === 11 ? kept : [...kept, ...unusable.slice(0, 3)];
      same(new Set(await user.errors()), new Set(left));
    }
  });

  use.it('of several errors with one identity the first is recovered', async (user) => {
    const errors = (await putUnusable(user, 'ab', 9)).reverse();
    expect(await user.recover(errors, (i) => fix(1, { i }))).toBe(1);
    same(await user.waiting(), [fix(1, { i: 0 })]);
    same(await user.errors(), []);
  });

  use.it('an error that fails again keeps its first time and tries, also if it is pushed again', async (user) => {
    await user.putFailed([fix(1), fix(2)], 10.5);
    await user.recover(await user.errors());
    await user.put([fix(1, { again: true }), fix(3)], 20);
    await user.moveAll(refuse('again'), { at: 30 });
    const errors = (await user.errors()).sort((a, b) => a.identity!.write_ts - b.identity!.write_ts);
    const times = { first_ts: 10.5, last_ts: 30, tries: 2, received_ts: 10.5 };
    expect(errors).toMatchObject([
      { ...times, reason: 'again', entry: fix(1, { again: true }) },
      { ...times, reason: 'again', entry: fix(2) },
      { first_ts: 30, last_ts: 30, tries: 1, received_ts: 20 },
    ]);
  });

  use.it('errors are written exactly as given, over any stored ones, and can be recovered', async (user) => {
    await user.putFailed([fix(1), fix(2)], 10);
    const [first, second] = await user.errors();
    const times = { first_ts: 1.25, last_ts: 7.5, tries: 4, received_ts: 0.5 };
    const large = { $x: 'y'.repeat(7_000_000), deep: { deeper: {} } };
    const [made, odd] = [fix(1).metadata, { key: 'manual/\\survey', write_ts: 0.1 }];
    const strange: ErrorRow[] = [
      { id: 'a', entry: null, identity: null, reason: 'not_an_object', message: 'found null', ...times },
      { id: 'b', entry: { metadata: { key: battery } }, identity: null, reason: '', message: '\\ \u0000 é', ...times },
      { ...second!, entry: { 'a.b': [-0, '\ud800'] }, reason: 'other', ...times },
      { id: 'c', entry: large, identity: odd, reason: 'large', message: 'm', ...times },
      { ...first!, identity: { key: made.key, write_ts: made.write_ts }, entry: fix(1) as never, ...times },
    ];
    strange.sort((a, b) => (a.id < b.id ? -1 : 1));
    for (let round = 0; round < 2; round++) {
      await use.store.errors.put(user.id, strange);
      same(await user.errors(), strange);
    }
    expect(await countRejected(use.store, user.id)).toContainEqual({ key: battery, reason: '', count: 1 });
    expect(await user.recover(strange.filter(({ id }) => id === first!.id))).toBe(1);
    await user.moveAll(refuse(), { at: 9 });
    const again = (await user.errors()).filter(({ id }) => id === first!.id);
    expect(again).toMatchObject([{ first_ts: 1.25, last_ts: 9, tries: 5, received_ts: 0.5 }]);
  });

  use.it('an error of a pending identity is left out, since the pending entry is newer', async (user) => {
    await user.putFailed([fix(1)], 10);
    const [error] = await user.errors();
    await user.put([fix(2)]);
    const identity = { ...error!.identity!, write_ts: 2 };
    const imported = { ...error!, id: errorIdOf(identity), identity };
    await use.store.errors.put(user.id, [imported]);
    same(await user.errors(), [error!]);
    await user.moveAll();
    await use.store.errors.put(user.id, [imported]);
    expect(await user.errors()).toHaveLength(2);
  });

  use.it('an error that is recovered three times simultaneously is moved once', async (user) => {
    await user.putFailed(fixes(0, 20));
    const errors = await user.errors();
    const counts = await Promise.all([1, 2, 3].map(() => user.recover(errors)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
    expect(await user.waiting()).toHaveLength(20);
  });
}
