// Contract: the registry of users, their tokens and profiles.
import { expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import { fix, newId, rejects, same, type Use } from './kit.ts';

const name = (): string => `${newId()}@example.org`;

export function peopleTests(use: Use): void {
  it('a name is registered once, keeps its UUID and study, and is found by name and by UUID', async () => {
    const email = name();
    const study = { study: 'sun', subgroup: 'a' };
    const { user, created } = await use.store.users.register(email, { now: 5.5, ...study });
    expect(created).toBe(true);
    expect(user).toMatchObject({ uuid: user.uuid, user_email: email, update_ts: 5.5, ...study });
    const again = await use.store.users.register(email, { now: 9, study: 'moon' });
    expect(again).toEqual({ user: { ...user, update_ts: 9 }, created: false });
    same(await use.store.users.byEmail(email), again.user);
    same(await use.store.users.byUuid(user.uuid), again.user);
    expect(await use.store.users.byEmail(email.toUpperCase())).toBeNull();
    expect(await use.store.users.byUuid(newUuid())).toBeNull();
  });

  it('a given UUID is kept, and the name with another UUID, or the UUID with another name, is refused', async () => {
    const [email, uuid] = [name(), newUuid()];
    expect((await use.store.users.register(email, { uuid, now: 0 })).user.uuid).toBe(uuid);
    expect(await use.store.users.register(email, { uuid, now: 1 })).toMatchObject({ created: false, user: { uuid } });
    await rejects(use.store.users.register(email, { uuid: newUuid(), now: 2 }), 'MOBILITY_USER_EXISTS');
    const other = name();
    await rejects(use.store.users.register(other, { uuid, now: 2 }), 'MOBILITY_USER_EXISTS');
    expect(await use.store.users.byEmail(other)).toBeNull();
    expect((await use.store.users.byUuid(uuid))?.update_ts).toBe(1);
  });

  it('the members of a study are listed by UUID, in parts, with their figures', async () => {
    const study = newUuid().slice(0, 12);
    const join = async (of: string) => (await use.store.users.register(name(), { now: 1, study: of })).user;
    const members = [await join(study), await join(study), await join(study)];
    await join(newUuid().slice(0, 12));
    const uuids = members.map(({ uuid }) => uuid).sort();
    const first = await use.store.users.list({ study, limit: 2 });
    const rest = await use.store.users.list({ study, after: first.at(-1)!.uuid, limit: 2 });
    expect([...first, ...rest].map(({ uuid }) => uuid)).toEqual(uuids);
    const figures = await use.store.users.figures({ study, limit: 9 });
    expect(figures.map(({ user }) => user.uuid)).toEqual(uuids);
    same(figures[1], (await use.store.users.figures({ uuid: uuids[1]! }))[0]);
    expect(await use.store.users.figures({ study, after: uuids[2]!, limit: 9 })).toEqual([]);
  });

  it('the figures of one person equal their figures in the list of all people', async () => {
    const { user } = await use.store.users.register(name(), { now: 5.5 });
    const { user: other } = await use.store.users.register(name(), { now: 6 });
    const hash = newUuid().padEnd(64, '0');
    await use.store.tokens.add({ hash, user_id: user.uuid, created_ts: 7, expires_ts: null });
    await use.store.profiles.merge(user.uuid, { last_put_ts: 8 });
    const unusable = [{ entry: 'x', reason: 'shape', message: 'no entry' }];
    await use.store.usercache.put(user.uuid, { entries: [fix(1), fix(9e9)], unusable }, 8);
    await use.store.leases.acquire(user.uuid, 'a run', 60);
    const [figures] = await use.store.users.figures({ uuid: user.uuid });
    expect(figures).toMatchObject({
      user: { ...user, sent_ts: 8 },
      registered_ts: 5.5,
      stage: 'active',
      audit_key: expect.stringMatching(/^[0-9a-f-]{36}$/),
      profile: { last_put_ts: 8 },
      tokens: [{ hash }],
      lease: { owner: 'a run' },
      waiting: { count: 2, ahead: 1, next_due_ts: 9e9 },
      set_aside: [{ key: null, reason: 'shape', count: 1, last_ts: 8 }],
    });
    const all = new Map<string, unknown>();
    for (let after = ''; ; ) {
      const page = await use.store.users.figures({ after, limit: 3 });
      for (const one of page) all.set(one.user.uuid, one);
      if (page.length < 3) break;
      after = page.at(-1)!.user.uuid;
    }
    same(all.get(user.uuid), figures);
    expect(all.get(other.uuid)).toMatchObject({ waiting: { count: 0 }, set_aside: [], tokens: [], lease: null });
    expect(await use.store.users.figures({ uuid: newUuid() })).toEqual([]);
  });

  it('of simultaneous registrations of one UUID with two names, one succeeds', async () => {
    const uuid = newUuid();
    const results = await Promise.allSettled(
      [name(), name()].map((email) => use.store.users.register(email, { uuid, now: 1 })),
    );
    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    const failure = results.find((result) => result.status === 'rejected');
    expect((failure as PromiseRejectedResult).reason).toMatchObject({ code: 'MOBILITY_USER_EXISTS' });
  });

  it('users are listed by UUID, in parts', async () => {
    const mine: string[] = [];
    for (let i = 0; i < 7; i++) mine.push((await use.store.users.register(name(), { now: i })).user.uuid);
    const uuids = async (query: { after?: string; limit: number }): Promise<string[]> =>
      (await use.store.users.list(query)).map(({ uuid }) => uuid);
    const all = await uuids({ limit: 1_000 });
    expect(all).toEqual([...new Set(all)].sort());
    expect(all).toEqual(expect.arrayContaining(mine));
    expect(await uuids({ limit: 3 })).toEqual(all.slice(0, 3));
    expect(await uuids({ after: all[2]!, limit: 3 })).toEqual(all.slice(3, 6));
  });

  use.it('tokens are found by hash and listed by user, and a revoked one is kept with its reason', async (a, b) => {
    const hash = () => `${newId()}${newId()}`.replaceAll('-', '');
    const tokens = [
      { hash: hash(), user_id: a.id, created_ts: 1.5, expires_ts: 10 },
      { hash: hash(), user_id: a.id, created_ts: 2, expires_ts: null },
      { hash: hash(), user_id: b.id, created_ts: 3, expires_ts: null, kind: 'owntracks' as const },
    ];
    for (const token of tokens) await use.store.tokens.add(token);
    same(await use.store.tokens.byHash(tokens[0]!.hash), tokens[0]!);
    same(await use.store.tokens.byHash(tokens[1]!.hash), tokens[1]!);
    expect(await use.store.tokens.byHash(hash())).toBeNull();
    same(await use.store.tokens.list(a.id), tokens.slice(0, 2));
    const revoke = (hash: string, ts: number) => use.store.tokens.revoke(a.id, hash, { ts, why: 'replaced' });
    expect(await revoke(tokens[2]!.hash, 4)).toBe(false);
    expect([await revoke(tokens[0]!.hash, 5), await revoke(tokens[0]!.hash, 6)]).toEqual([true, false]);
    const revoked = { ...tokens[0]!, revoked_ts: 5, revoked_why: 'replaced' as const };
    same(await use.store.tokens.byHash(revoked.hash), revoked);
    same(await use.store.tokens.list(a.id), [revoked, tokens[1]!]);
    await use.store.tokens.add(tokens[0]!);
    same(await use.store.tokens.list(a.id), tokens.slice(0, 2));
    same(await use.store.tokens.list(b.id), [tokens[2]!]);
    await use.store.tokens.touch(tokens[2]!.hash, 3600.5);
    await use.store.tokens.touch(hash(), 1);
    same(await use.store.tokens.list(b.id), [{ ...tokens[2]!, used_ts: 3600.5 }]);
  });

  use.it('a profile merges fields, and accepts defaults only for missing fields', async (user) => {
    expect(await use.store.profiles.get(user.id)).toBeNull();
    const merge = (fields: JsonObject, defaults?: JsonObject) => use.store.profiles.merge(user.id, fields, defaults);
    const first = { a: 1, 'b.c': { d: [1] }, source: 'Shankari' };
    same(await merge({ a: 1, 'b.c': { d: [1] } }, { a: 9, source: 'Shankari' }), first);
    const whole = { ...first, 'b.c': { e: 2 }, $f: null, mode: 'x' };
    same(await merge({ 'b.c': { e: 2 }, $f: null }, { source: 'other', mode: 'x', $f: 3 }), whole);
    same(await use.store.profiles.get(user.id), whole);
    same(await merge({}), whole);
    same(await merge({}, { $f: 'a null is there already' }), whole);
    expect(await use.store.profiles.get(newId())).toBeNull();
  });

  use.it('a put merges its note into the profile, also without entries, unless it is refused', async (user) => {
    const put = (id: string, entries: Entry[], at: number) =>
      use.store.usercache.put(id, { entries, unusable: [], note: { set: { at, [`n${at}`]: null } } }, 5);
    await use.store.profiles.merge(user.id, { at: 0, name: 'x' });
    await put(user.id, [fix(1)], 1);
    await put(user.id, [], 2);
    same(await use.store.profiles.get(user.id), { at: 2, name: 'x', n1: null, n2: null });
    const stranger = newId();
    await rejects(put(stranger, [fix(1)], 3), 'MOBILITY_USER_UNKNOWN');
    expect(await use.store.profiles.get(stranger)).toBeNull();
  });

  use.it('the note of a put raises numbers, and replaces times before the end of the last run', async (user) => {
    const put = (raised: number, waiting: number) =>
      use.store.usercache.put(
        user.id,
        { entries: [], unusable: [], note: { set: {}, raise: { high: raised }, sinceRun: { waiting } } },
        5,
      );
    const shown = () => use.store.profiles.get(user.id);
    await use.store.profiles.merge(user.id, { high: 'no number' });
    await put(3, 10);
    same(await shown(), { high: 3, waiting: 10 });
    await put(2, 20);
    same(await shown(), { high: 3, waiting: 10 });
    await use.store.pipeline.merge(user.id, { last_run_ts: 10 }, await user.lease());
    await put(4, 20);
    same(await shown(), { high: 4, waiting: 20 });
  });

  use.it('simultaneous merges of one profile all take effect', async (user) => {
    const fields = Array.from({ length: 20 }, (_, i) => ({ [`f${i}`]: i }));
    await Promise.all(fields.map((one) => use.store.profiles.merge(user.id, one, { shared: 1 })));
    same(await use.store.profiles.get(user.id), Object.assign({ shared: 1 }, ...fields));
  });
}
