// Moving everything between stores, on the embedded one: what is copied, what is refused, and deaths between any two
// writes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/log/log.ts';
import { runAll } from '../../../src/pipeline/run-all.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { dyingAt, interposedStore } from '../../faults/interposed-store.ts';
import { inFolder, releaseLease } from '../../faults/kit.ts';
import { putDocument, removeDocument } from '../../support/store.ts';
import { contentOf, contentOfAll, fillUser, leaseOn, move, now } from './kit.ts';

let from: Store;
let to: Store;
let finish: () => void;
let finished: Promise<unknown>;

beforeEach(
  () =>
    new Promise<void>((ready, failed) => {
      finished = inFolder(async (folder) => {
        from = await openStore(`${folder}/from`);
        to = await openStore(`${folder}/to`, { shards: 3 });
        ready();
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        await Promise.all([from.close(), to.close()]);
      });
      finished.catch(failed);
    }),
);
afterEach(async () => {
  finish();
  await finished;
});

/** Counts the calls that change something, leases apart. */
function counting(store: Store): { store: Store; writes: string[] } {
  const writes: string[] = [];
  const changes = /\.(add|put|merge|settle|takeBack|apply|replace|remove|register)$|^erase$/;
  const interposed = interposedStore(store, (call) => {
    if (changes.test(call)) writes.push(call);
  });
  return { store: interposed, writes };
}

describe('a migration', () => {
  it('copies every collection of everybody exactly, and leaves the source as it was', async () => {
    for (const name of ['ada', 'ben', 'cal']) await fillUser(from, `${name}@example.org`);
    await from.users.register('nobody yet', { now: 3 });
    const before = await contentOfAll(from);
    const source = counting(from);
    const report = await move(source.store, to);
    expect(report).toMatchObject({ users: 4, copied: 4, same: 0, missing: 0, others: 0, equal: true, reports: [] });
    expect(source.writes).toEqual([]);
    expect(await contentOfAll(from)).toEqual(before);
    expect(await contentOfAll(to)).toEqual(before);
    for (const [collection, { rows, copied, removed }] of Object.entries(report.collections)) {
      expect([collection, copied, removed]).toEqual([collection, rows, 0]);
      expect([collection, rows > 0]).toEqual([collection, true]);
    }
    for (const uuid of Object.keys(before)) {
      const [source, target] = await Promise.all([from.counts(uuid), to.counts(uuid)]);
      expect(target).toEqual(source);
      expect(await to.leases.get(uuid)).toBeNull();
      expect(await from.leases.get(uuid)).toBeNull();
    }
  });

  it('writes nothing when it is repeated', async () => {
    await fillUser(from, 'ada');
    await move(from, to);
    const target = counting(to);
    expect(await move(from, target.store)).toMatchObject({ copied: 0, same: 1, equal: true });
    expect(target.writes).toEqual([]);
  });

  it('leaves the pipeline as much work as at the source, and the same diary', async () => {
    const uuid = await fillUser(from, 'ada');
    await from.users.register('nobody yet', { now: 3 });
    await move(from, to);
    const options = { log: silentLog, now };
    for (const store of [from, to]) {
      expect(await runAll(store, options)).toMatchObject({ done: 1, nothing_new: 1 });
      expect(await runAll(store, options)).toMatchObject({ done: 0, nothing_new: 2 });
    }
    expect(await contentOf(to, uuid)).toBe(await contentOf(from, uuid));
    await move(to, from, { overwrite: true });
  });

  it('copies more rows than one batch or page holds as exactly', { timeout: 120_000 }, async () => {
    const { user } = await from.users.register('ada', { now: 1 });
    const entries = Array.from({ length: 2_500 }, (_, i) => ({
      metadata: { key: i % 7 === 0 ? 'manual/survey' : 'background/battery', write_ts: i },
      // Two long texts near each other: more than one batch holds, before it has its number of rows.
      data: { i, text: i === 500 || i === 1_000 ? 'x'.repeat(5_000_000) : '' },
    }));
    await from.usercache.put(user.uuid, { entries, unusable: [] }, 1);
    const unusable = entries.slice(0, 1_200).map(({ data }) => ({ entry: data.i, reason: 'r', message: 'm' }));
    await from.usercache.put(user.uuid, { entries: [], unusable }, 1);
    const lease = await leaseOn(from, user.uuid);
    await from.timeseries.apply(user.uuid, { put: entries, remove: [] }, lease);
    await from.leases.release(lease);
    const report = await move(from, to);
    expect(report).toMatchObject({ copied: 1, equal: true });
    expect(report.collections).toMatchObject({
      usercache: { rows: 2_500, copied: 2_500 },
      timeseries: { rows: 2_500, copied: 2_500 },
      errors: { rows: 1_200, copied: 1_200 },
    });
    expect((await contentOf(to, user.uuid)) === (await contentOf(from, user.uuid))).toBe(true);
  });

  it('counts in a dry run and changes nothing', async () => {
    const uuid = await fillUser(from, 'ada');
    const target = counting(to);
    const first = await move(from, target.store, { dryRun: true });
    expect(first).toMatchObject({ copied: 1, equal: false, missing: 1 });
    expect(first.collections.trips.copied).toBe((await from.counts(uuid)).trips);
    expect(target.writes).toEqual([]);
    expect(await to.users.list({ limit: 1 })).toEqual([]);
    await move(from, to);
    expect(await move(from, to, { dryRun: true })).toMatchObject({ copied: 0, same: 1, equal: true });
  });
});

