// Contract: rows are written about admitted users only, from their registration to their erasure.
import { expect, it } from 'vitest';
import { battery, entry, fix, newId, newPerson, noRows, numbers, Person, rejects, type Use } from './kit.ts';

/** Every method that writes rows about a user without a lease. */
const writes: Record<string, (user: Person) => Promise<unknown>> = {
  'usercache.put of entries': (user) => user.put([fix(1)]),
  'usercache.put of something unusable': (user) => user.putUnusable([{ entry: 1, reason: 'r', message: 'm' }], 1),
  'usercache.put of a note': (user) =>
    user.store.usercache.put(user.id, { entries: [], unusable: [], note: { set: { a: 1 } } }, 1),
  'profiles.merge': (user) => user.store.profiles.merge(user.id, { a: 1 }),
  'errors.recover': (user) => user.store.errors.recover(user.id, [{ id: 'x', last_ts: 0, tries: 1, entry: fix(1) }]),
  'errors.remove': (user) => user.store.errors.remove(user.id, [], 0),
  'errors.put': (user) => user.store.errors.put(user.id, []),
  'tokens.add': (user) => user.store.tokens.add({ hash: newId(), user_id: user.id, created_ts: 1, expires_ts: null }),
  'leases.acquire': (user) => user.store.leases.acquire(user.id, 'a', 60),
};

export function admissionTests(use: Use): void {
  it.each(Object.entries(writes))('%s is refused before a registration and after an erasure', async (_, write) => {
    const user = new Person(use.store, newId());
    const isRefused = async (): Promise<void> => {
      await rejects(write(user), 'MOBILITY_USER_UNKNOWN');
      expect(await use.store.counts(user.id)).toEqual(noRows);
    };
    await isRefused();
    await use.store.users.register(user.id, { uuid: user.id, now: 1 });
    await write(user);
    await use.store.erase(user.id);
    await isRefused();
  });

  it('writes during an erasure leave no rows, refused or not', async () => {
    const { store } = use;
    const other = await use.another();
    for (let round = 0; round < 2; round++) {
      const user = await newPerson(store);
      await user.putFailed([fix(0)]);
      const lease = await user.lease('a run');
      const [error] = await user.errors();
      const writing = Array.from({ length: 4 }, async (_, i) => {
        const from = i % 2 === 0 ? store : other;
        await user.on(from).put(numbers(0, 10).map((n) => entry(battery, i * 10 + n)));
        await from.profiles.merge(user.id, { i });
        await from.errors.recover(user.id, [{ ...error!, entry: fix(0) }]);
        await user.on(from).move(lease);
        const change = { put: [{ key: `d${i}`, write_ts: 1, data: {} }], remove: [] };
        await from.documents.apply(user.id, change, lease);
      });
      const erased = (round % 2 === 0 ? store : other).erase(user.id);
      const ended = await Promise.allSettled([...writing, erased]);
      for (const one of ended) {
        if (one.status === 'fulfilled') continue;
        expect(one.reason).toMatchObject({ code: expect.stringMatching(/^MOBILITY_(USER_UNKNOWN|LEASE_LOST)$/) });
      }
      expect(ended.at(-1)!.status).toBe('fulfilled');
      expect(await store.counts(user.id)).toEqual(noRows);
    }
  });
}
