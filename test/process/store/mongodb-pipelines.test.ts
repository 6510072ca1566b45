// Two simultaneous runs over all users on one MongoDB: each user is processed by one run only, corrections included.
import { expect, it } from 'vitest';
import { silentLog } from '../../../src/log/log.ts';
import { type AllReport, runAll } from '../../../src/pipeline/run-all.ts';
import type { Store } from '../../../src/store/store.ts';
import { everythingOf, pushesOf } from '../../faults/kit.ts';
import { describeOnServers, newStoreOn } from '../../store/servers.ts';
import { correction } from '../../support/corrections.ts';
import { newStore, newUser, openStoreIn } from '../../support/store.ts';

const uuids = Array.from({ length: 6 }, (_, i) => `${i}0000000-0000-4000-8000-000000000000`);
const options = { log: silentLog, now: () => 1_800_000_000, parallel: 3 };

async function fill(store: Store): Promise<void> {
  for (const [i, uuid] of uuids.entries()) {
    const user = await newUser(store, uuid);
    const [day] = pushesOf(`person ${i}`, i % 2 === 0 ? 'android' : 'ios', 1);
    const some = day!.filter((_, at) => at % 8 === 0);
    const times = some.flatMap(({ data }) => (typeof data.ts === 'number' ? [data.ts] : []));
    const [noon, late] = [times[Math.floor(times.length / 2)]!, times.at(-1)!];
    const stated = [
      correction(1_790_000_000, { kind: 'mode', ts: noon, mode: 'tram' }),
      correction(1_790_000_001, { kind: 'add', start_ts: noon + 3600, end_ts: noon + 4200, mode: 'bus' }),
      correction(1_790_000_002, { kind: 'set_aside', start_ts: late - 3600, end_ts: late }),
      correction(1_790_000_003, { kind: 'split', ts: noon }),
    ];
    await store.usercache.put(user, { entries: [...some, ...stated], unusable: [] }, 1);
  }
}

/** The store, noting in `hands` whose users a run has from taking a lease to the write that releases it. */
function noting(store: Store, hands: Map<string, number>): Store {
  const acquire: Store['leases']['acquire'] = async (userId, ...rest) => {
    const taken = await store.leases.acquire(userId, ...rest);
    if ('lease' in taken) hands.set(userId, (hands.get(userId) ?? 0) + 1);
    expect(hands.get(userId) ?? 0).toBeLessThanOrEqual(1);
    return taken;
  };
  const apply: Store['documents']['apply'] = async (userId, ...rest) => {
    hands.delete(userId);
    return store.documents.apply(userId, ...rest);
  };
  return { ...store, leases: { ...store.leases, acquire }, documents: { ...store.documents, apply } };
}

describeOnServers('two simultaneous runs over all users', (server) => {
  it('process each user in one run only, move each entry once, and give the diary of one run on the embedded store', async () => {
    const { store, address } = await newStoreOn(server());
    await fill(store);
    const other = await openStoreIn(address);
    const hands = new Map<string, number>();
    const reports = await Promise.all([store, other].map((one) => runAll(noting(one, hands), options)));
    expect(reports).toMatchObject([{ failed: 0 }, { failed: 0 }]);
    const alone = await newStore();
    await fill(alone);
    const moved = (some: AllReport[]): number =>
      some.flatMap(({ stages }) => stages).reduce((sum, { counts }) => sum + (counts.moved ?? 0), 0);
    expect(moved(reports)).toBe(moved([await runAll(alone, options)]));
    for (const uuid of uuids) expect(await everythingOf(store, uuid)).toBe(await everythingOf(alone, uuid));
  });
});