describe('a migration that dies', () => {
  it('before any write leaves nobody half registered, and the next one completes it', {
    timeout: 120_000,
  }, async () => {
    const uuid = await fillUser(from, 'ada', 1, 300);
    const expected = await contentOf(from, uuid);
    expect((await from.counts(uuid)).trips).toBeGreaterThan(0);
    let deaths = 0;
    for (let at = 0; ; at++) {
      const death = dyingAt(at);
      const ended = await move(from, interposedStore(to, death)).catch((error: Error) => error.message);
      if (!death.died()) {
        expect(ended).toMatchObject({ copied: 1, equal: true });
        break;
      }
      deaths += 1;
      await releaseLease(from, uuid);
      await releaseLease(to, uuid);
      if ((await to.users.byUuid(uuid)) !== null) expect(await contentOf(to, uuid)).toBe(expected);
      expect(await move(from, to)).toMatchObject({ equal: true, reports: [] });
      expect(await contentOf(to, uuid)).toBe(expected);
      await to.erase(uuid);
    }
    expect(deaths).toBeGreaterThan(15);
  });

  it('again and again is completed in the end', async () => {
    const uuid = await fillUser(from, 'ada');
    for (let round = 0; ; round++) {
      const death = dyingAt(4);
      const report = await move(from, interposedStore(to, death)).catch(() => null);
      await releaseLease(from, uuid);
      await releaseLease(to, uuid);
      if (report !== null) break;
      expect(round).toBeLessThan(30);
    }
    expect(await contentOf(to, uuid)).toBe(await contentOf(from, uuid));
  });

  it('while its source changes ends with what the source holds then', async () => {
    const uuid = await fillUser(from, 'ada', 2);
    const death = dyingAt(12);
    await move(from, interposedStore(to, death)).catch(() => null);
    expect(death.died()).toBe(true);
    await releaseLease(from, uuid);
    await releaseLease(to, uuid);
    await runAll(from, { log: silentLog, now });
    expect(await move(from, to)).toMatchObject({ copied: 1, equal: true });
    expect(await contentOf(to, uuid)).toBe(await contentOf(from, uuid));
  });
});

