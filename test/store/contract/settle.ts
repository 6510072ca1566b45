// Contract: the end of an entry's stay in the usercache, the error timeseries, and the way back.
import { describe, expect, it } from 'vitest';
import { identityText } from '../../../src/model/entry.ts';
import type { ErrorRow, Lease, Store, Usercache, WaitingEntry } from '../../../src/store/store.ts';
import {
  apply,
  battery,
  entry,
  failedOf,
  fix,
  leaseOn,
  newUser,
  put,
  putFailed,
  refOf,
  same,
  type Use,
  waiting,
  waitingEntries,
} from './kit.ts';

const moved = (rows: WaitingEntry[]) => ({ moved: rows.map(refOf), failed: [] });

async function errorsOf(store: Store, user: string) {
  return store.errors.list(user, { limit: 1_000 });
}

/** How a test reads what waits, and ends stays. */
interface Settling {
  read(store: Store, user: string): Promise<WaitingEntry[]>;
  /** Returns how many left. `then`: what happens before the run ends. */
  settle(
    store: Store,
    ...call: [...Parameters<Usercache['settle']>, then?: () => Promise<unknown>]
  ): ReturnType<Usercache['settle']>;
}

const atOnce: Settling = {
  read: waiting,
  settle: async (store, user, outcome, now, then) => {
    const left = await store.usercache.settle(user, outcome, now);
    await then?.();
    return left;
  },
};

/**
 * As the pipeline does: what a run of a user read is stored in the timeseries and settled through the view of the run,
 * which ends with the documents.
 */
function inRuns(): Settling {
  const runs = new Map<string, { view: Store; lease: Lease; rows: Map<string, WaitingEntry> }>();
  const runOf = async (store: Store, user: string) => {
    const begun = runs.get(user);
    if (begun !== undefined) return begun;
    const run = { view: store.forRun?.(user) ?? store, lease: await leaseOn(store, user), rows: new Map() };
    runs.set(user, run);
    return run;
  };
  return {
    read: async (store, user) => {
      const { view, rows } = await runOf(store, user);
      const found = await waiting(view, user);
      for (const row of found) rows.set(`${row.revision} ${identityText(row.entry.metadata)}`, row);
      return found;
    },
    settle: async (store, user, outcome, now, then) => {
      const { view, lease, rows } = await runOf(store, user);
      runs.delete(user);
      const kept = outcome.moved.flatMap((ref) => rows.get(`${ref.revision} ${identityText(ref)}`) ?? []);
      const put = kept.map(({ entry: one, received_ts }) => ({ entry: one, ts: null, received_ts }));
      await view.timeseries.apply(user, { put, remove: outcome.failed }, lease);
      const { count } = await store.usercache.summary(user);
      await view.usercache.settle(user, outcome, now);
      await then?.();
      await view.documents.apply(user, { put: [], remove: [] }, lease, { release: true });
      return count - (await store.usercache.summary(user)).count;
    },
  };
}

