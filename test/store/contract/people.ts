// Contract: the registry of users, their tokens and profiles.
import { expect, it } from 'vitest';
import { newUuid } from '../../../src/model/ids.ts';
import type { UserRecord } from '../../../src/model/user.ts';
import { fix, newId, rejects, same, type Use } from './kit.ts';

const name = (): string => `${newId()}@example.org`;

export function peopleTests(use: Use): void {
  it('a name is registered once, keeps its UUID, and is found both ways', async () => {
    const email = name();
    const { user, created } = await use.store.users.register(email, { now: 5.5 });
    expect(created).toBe(true);
    expect(user).toEqual({ uuid: user.uuid, user_email: email, update_ts: 5.5 });
    const again = await use.store.users.register(email, { now: 9 });
    expect(again).toEqual({ user: { ...user, update_ts: 9 }, created: false });
    same(await use.store.users.byEmail(email), again.user);
    same(await use.store.users.byUuid(user.uuid), again.user);
    expect(await use.store.users.byEmail(name())).toBeNull();
    expect(await use.store.users.byUuid(newUuid())).toBeNull();
  });

  it('a given UUID is kept, and registering it again is not an error', async () => {
    const [email, uuid] = [name(), newUuid()];
    expect((await use.store.users.register(email, { uuid, now: 1 })).user.uuid).toBe(uuid);
    expect(await use.store.users.register(email, { uuid, now: 2 })).toMatchObject({ created: false, user: { uuid } });
  });

  it('a name with another UUID, or a UUID with another name, is refused and nothing changes', async () => {
    const [email, uuid] = [name(), newUuid()];
    await use.store.users.register(email, { uuid, now: 1 });
    await rejects(use.store.users.register(email, { uuid: newUuid(), now: 2 }), 'MOBILITY_USER_EXISTS');
    const other = name();
    await rejects(use.store.users.register(other, { uuid, now: 2 }), 'MOBILITY_USER_EXISTS');
    expect(await use.store.users.byEmail(other)).toBeNull();
    expect((await use.store.users.byUuid(uuid))?.update_ts).toBe(1);
  });

  it('names are compared exactly', async () => {
    const base = newId();
    const names = [
      base,
      base.toUpperCase(),
      `${base} `,
      ` ${base}`,
      `${base}\u0000`,
      `${base}\u0000a`,
      `${base}\ud800`,
    ].concat([`${base}\udbff`, `${base}é`, `${base}e\u0301`, `$${base}.x`, `${base}\\u0000`]);
    const uuids = new Set<string>();
    for (const email of names) uuids.add((await use.store.users.register(email, { now: 1 })).user.uuid);
    expect(uuids.size).toBe(names.length);
    for (const email of names) expect((await use.store.users.byEmail(email))?.user_email).toBe(email);
  });

  it('registrations of one name at once make one user', async () => {
    const email = name();
    const other = await use.another();
    const stores = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? use.store : other));
    const results = await Promise.all(stores.map((store) => store.users.register(email, { now: 1 })));
    expect(results.filter((result) => result.created)).toHaveLength(1);
    expect(new Set(results.map((result) => result.user.uuid)).size).toBe(1);
  });

  it('registrations of one UUID with two names at once let one through', async () => {
    const uuid = newUuid();
    const results = await Promise.allSettled(
      [name(), name()].map((email) => use.store.users.register(email, { uuid, now: 1 })),
    );
    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    const failure = results.find((result) => result.status === 'rejected');
    expect((failure as PromiseRejectedResult).reason).toMatchObject({ code: 'MOBILITY_USER_EXISTS' });
  });

  it('users are listed by UUID, in pages', async () => {
    const mine: string[] = [];
    for (let i = 0; i < 7; i++) mine.push((await use.store.users.register(name(), { now: i })).user.uuid);
    const uuidsOf = (users: readonly UserRecord[]): string[] => users.map(({ uuid }) => uuid);
    const all = uuidsOf(await use.store.users.list({ limit: 1_000 }));
    expect(all).toEqual([...new Set(all)].sort());
    expect(all).toEqual(expect.arrayContaining(mine));
    for (const limit of [1, 3]) {
      const listed: string[] = [];
      for (let pages = 0; pages < 10; pages++) {
        const after = listed.at(-1);
        const page = await use.store.users.list(after === undefined ? { limit } : { after, limit });
        listed.push(...uuidsOf(page));
      }
      expect(listed).toEqual(all.slice(0, 10 * limit));
      expect(uuidsOf(await use.store.users.list({ after: all.at(-3)!, limit }))).toEqual(all.slice(-2).slice(0, limit));
    }
    expect(await use.store.users.list({ after: all.at(-1)!, limit: 3 })).toEqual([]);
  });

  use.it('tokens are found by hash, listed and removed by user', async (a, b) => {
    const hash = () => `${newId()}${newId()}`.replaceAll('-', '');
    const tokens = [
      { hash: hash(), user_id: a.id, created_ts: 1.5, expires_ts: 10 },
      { hash: hash(), user_id: a.id, created_ts: 2, expires_ts: null },
      { hash: hash(), user_id: b.id, created_ts: 3, expires_ts: null },
    ];
    for (const token of tokens) await use.store.tokens.add(token);
    same(await use.store.tokens.byHash(tokens[0]!.hash), tokens[0]!);
    same(await use.store.tokens.byHash(tokens[1]!.hash), tokens[1]!);
    expect(await use.store.tokens.byHash(hash())).toBeNull();
    const list = await use.store.tokens.list(a.id);
    same(
      [...list].sort((x, y) => x.created_ts - y.created_ts),
      tokens.slice(0, 2),
    );

    expect(await use.store.tokens.remove(a.id, tokens[2]!.hash)).toBe(0);
    expect(await use.store.tokens.remove(a.id, tokens[0]!.hash)).toBe(1);
    expect(await use.store.tokens.byHash(tokens[0]!.hash)).toBeNull();
    await use.store.tokens.add(tokens[0]!);
    expect(await use.store.tokens.remove(a.id)).toBe(2);
    expect(await use.store.tokens.remove(a.id)).toBe(0);
    expect(await use.store.tokens.list(a.id)).toEqual([]);
    same(await use.store.tokens.list(b.id), [tokens[2]!]);
  });

  use.it('a profile takes fields one by one, and defaults only where nothing is yet', async (user) => {
    expect(await use.store.profiles.get(user.id)).toBeNull();
    same(await use.store.profiles.merge(user.id, { a: 1, 'b.c': { d: [1] } }, { a: 9, source: 'Shankari' }), {
      a: 1,
      'b.c': { d: [1] },
      source: 'Shankari',
    });
    const whole = { a: 1, 'b.c': { e: 2 }, source: 'Shankari', $f: null, mode: 'x' };
    same(
      await use.store.profiles.merge(user.id, { 'b.c': { e: 2 }, $f: null }, { source: 'other', mode: 'x', $f: 3 }),
      whole,
    );
    same(await use.store.profiles.get(user.id), whole);
    same(await use.store.profiles.merge(user.id, {}), whole);
    same(await use.store.profiles.merge(user.id, {}, { $f: 'a null is there already' }), whole);
    expect(await use.store.profiles.get(newId())).toBeNull();
  });

  use.it(
    'a put writes its note into the profile, also without entries, and never if the batch is not stored',
    async (user) => {
      const failures: unknown[] = [];
      const note = (at: number) => ({
        fields: { at, [`n${at}`]: null },
        onFailure: (error: unknown) => failures.push(error),
      });
      await use.store.profiles.merge(user.id, { at: 0, name: 'x' });
      await use.store.usercache.put(user.id, { entries: [fix(1)], unusable: [], note: note(1) }, 5);
      await use.store.usercache.put(user.id, { entries: [], unusable: [], note: note(2) }, 5);
      same(await use.store.profiles.get(user.id), { at: 2, name: 'x', n1: null, n2: null });
      const stranger = newId();
      await rejects(
        use.store.usercache.put(stranger, { entries: [fix(1)], unusable: [], note: note(3) }, 5),
        'MOBILITY_USER_UNKNOWN',
      );
      expect([await use.store.profiles.get(stranger), failures]).toEqual([null, []]);
    },
  );

  use.it('merges of one profile at once all take effect', async (user) => {
    const fields = Array.from({ length: 20 }, (_, i) => ({ [`f${i}`]: i }));
    await Promise.all(fields.map((one) => use.store.profiles.merge(user.id, one, { shared: 1 })));
    same(await use.store.profiles.get(user.id), Object.assign({ shared: 1 }, ...fields));
  });
}