describe('a target that was used', () => {
  it('keeps its own data and names the user; with overwrite it becomes equal to the source', async () => {
    const uuid = await fillUser(from, 'ada');
    await fillUser(from, 'ben');
    await move(from, to);
    const pushed = [{ metadata: { key: 'manual/survey', write_ts: 99 }, data: { mine: true } }];
    await to.usercache.put(uuid, { entries: pushed, unusable: [] }, 1);
    await to.profiles.merge(uuid, { only_here: 1 });
    const before = await contentOf(to, uuid);
    const report = await move(from, to);
    expect(report).toMatchObject({ same: 1, differs: 1, equal: false });
    expect(report.reports).toMatchObject([{ user_id: uuid, user_email: 'ada', status: 'differs' }]);
    expect(report.reports[0]!.message).toMatch(/rows only there: 1, with other content: 1.*--overwrite/);
    expect(await contentOf(to, uuid)).toBe(before);

    expect(await move(from, to, { overwrite: true })).toMatchObject({ same: 1, copied: 1, equal: true });
    expect(await contentOfAll(to)).toEqual(await contentOfAll(from));
  });

  it('becomes equal to the source in every collection with overwrite', async () => {
    const uuid = await fillUser(from, 'ada');
    await move(from, to);
    await runAll(to, { log: silentLog, now: () => now() + 1000 });
    const error = (await to.errors.list(uuid, { limit: 1 }))[0]!;
    await to.errors.apply(uuid, {
      put: [
        { ...error, tries: 77 },
        { ...error, id: 'other' },
      ],
      remove: [],
    });
    await removeDocument(to, uuid, 'config/sensor_config');
    await putDocument(to, uuid, { key: 'only/here', write_ts: 1, data: 1 });
    await to.tokens.add({ hash: 'f'.repeat(64), user_id: uuid, created_ts: 1, expires_ts: null });
    await to.profiles.merge(uuid, { curr_platform: 'android' });
    await to.users.register('ada', { now: 5 });
    const lease = await leaseOn(to, uuid);
    const [link] = await to.trips.chain(uuid, { limit: 1 });
    const other = { ...link!, chain_ts: link!.chain_ts - 5000 };
    await to.trips.replace(uuid, { from: 0, to: link!.chain_ts + 1 }, [other], { complete_until: 1 }, lease);
    await to.leases.release(lease);
    expect(await move(from, to, { overwrite: true })).toMatchObject({ copied: 1, equal: true });
    expect(await contentOf(to, uuid)).toBe(await contentOf(from, uuid));
  });

  it('receives the missing rows of a registered user without a flag', async () => {
    const uuid = await fillUser(from, 'ada');
    await to.users.register('ada', { uuid, now: 1 });
    expect(await move(from, to)).toMatchObject({ copied: 1, equal: true });
    expect(await contentOf(to, uuid)).toBe(await contentOf(from, uuid));
  });

  it('is refused if it has other users, and keeps them as they are with merge', async () => {
    await fillUser(from, 'ada');
    const other = await fillUser(to, 'ben');
    const before = await contentOf(to, other);
    await expect(move(from, to)).rejects.toMatchObject({ code: 'MOBILITY_USER_EXISTS' });
    expect(await to.users.byEmail('ada')).toBeNull();
    expect(await move(from, to, { merge: true })).toMatchObject({ copied: 1, others: 1, equal: true });
    expect(await contentOf(to, other)).toBe(before);
  });

  it('keeps a name or UUID that it gave to somebody else, and the other users are copied', async () => {
    const ada = await fillUser(from, 'ada');
    await fillUser(from, 'ben');
    await fillUser(from, 'cal');
    await to.users.register('ada 2', { uuid: ada, now: 1 });
    await to.users.register('ben', { now: 1 });
    const report = await move(from, to, { merge: true, overwrite: true });
    expect(report).toMatchObject({ users: 3, copied: 1, failed: 2, equal: false });
    expect(report.reports.map((one) => `${one.user_email}: ${one.message}`).sort()).toEqual([
      expect.stringContaining('ada: expected name and UUID to be new or together at the target'),
      expect.stringContaining('ben: expected name and UUID to be new or together at the target'),
    ]);
    expect((await to.counts(ada)).timeseries).toBe(0);
  });
});