/** Ends of stays, told to the store itself or in runs. */
function stayTests(use: Use, by: Settling): void {
  it('moved entries leave, each by its identity', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1), fix(2), entry(battery, 1)]);
    const rows = await by.read(use.store, user);
    expect(await by.settle(use.store, user, moved(rows.slice(0, 2)), 1)).toBe(2);
    same(await waiting(use.store, user), rows.slice(2));
    expect(await by.settle(use.store, user, moved(rows), 1)).toBe(1);
    expect(await by.settle(use.store, user, moved(rows), 1)).toBe(0);
    expect(await by.settle(use.store, user, { moved: [], failed: [] }, 1)).toBe(0);
  });

  it('the keys of what waits are told, those of others and of what left are not', async () => {
    const [user, other] = [await newUser(use.store), await newUser(use.store)];
    await put(use.store, user, [fix(1), fix(2), entry('odd.$key\\', 1)]);
    await put(use.store, other, [entry(battery, 1)]);
    const rows = await by.read(use.store, user);
    const location = fix(1).metadata.key;
    expect((await use.store.usercache.keys(user)).sort()).toEqual([location, 'odd.$key\\']);
    await by.settle(use.store, user, moved(rows.filter((row) => row.entry.metadata.key !== location)), 1);
    expect(await use.store.usercache.keys(user)).toEqual([location]);
    expect(await use.store.usercache.keys('00000000-0000-4000-8000-00000000dead')).toEqual([]);
  });

  it('an entry pushed again since it was read stays, even with the same content', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1, { a: 1 }), fix(2), fix(3)]);
    const rows = await by.read(use.store, user);
    await put(use.store, user, [fix(1, { a: 2 }), fix(2)]);
    expect(await by.settle(use.store, user, moved(rows), 1)).toBe(1);
    same(await waitingEntries(use.store, user), [fix(1, { a: 2 }), fix(2)]);
  });

  it('a failure of content that was replaced by a newer push is ignored', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1, { a: 'bad' })]);
    const rows = await by.read(use.store, user);
    await put(use.store, user, [fix(1, { a: 'good' })]);
    expect(await by.settle(use.store, user, { moved: [], failed: rows.map((row) => failedOf(row)) }, 1)).toBe(0);
    same(await waitingEntries(use.store, user), [fix(1, { a: 'good' })]);
    same(await errorsOf(use.store, user), []);
  });

  it('a failed entry is set aside as it was pushed, with why and when', async () => {
    const user = await newUser(use.store);
    const sent = entry('manual/survey', 7.25, { 'a.b': [-0, null] }, { $x: { y: '\u0000' } });
    await put(use.store, user, [sent, fix(1)]);
    const row = (await by.read(use.store, user)).find((one) => one.entry.metadata.key === 'manual/survey')!;
    const failed = [failedOf(row, 'bad_value', 'data.x: expected é, found "\u0000"')];
    expect(await by.settle(use.store, user, { moved: [], failed }, 50.5)).toBe(1);
    expect(await by.settle(use.store, user, { moved: [], failed }, 60)).toBe(0);
    const errors = await errorsOf(use.store, user);
    same(errors, [
      {
        id: errors[0]!.id,
        entry: sent as never,
        identity: { key: 'manual/survey', write_ts: 7.25 },
        reason: 'bad_value',
        message: 'data.x: expected é, found "\u0000"',
        first_ts: 50.5,
        last_ts: 50.5,
        tries: 1,
        received_ts: 1_000,
      },
    ]);
    same(await waitingEntries(use.store, user), [fix(1)]);
  });

  it('an entry that fails again is one error, with its newest content and reason and how often', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1, { a: 1 })], 10, 'first');
    await putFailed(use.store, user, [fix(1, { a: 2 })], 20, 'second');
    const errors = await errorsOf(use.store, user);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ reason: 'second', first_ts: 10, last_ts: 20, tries: 2, entry: fix(1, { a: 2 }) });
  });

  it('the error of an identity is removed when newer content of it is moved', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1, { a: 'bad' }), fix(2, { a: 'bad' })]);
    await put(use.store, user, [fix(1, { a: 'good' })]);
    const rows = await by.read(use.store, user);
    expect(await errorsOf(use.store, user)).toHaveLength(2);
    await by.settle(use.store, user, moved(rows), 1);
    expect((await errorsOf(use.store, user)).map((row) => row.identity?.write_ts)).toEqual([2]);
  });

  it('one settle takes moved and failed entries at once', async () => {
    const user = await newUser(use.store);
    await put(
      use.store,
      user,
      Array.from({ length: 300 }, (_, i) => fix(i)),
    );
    const rows = await by.read(use.store, user);
    const outcome = { moved: rows.slice(0, 200).map(refOf), failed: rows.slice(200).map((row) => failedOf(row)) };
    expect(await by.settle(use.store, user, outcome, 1)).toBe(300);
    expect(await use.store.counts(user)).toMatchObject({ usercache: 0, errors: 100 });
  });

  it('settling at once with puts loses nothing', async () => {
    const user = await newUser(use.store);
    const times = Array.from({ length: 30 }, (_, i) => i);
    await put(
      use.store,
      user,
      times.map((ts) => fix(ts, { round: 0 })),
    );
    const rows = await by.read(use.store, user);
    const again = times.filter((ts) => ts % 2 === 0);
    await Promise.all([
      by.settle(use.store, user, moved(rows), 1),
      ...again.map((ts) => put(use.store, user, [fix(ts, { round: 1 })])),
    ]);
    same(
      await waitingEntries(use.store, user),
      again.map((ts) => fix(ts, { round: 1 })),
    );
  });

  it('an entry pushed again after its stay was ended waits, in a run too that goes on', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1, { a: 1 }), fix(2), fix(3)]);
    const rows = await by.read(use.store, user);
    await by.settle(use.store, user, { moved: rows.slice(1).map(refOf), failed: [failedOf(rows[0]!)] }, 1, () =>
      put(use.store, user, [fix(1, { a: 2 }), fix(2)]),
    );
    same(await waitingEntries(use.store, user), [fix(1, { a: 2 }), fix(2)]);
  });

  it('an entry pushed again stays, also if the run has read another entry of the put that brought it', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1, { a: 1 }), fix(2)]);
    const first = await by.read(use.store, user);
    await put(use.store, user, [fix(1, { a: 2 }), fix(3)]);
    const later = (await by.read(use.store, user)).slice(2);
    expect(await by.settle(use.store, user, moved([...first, ...later]), 1)).toBe(2);
    same(await waitingEntries(use.store, user), [fix(1, { a: 2 })]);
  });
}

