// Contract: the error timeseries, and the way back from there.
import { expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { ErrorRow } from '../../../src/store/store.ts';
import { battery, entry, fix, fixes, newPerson, type Person, refuse, same, type Use } from './kit.ts';

/** Errors as `takeBack` takes them: unchanged, or each with the entry that replaces it. */
const back = (errors: readonly ErrorRow[], entryOf?: (i: number) => Entry) =>
  errors.map((row, i) => ({ id: row.id, entry: entryOf?.(i) ?? (row.entry as unknown as Entry) }));

export function errorTests(use: Use): void {
  const putUnusable = (user: Person, things: string[], now: number) =>
    use.store.usercache.put(
      user.id,
      { entries: [], unusable: things.map((what) => ({ entry: { what }, reason: 'r', message: 'm' })) },
      now,
    );

  it('errors are listed by id in pages, chosen by key and reason', async () => {
    const user = await newPerson(use.store);
    await user.putFailed([fix(1), fix(2), fix(3)], 1, 'one');
    await user.putFailed([entry(battery, 1)], 1, 'two');
    const unusable = [
      { entry: { metadata: { key: battery } }, reason: 'one', message: 'no write_ts' },
      { entry: 'text', reason: 'one', message: 'no object' },
    ];
    await user.putUnusable(unusable, 1);
    await (await newPerson(use.store)).putFailed([fix(9)], 1, 'one');

    const all = await user.errors();
    expect(all.map((row) => row.id)).toEqual(all.map((row) => row.id).sort());
    for (const limit of [1, 2, 5, 6]) {
      const paged = [];
      for (let after: string | undefined; ; after = paged.at(-1)!.id) {
        const page = await use.store.errors.list(user.id, after === undefined ? { limit } : { limit, after });
        expect(page.length).toBeLessThanOrEqual(limit);
        if (page.length === 0) break;
        paged.push(...page);
      }
      same(paged, all);
    }
    expect(await use.store.errors.list(user.id, { key: battery, limit: 10 })).toHaveLength(2);
    expect(await use.store.errors.list(user.id, { reason: 'one', limit: 10 })).toHaveLength(5);
    expect(await use.store.errors.list(user.id, { key: battery, reason: 'two', limit: 10 })).toHaveLength(1);
    expect(await use.store.errors.list(user.id, { key: 'not/there', limit: 10 })).toEqual([]);
    expect(await use.store.errors.summary(user.id)).toEqual([
      { key: null, reason: 'one', count: 1 },
      { key: battery, reason: 'one', count: 1 },
      { key: battery, reason: 'two', count: 1 },
      { key: 'background/location', reason: 'one', count: 3 },
    ]);
  });

  it('many errors are listed over all their pages', async () => {
    const user = await newPerson(use.store);
    await user.putFailed(fixes(0, 450));
    expect(new Set((await user.errors()).map((row) => row.identity!.write_ts)).size).toBe(450);
    expect(await use.store.errors.list(user.id, { limit: 250 })).toHaveLength(250);
  });

  it('an error taken back waits again, and is no longer an error', async () => {
    const user = await newPerson(use.store);
    await user.putFailed([fix(1), fix(2)]);
    const one = (await user.errors()).filter((row) => row.identity?.write_ts === 1);
    expect(await use.store.errors.takeBack(user.id, back(one))).toBe(1);
    same(await user.waiting(), [fix(1)]);
    expect(await user.errors()).toHaveLength(1);
    expect(await use.store.errors.takeBack(user.id, back(one))).toBe(0);
    expect(await use.store.errors.takeBack(user.id, [])).toBe(0);
    expect(await user.moveAll()).toMatchObject({ inserted: 1 });
  });

  it('an error whose identity already waits with newer content is removed, and the newer content stays', async () => {
    const user = await newPerson(use.store);
    await user.putFailed([fix(1, { a: 'old' }), fix(2, { a: 'old' })]);
    await user.put([fix(1, { a: 'new' })]);
    expect(await use.store.errors.takeBack(user.id, back(await user.errors()))).toBe(1);
    same(await user.waiting(), [fix(1, { a: 'new' }), fix(2, { a: 'old' })]);
    same(await user.errors(), []);
  });

  it('something unusable can come back repaired', async () => {
    const user = await newPerson(use.store);
    await putUnusable(user, ['a'], 1);
    const errors = await user.errors();
    expect(
      await use.store.errors.takeBack(
        user.id,
        back(errors, () => entry(battery, 5)),
      ),
    ).toBe(1);
    same(await user.waiting(), [entry(battery, 5)]);
    same(await user.errors(), []);
  });

  it('something unusable does not come back over newer content of its identity, wherever that is, and leaves', async () => {
    const user = await newPerson(use.store);
    await putUnusable(user, ['a', 'b', 'c', 'd'], 10);
    const unusable = await user.errors();
    await user.moveIn([fix(0)], 11);
    await user.putFailed([fix(1)], 11);
    await user.put([fix(2)], 11);
    expect(
      await use.store.errors.takeBack(
        user.id,
        back(unusable, (i) => fix(i, { old: true })),
      ),
    ).toBe(1);
    same(await user.waiting(), [fix(2), fix(3, { old: true })]);
    same(
      (await user.errors()).map((row) => row.entry),
      [fix(1) as never],
    );
  });

  it('something unusable stays where nobody can tell whether it is newer than what has its identity', async () => {
    const user = await newPerson(use.store);
    await user.moveIn([fix(0)], 9);
    await user.putFailed([fix(1)], 9);
    await user.put([fix(2)], 9);
    await putUnusable(user, ['a', 'b', 'c'], 9);
    const before = await user.errors();
    const unnamed = before.filter(({ identity }) => identity === null);
    expect(
      await use.store.errors.takeBack(
        user.id,
        back(unnamed, (i) => fix(i, { other: true })),
      ),
    ).toBe(0);
    same(await user.waiting(), [fix(2)]);
    same(await user.errors(), before);
  });

  it('of several errors with one identity the first comes back', async () => {
    const user = await newPerson(use.store);
    await putUnusable(user, ['a', 'b'], 9);
    const errors = (await user.errors()).reverse();
    expect(
      await use.store.errors.takeBack(
        user.id,
        back(errors, (i) => fix(1, { i })),
      ),
    ).toBe(1);
    same(await user.waiting(), [fix(1, { i: 0 })]);
    same(await user.errors(), []);
  });

  it('an error taken back that fails again keeps since when and how often, also after it was pushed again', async () => {
    const user = await newPerson(use.store);
    await user.putFailed([fix(1), fix(2)], 10.5);
    await use.store.errors.takeBack(user.id, back(await user.errors()));
    await user.put([fix(1, { again: true }), fix(3)], 20);
    await user.moveAll(refuse('again'), { at: 30 });
    const errors = (await user.errors()).sort((a, b) => a.identity!.write_ts - b.identity!.write_ts);
    expect(errors).toMatchObject([
      { first_ts: 10.5, last_ts: 30, tries: 2, reason: 'again', entry: fix(1, { again: true }), received_ts: 10.5 },
      { first_ts: 10.5, last_ts: 30, tries: 2, reason: 'again', entry: fix(2), received_ts: 10.5 },
      { first_ts: 30, last_ts: 30, tries: 1, received_ts: 20 },
    ]);
  });

  it('errors are written exactly as given, whatever was stored before', async () => {
    const [user, other] = [await newPerson(use.store), await newPerson(use.store)];
    await user.putFailed([fix(1), fix(2)], 10);
    await other.putFailed([fix(1)], 10);
    const [first, second] = await user.errors();
    const times = { first_ts: 1.25, last_ts: 7.5, tries: 4, received_ts: 0.5 };
    const strange: ErrorRow[] = [
      { id: 'a', entry: null, identity: null, reason: 'not_an_object', message: 'found null', ...times },
      { id: 'b', entry: { metadata: { key: battery } }, identity: null, reason: '', message: '\\ \u0000 é', ...times },
      { ...second!, entry: { 'a.b': [-0, '\ud800'] }, reason: 'other', ...times },
      {
        id: 'c',
        entry: { $x: 'y'.repeat(7_000_000), deep: { deeper: {} } },
        identity: { key: 'manual/\\survey', write_ts: 0.1 },
        reason: 'large',
        message: 'm',
        ...times,
      },
    ];
    const byId = (a: ErrorRow, b: ErrorRow): number => (a.id < b.id ? -1 : 1);
    for (let round = 0; round < 2; round++) {
      await use.store.errors.put(user.id, strange);
      const all = [];
      for (let after = ''; ; after = all.at(-1)!.id) {
        const page = await use.store.errors.list(user.id, { after, limit: 100 });
        if (page.length === 0) break;
        all.push(...page);
      }
      same(all, [first!, ...strange].sort(byId));
    }
    expect(await use.store.errors.summary(user.id)).toContainEqual({ key: battery, reason: '', count: 1 });
    await use.store.errors.put(user.id, []);
    expect(await other.errors()).toHaveLength(1);
  });

  it('an error written as given can be taken back, and keeps its count of failures', async () => {
    const user = await newPerson(use.store);
    const { key, write_ts } = fix(1).metadata;
    const times = { first_ts: 2, last_ts: 3, tries: 5, received_ts: 1 };
    const made = {
      id: 'made',
      entry: fix(1) as never,
      identity: { key, write_ts },
      reason: 'r',
      message: 'm',
      ...times,
    };
    await use.store.errors.put(user.id, [made]);
    expect(await use.store.errors.takeBack(user.id, back([made]))).toBe(1);
    await user.moveAll(refuse(), { at: 9 });
    expect(await user.errors()).toMatchObject([{ first_ts: 2, last_ts: 9, tries: 6 }]);
  });

  it('an error is not taken back from another user', async () => {
    const [a, b] = [await newPerson(use.store), await newPerson(use.store)];
    await a.putFailed([fix(1)]);
    expect(await use.store.errors.takeBack(b.id, back(await a.errors()))).toBe(0);
    expect(await b.waiting()).toEqual([]);
    expect(await a.errors()).toHaveLength(1);
  });

  it('an error taken back three times at once goes back once', async () => {
    const user = await newPerson(use.store);
    await user.putFailed(fixes(0, 20));
    const errors = back(await user.errors());
    const counts = await Promise.all([1, 2, 3].map(() => use.store.errors.takeBack(user.id, errors)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
    expect(await user.waiting()).toHaveLength(20);
  });
}