describe('somebody at work', () => {
  it.each(['from', 'to'] as const)(
    'on a user %s which it is copied: the user is left to them, others go on',
    async (side) => {
      const uuid = await fillUser(from, 'ada');
      await fillUser(from, 'ben');
      const store = side === 'from' ? from : to;
      const lease = await leaseOn(store, uuid, 'pipeline 7 on host');
      let waited = 0;
      const wait = async (): Promise<void> => {
        waited += 1;
        await store.leases.renew(lease, 1_000);
      };
      const report = await move(from, to, { wait, now: () => Date.now() / 1000 });
      expect(report).toMatchObject({ users: 2, copied: 1, busy: 1, equal: false });
      expect(report.reports).toMatchObject([
        {
          user_id: uuid,
          message: expect.stringMatching(/^pipeline 7 on host works on this user at the (source|target)$/),
        },
      ]);
      expect(waited).toBe(1);
      expect((await to.counts(uuid)).timeseries).toBe(0);
    },
  );

  it('who is gone by the end, or whose lease has run out: the user is copied too', async () => {
    const uuid = await fillUser(from, 'ada');
    const lease = await leaseOn(from, uuid);
    const wait = (): Promise<void> => from.leases.release(lease);
    expect(await move(from, to, { wait, now: () => Date.now() / 1000 })).toMatchObject({
      copied: 1,
      busy: 0,
      equal: true,
    });
    await to.erase(uuid);
    await leaseOn(to, uuid, 'dead', 0.3);
    const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    expect(await move(from, to, { wait: pause, now: () => Date.now() / 1000 })).toMatchObject({
      copied: 1,
      equal: true,
    });
  });

  it('who died with leases on both sides that end one after the other: the user is copied', async () => {
    const uuid = await fillUser(from, 'ada');
    await leaseOn(from, uuid, 'dead (source)', 0.3);
    await leaseOn(to, uuid, 'dead (target)', 0.8);
    const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const waits: unknown[] = [];
    const onWait = (...told: unknown[]): void => void waits.push(told);
    // The clock of this machine is an hour ahead: the stores' own counts.
    expect(await move(from, to, { wait: pause, onWait, now: () => Date.now() / 1000 + 3600 })).toMatchObject({
      copied: 1,
      equal: true,
    });
    expect(waits).toEqual([['ada', 'dead (source) works on this user at the source', 0.8]]);
  });

  it('who pushes at the source now and then: the copy has it', async () => {
    const uuid = await fillUser(from, 'ada');
    let pushes = 0;
    const pushing = interposedStore(to, async (call) => {
      if (call !== 'trips.replace' || pushes++ > 0) return;
      const entries = [{ metadata: { key: 'manual/survey', write_ts: 99 }, data: {} }];
      await from.usercache.put(uuid, { entries, unusable: [] }, 1);
    });
    expect(await move(from, pushing)).toMatchObject({ copied: 1, equal: true });
    expect(pushes).toBeGreaterThan(0);
    expect(await contentOf(to, uuid)).toBe(await contentOf(from, uuid));
  });

  it('who pushes without end: the user is not registered, and the report says to stop', async () => {
    const uuid = await fillUser(from, 'ada');
    let pushes = 0;
    const pushing = interposedStore(to, async (call) => {
      if (call !== 'trips.chain') return;
      const entries = [{ metadata: { key: 'manual/survey', write_ts: 1000 + pushes++ }, data: {} }];
      await from.usercache.put(uuid, { entries, unusable: [] }, 1);
    });
    const report = await move(from, pushing);
    expect(report).toMatchObject({ changing: 1, equal: false });
    expect(report.reports[0]!.message).toMatch(/^somebody goes on writing: .*Stop servers and pipelines/);
    expect(await to.users.byUuid(uuid)).toBeNull();
  });

  it('as a migration takes the leases of both sides while it writes', async () => {
    const uuid = await fillUser(from, 'ada');
    const held: unknown[] = [];
    const watching = interposedStore(to, async (call) => {
      if (call === 'usercache.put') {
        held.push((await from.leases.get(uuid))?.owner, (await to.leases.get(uuid))?.owner);
      }
    });
    await move(from, watching);
    expect(new Set(held)).toEqual(new Set(['test (source)', 'test (target)']));
  });
});

it('a store cannot be copied onto itself under another name', async () => {
  const uuid = await fillUser(from, 'ada');
  const before = await contentOf(from, uuid);
  await expect(move(from, from)).rejects.toMatchObject({ code: 'MOBILITY_STORE_ADDRESS' });
  expect(await contentOf(from, uuid)).toBe(before);
});

it('an aborted migration writes no more and gives back its users', async () => {
  const uuids = [await fillUser(from, 'ada'), await fillUser(from, 'ben')];
  const abort = new AbortController();
  let rows = 0;
  const onRows = (): void => {
    if (++rows === 3) abort.abort(new Error('enough'));
  };
  await expect(move(from, to, { signal: abort.signal, onRows, lanes: 1 })).rejects.toThrow('enough');
  for (const uuid of uuids) expect([await from.leases.get(uuid), await to.leases.get(uuid)]).toEqual([null, null]);
  expect(await to.users.list({ limit: 10 })).toEqual([]);
  expect(await move(from, to)).toMatchObject({ copied: 2, equal: true });
});

it('a store that fails ends the migration, and the work done so far stays valid', async () => {
  await fillUser(from, 'ada');
  await fillUser(from, 'ben');
  let calls = 0;
  const failing = interposedStore(to, async (call) => {
    if (call === 'documents.apply' && ++calls > 1) await closedStore();
  });
  await expect(move(from, failing)).rejects.toMatchObject({ code: 'MOBILITY_STORE_CLOSED' });
  expect(await move(from, to)).toMatchObject({ equal: true });
});

async function closedStore(): Promise<void> {
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    await store.close();
    await store.ping();
  });
}
