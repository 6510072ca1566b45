// Contract: the registry of users, their tokens and profiles.
import { expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type { ProfileNote, UserPage } from '../../../src/store/store.ts';
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

  it('people of all studies and of one are listed by UUID, in parts, with their figures', async () => {
    const { users } = use.store;
    const join = async (study: string) => (await users.register(name(), { now: 1, study })).user.uuid;
    const study = newUuid().slice(0, 12);
    const members = [await join(study), await join(study), await join(study)].sort();
    const stranger = await join(newUuid().slice(0, 12));
    const listed = async (page: UserPage) => (await users.list(page)).map(({ uuid }) => uuid);
    const figured = async (page: UserPage) => (await users.figures(page)).map(({ user }) => user.uuid);
    const all = await listed({ limit: 1_000 });
    expect(all).toEqual([...new Set(all)].sort());
    expect(all).toEqual(expect.arrayContaining([...members, stranger]));
    for (const uuids of [listed, figured]) {
      expect(await uuids({ limit: 3 })).toEqual(all.slice(0, 3));
      expect(await uuids({ after: all[2]!, limit: 3 })).toEqual(all.slice(3, 6));
      expect(await uuids({ study, limit: 2 })).toEqual(members.slice(0, 2));
      expect(await uuids({ study, after: members[1]!, limit: 2 })).toEqual(members.slice(2));
    }
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
    const all = await use.store.users.figures({ limit: 1_000 });
    const inList = (uuid: string) => all.find((one) => one.user.uuid === uuid);
    same(inList(user.uuid), figures);
    expect(inList(other.uuid)).toMatchObject({ waiting: { count: 0 }, set_aside: [], tokens: [], lease: null });
    expect(await use.store.users.figures({ uuid: newUuid() })).toEqual([]);
  });

  it('of simultaneous registrations of one UUID with two names, one succeeds', async () => {
    const uuid = newUuid();
    const register = (email: string) => use.store.users.register(email, { uuid, now: 1 });
    const results = await Promise.allSettled([name(), name()].map(register));
    const failures = results.filter(({ status }) => status === 'rejected');
    expect(failures).toMatchObject([{ reason: { code: 'MOBILITY_USER_EXISTS' } }]);
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

  const putNote = (id: string, note: ProfileNote, entries: Entry[] = []) =>
    use.store.usercache.put(id, { entries, unusable: [], note }, 5);

  use.it('a put merges its note into the profile, also without entries, unless it is refused', async (user) => {
    await use.store.profiles.merge(user.id, { at: 0, name: 'x' });
    await putNote(user.id, { set: { at: 1, n1: null } }, [fix(1)]);
    await putNote(user.id, { set: { at: 2, n2: null } });
    same(await use.store.profiles.get(user.id), { at: 2, name: 'x', n1: null, n2: null });
    const stranger = newId();
    await rejects(putNote(stranger, { set: { at: 3 } }, [fix(1)]), 'MOBILITY_USER_UNKNOWN');
    expect(await use.store.profiles.get(stranger)).toBeNull();
  });

  use.it('the note of a put raises numbers, and replaces times before the end of the last run', async (user) => {
    const put = (high: number, waiting: number) =>
      putNote(user.id, { set: {}, raise: { high }, sinceRun: { waiting } });
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