export function settleTests(use: Use): void {
  stayTests(use, atOnce);
  describe('in a run', () => stayTests(use, inRuns()));

  it('a revision is never used again, not even after the entry left and came back', async () => {
    const user = await newUser(use.store);
    const seen = new Set<string>();
    let last: WaitingEntry[] = [];
    for (let round = 0; round < 10; round++) {
      await put(use.store, user, [fix(1, { a: 'same' }), fix(1, { a: 'same' })]);
      const rows = await waiting(use.store, user);
      expect(rows).toHaveLength(1);
      expect(seen.has(rows[0]!.revision)).toBe(false);
      seen.add(rows[0]!.revision);
      if (round % 2 === 1) await use.store.usercache.settle(user, moved(rows), 1);
      if (round % 4 === 3) await use.store.erase(user);
      if (round % 4 === 3) await use.store.users.admit(user);
      if (last.length > 0) expect(await use.store.usercache.settle(user, moved(last), 1)).toBe(0);
      last = rows;
    }
  });

  it('a revision is not used again by another store on the same data, or after a restart', async () => {
    const opened = await use.open();
    const seen = new Set<string>();
    const user = await newUser(opened.store);
    try {
      for (let round = 0; round < 3; round++) {
        const store = round === 0 ? opened.store : await opened.reopen();
        await put(store, user, [fix(1)]);
        const [row] = await waiting(store, user);
        expect(seen.has(row!.revision)).toBe(false);
        seen.add(row!.revision);
        await store.usercache.settle(user, moved([row!]), 1);
        await store.close();
      }
    } finally {
      await opened.dispose();
    }
  });

  it('errors are listed by id in pages, chosen by key and reason', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1), fix(2), fix(3)], 1, 'one');
    await putFailed(use.store, user, [entry(battery, 1)], 1, 'two');
    const unusable = [
      { entry: { metadata: { key: battery } }, reason: 'one', message: 'no write_ts' },
      { entry: 'text', reason: 'one', message: 'no object' },
    ];
    await use.store.usercache.put(user, { entries: [], unusable }, 1);
    await putFailed(use.store, await newUser(use.store), [fix(9)], 1, 'one');

    const all = await errorsOf(use.store, user);
    expect(all.map((row) => row.id)).toEqual(all.map((row) => row.id).sort());
    for (const limit of [1, 2, 5, 6]) {
      const paged = [];
      for (let after: string | undefined; ; after = paged.at(-1)!.id) {
        const page = await use.store.errors.list(user, after === undefined ? { limit } : { limit, after });
        expect(page.length).toBeLessThanOrEqual(limit);
        if (page.length === 0) break;
        paged.push(...page);
      }
      same(paged, all);
    }
    expect(await use.store.errors.list(user, { key: battery, limit: 10 })).toHaveLength(2);
    expect(await use.store.errors.list(user, { reason: 'one', limit: 10 })).toHaveLength(5);
    expect(await use.store.errors.list(user, { key: battery, reason: 'two', limit: 10 })).toHaveLength(1);
    expect(await use.store.errors.list(user, { key: 'not/there', limit: 10 })).toEqual([]);

    const order = (rows: { key: string | null; reason: string; count: number }[]) =>
      rows.map((row) => `${row.key} ${row.reason} ${row.count}`).sort();
    expect(order(await use.store.errors.summary(user))).toEqual([
      'background/battery one 1',
      'background/battery two 1',
      'background/location one 3',
      'null one 1',
    ]);
  });

  it('an error taken back waits again, and is no longer an error', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1), fix(2)]);
    const errors = await errorsOf(use.store, user);
    const one = errors.find((row) => row.identity?.write_ts === 1)!;
    expect(await use.store.errors.takeBack(user, [{ id: one.id, entry: fix(1) }])).toBe(1);
    same(await waitingEntries(use.store, user), [fix(1)]);
    expect(await errorsOf(use.store, user)).toHaveLength(1);
    expect(await use.store.errors.takeBack(user, [{ id: one.id, entry: fix(1) }])).toBe(0);
    expect(await use.store.errors.takeBack(user, [])).toBe(0);
  });

  it('an error taken back gets its own revision', async () => {
    const user = await newUser(use.store);
    await put(use.store, user, [fix(1)]);
    const before = await waiting(use.store, user);
    await use.store.usercache.settle(user, { moved: [], failed: before.map((row) => failedOf(row)) }, 1);
    const [error] = await errorsOf(use.store, user);
    await use.store.errors.takeBack(user, [{ id: error!.id, entry: fix(1) }]);
    expect(await use.store.usercache.settle(user, moved(before), 1)).toBe(0);
    expect(await waiting(use.store, user)).toHaveLength(1);
  });

  it('an error whose identity already waits with newer content is removed, and the newer content stays', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1, { a: 'old' }), fix(2, { a: 'old' })]);
    await put(use.store, user, [fix(1, { a: 'new' })]);
    const errors = await errorsOf(use.store, user);
    const back = errors.map((row) => ({ id: row.id, entry: row.entry as never }));
    expect(await use.store.errors.takeBack(user, back)).toBe(1);
    same(await waitingEntries(use.store, user), [fix(1, { a: 'new' }), fix(2, { a: 'old' })]);
    same(await errorsOf(use.store, user), []);
  });

  it('something unusable can come back repaired', async () => {
    const user = await newUser(use.store);
    const unusable = [{ entry: { metadata: { key: battery } }, reason: 'no_write_ts', message: 'expected write_ts' }];
    await use.store.usercache.put(user, { entries: [], unusable }, 1);
    const [error] = await errorsOf(use.store, user);
    expect(await use.store.errors.takeBack(user, [{ id: error!.id, entry: entry(battery, 5) }])).toBe(1);
    same(await waitingEntries(use.store, user), [entry(battery, 5)]);
    same(await errorsOf(use.store, user), []);
  });

  it('something unusable does not come back over newer content of its identity, wherever that is, and leaves', async () => {
    const user = await newUser(use.store);
    const broken = ['a', 'b', 'c', 'd'].map((what) => ({ entry: { what }, reason: 'r', message: 'm' }));
    await use.store.usercache.put(user, { entries: [], unusable: broken }, 10);
    const back = (await errorsOf(use.store, user)).map(({ id }, i) => ({ id, entry: fix(i, { old: true }) }));
    await apply(use.store, user, { put: [{ entry: fix(0), ts: 0, received_ts: 11 }] });
    await putFailed(use.store, user, [fix(1)], 11);
    await put(use.store, user, [fix(2)], 11);
    expect(await use.store.errors.takeBack(user, back)).toBe(1);
    same(await waitingEntries(use.store, user), [fix(2), fix(3, { old: true })]);
    same(
      (await errorsOf(use.store, user)).map(({ entry: one }) => one),
      [fix(1) as never],
    );
  });

  it('something unusable stays where nobody can tell whether it is newer than what has its identity', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [{ entry: fix(0), ts: 0, received_ts: 9 }] });
    await putFailed(use.store, user, [fix(1)], 9);
    await put(use.store, user, [fix(2)], 9);
    const broken = ['a', 'b', 'c'].map((what) => ({ entry: { what }, reason: 'r', message: 'm' }));
    await use.store.usercache.put(user, { entries: [], unusable: broken }, 9);
    const before = await errorsOf(use.store, user);
    const unnamed = before.filter(({ identity }) => identity === null);
    const back = unnamed.map(({ id }, i) => ({ id, entry: fix(i, { other: true }) }));
    expect(await use.store.errors.takeBack(user, back)).toBe(0);
    same(await waitingEntries(use.store, user), [fix(2)]);
    same(await errorsOf(use.store, user), before);
  });

  it('of several errors with one identity the first comes back', async () => {
    const user = await newUser(use.store);
    const broken = ['a', 'b'].map((what) => ({ entry: { what }, reason: 'r', message: 'm' }));
    await use.store.usercache.put(user, { entries: [], unusable: broken }, 9);
    const [first, second] = await errorsOf(use.store, user);
    const back = [second!, first!].map(({ id }, i) => ({ id, entry: fix(1, { i }) }));
    expect(await use.store.errors.takeBack(user, back)).toBe(1);
    same(await waitingEntries(use.store, user), [fix(1, { i: 0 })]);
    same(await errorsOf(use.store, user), []);
  });

  it('an error taken back that fails again keeps since when and how often', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1)], 10);
    const [error] = await errorsOf(use.store, user);
    await use.store.errors.takeBack(user, [{ id: error!.id, entry: fix(1) }]);
    const failed = (await waiting(use.store, user)).map((row) => failedOf(row, 'again'));
    await use.store.usercache.settle(user, { moved: [], failed }, 30);
    expect(await errorsOf(use.store, user)).toMatchObject([{ id: error!.id, first_ts: 10, last_ts: 30, tries: 2 }]);
  });

  it('an entry that was taken back keeps its earlier failures, also after it was pushed again', async () => {
    const user = await newUser(use.store);
    await putFailed(use.store, user, [fix(1), fix(2)], 10.5);
    const errors = await errorsOf(use.store, user);
    await use.store.errors.takeBack(user, [{ id: errors[0]!.id, entry: errors[0]!.entry as never }]);
    await put(use.store, user, [fix(3)]);
    const failed = { first_ts: 10.5, tries: 1 };
    same(
      (await waiting(use.store, user)).map((row) => row.failed),
      [failed, undefined],
    );
    await put(use.store, user, [errors[0]!.entry as never, fix(3)]);
    same(
      (await waiting(use.store, user)).map((row) => row.failed),
      [failed, undefined],
    );
  });

  it('errors are written exactly as given, whatever was stored before', async () => {
    const user = await newUser(use.store);
    const other = await newUser(use.store);
    await putFailed(use.store, user, [fix(1), fix(2), fix(3)], 10);
    await putFailed(use.store, other, [fix(1)], 10);
    const [first, second, third] = await errorsOf(use.store, user);
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
    for (let round = 0; round < 2; round++) {
      await use.store.errors.apply(user, { put: strange, remove: [third!.id, 'never there'] });
      const byId = (a: ErrorRow, b: ErrorRow): number => (a.id < b.id ? -1 : 1);
      same(await errorsOf(use.store, user), [first!, ...strange].sort(byId));
    }
    expect(await use.store.errors.summary(user)).toContainEqual({ key: battery, reason: '', count: 1 });
    await use.store.errors.apply(user, { put: [], remove: ['a', 'b', 'c', first!.id, second!.id] });
    await use.store.errors.apply(user, { put: [], remove: [] });
    same(await errorsOf(use.store, user), []);
    expect(await errorsOf(use.store, other)).toHaveLength(1);
  });

  it('an error written as given can be taken back, and keeps its count of failures', async () => {
    const user = await newUser(use.store);
    await use.store.errors.apply(user, {
      put: [
        {
          id: 'made',
          entry: fix(1) as never,
          identity: { key: fix(1).metadata.key, write_ts: 1 },
          reason: 'r',
          message: 'm',
          first_ts: 2,
          last_ts: 3,
          tries: 5,
          received_ts: 1,
        },
      ],
      remove: [],
    });
    expect(await use.store.errors.takeBack(user, [{ id: 'made', entry: fix(1) }])).toBe(1);
    const rows = await waiting(use.store, user);
    await use.store.usercache.settle(user, { moved: [], failed: rows.map((row) => failedOf(row)) }, 9);
    expect(await errorsOf(use.store, user)).toMatchObject([{ first_ts: 2, last_ts: 9, tries: 6 }]);
  });

  it('an error is not taken back from another user', async () => {
    const [a, b] = [await newUser(use.store), await newUser(use.store)];
    await putFailed(use.store, a, [fix(1)]);
    const [error] = await errorsOf(use.store, a);
    expect(await use.store.errors.takeBack(b, [{ id: error!.id, entry: fix(1) }])).toBe(0);
    expect(await waiting(use.store, b)).toEqual([]);
    expect(await errorsOf(use.store, a)).toHaveLength(1);
  });

  it('an error taken back twice concurrently goes back once', async () => {
    const user = await newUser(use.store);
    await putFailed(
      use.store,
      user,
      Array.from({ length: 20 }, (_, i) => fix(i)),
    );
    const back = (await errorsOf(use.store, user)).map((row) => ({ id: row.id, entry: row.entry as never }));
    const counts = await Promise.all([1, 2, 3].map(() => use.store.errors.takeBack(user, back)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
    expect(await waiting(use.store, user)).toHaveLength(20);
  });
}
