// A put that runs while its user is erased: what is left of both.
import { expect, it } from 'vitest';
import { maxTransactionEntries } from '../../src/intake/put-batch.ts';
import type { Store } from '../../src/store/store.ts';
import { eraseUser } from '../../src/upkeep/erase-people.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { describeOnServers, newStoreOn } from '../store/servers.ts';
import { newStore } from '../support/store.ts';
import { androidLocation, basic, config, openKit } from './kit.ts';

/** Pushes so many entries and erases their user before the last part of them; returns the status of the put. */
async function putAcrossErasure(store: Store, entries: number): Promise<{ status: number; uuid: string }> {
  const { user } = await store.users.register('ada', { now: 1 });
  const last = Math.ceil(entries / maxTransactionEntries);
  let parts = 0;
  const disturbed = interposedStore(store, async (call) => {
    if (call !== 'usercache.put' || ++parts !== last) return;
    const removed = await eraseUser(store, user.uuid);
    expect(removed.usercache).toBe((last - 1) * maxTransactionEntries);
  });
  const kit = await openKit({ store: disturbed });
  const pushed = Array.from({ length: entries }, (_, i) => ({
    metadata: { key: 'background/battery', write_ts: i + 1, platform: 'android' },
    data: {},
  }));
  const { status } = await kit.put(pushed);
  expect(parts).toBe(last);
  return { status, uuid: user.uuid };
}

async function expectNothingOf(store: Store, uuid: string): Promise<void> {
  expect(Object.values(await store.counts(uuid)).filter((count) => count > 0)).toEqual([]);
  expect(await store.unfinished()).toEqual([]);
}

it('a put of several parts is refused if its user is erased before the last part, and leaves no entries', async () => {
  const store = await newStore();
  const { status, uuid } = await putAcrossErasure(store, maxTransactionEntries + 1);
  expect(status).toBe(403);
  await expectNothingOf(store, uuid);
});

it('a caller is refused if their erasure begins between the checks of token and account', async () => {
  const store = await newStore();
  const { user } = await store.users.register('ada', { now: 1 });
  const disturbed = interposedStore(store, async (call) => {
    if (call === 'users.register') await store.erase(user.uuid, { keepRecord: true });
  });
  const kit = await openKit({ store: disturbed });
  expect((await kit.post('/profile/create', { user: 'ada' })).status).toBe(403);
});

it.each(['dev', 'token'] as const)(
  'calls of a person who is being erased are refused, and the log does not name them: %s',
  async (auth) => {
    const kit = await openKit({ config: { ...config, auth } });
    const { uuid } = await kit.user('ada@example.org');
    await kit.store.erase(uuid, { keepRecord: true });
    const named = { user: 'ada@example.org' };
    const asPassword = basic(named.user);
    const answers = [
      await kit.put([androidLocation(1)], named.user),
      await kit.post('/usercache/get', named),
      await kit.post('/profile/create', named),
      await kit.post('/pub', { _type: 'location', tst: 1463500000, lat: 1, lon: 2 }, asPassword),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 503]);
    expect(kit.log.filter((line) => line.includes('ada@') || line.includes(uuid))).toEqual([]);
    await kit.store.erase(uuid);
    await expectNothingOf(kit.store, uuid);
  },
);

describeOnServers('on MongoDB', (server) => {
  it('a put is refused if its user is erased after the token was accepted, and leaves no entries', async () => {
    const { store } = await newStoreOn(server());
    const { status, uuid } = await putAcrossErasure(store, 3);
    expect(status).toBe(403);
    await expectNothingOf(store, uuid);
  });
});
