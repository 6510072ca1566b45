// Puts to a server that is killed at random moments: what was acknowledged is there once, and nothing else.
import { expect, it } from 'vitest';
import { type Entry, identityText } from '../../src/model/entry.ts';
import type { Random } from '../../src/simulate/random.ts';
import type { Store } from '../../src/store/store.ts';
import { tempFolder } from '../support/clean-up.ts';
import { allEntries } from '../support/diary.ts';
import { fillStore, pause, releaseLease, times, withSeed, withStore } from './kit.ts';
import { type RunningServer, start, startServer, succeed } from './program.ts';

const rounds = times('MOBILITY_TEST_KILLS', 12);
const batchSize = 1000;
const name = 'ada@example.org';
const how = { env: { MOBILITY_LEASE_SECONDS: '1' } };

/** A push of the phone: new locations, and the configuration that goes with every push. */
function batchOf(round: number): Entry[] {
  const metadata = { platform: 'android', time_zone: 'Europe/Berlin', type: 'sensor-data' };
  const locations = Array.from({ length: batchSize - 1 }, (_, i): Entry => {
    const ts = 1_710_000_000 + round * 10_000 + i * 5 + 0.25;
    return {
      metadata: { ...metadata, key: 'background/location', write_ts: ts },
      data: { ts, latitude: 48.52, longitude: 9.05, accuracy: 12, round, i },
    };
  });
  return [
    ...locations,
    { metadata: { ...metadata, key: 'config/consent', write_ts: 1_709_999_999 }, data: { category: 'study' } },
  ];
}

/** Identities of what the store has of the batches `from` to `to`, waiting or moved. */
async function found(store: Store, userId: string, from: number, to: number): Promise<Set<string>> {
  const range = { from: 1_710_000_000 + Math.max(from, 0) * 10_000, to: 1_710_000_000 + (to + 1) * 10_000 };
  const identities = new Set<string>();
  for (const place of [store.usercache, store.timeseries]) {
    const { entries, next } = await place.find(userId, { time: 'write_ts', ...range, limit: 100_000 });
    expect(next).toBeNull();
    for (const { metadata } of entries) identities.add(identityText(metadata));
  }
  return identities;
}

const locationsOf = (batch: readonly Entry[]): string[] =>
  batch.filter(({ metadata }) => metadata.key !== 'config/consent').map(({ metadata }) => identityText(metadata));

/** Posts a batch; true when it was acknowledged, false when the server died before it answered. */
async function put(server: RunningServer, batch: readonly Entry[]): Promise<boolean> {
  const answer = await server.post('/usercache/put', { user: name, phone_to_server: batch }).catch(() => null);
  if (answer === null) return false;
  expect(answer.status, answer.text).toBe(200);
  const { inserted, updated, rejected } = JSON.parse(answer.text);
  expect([inserted + updated, rejected]).toEqual([batch.length, 0]);
  return true;
}

/**
 * The phone pushes one batch a round, to a server that is killed in the middle; it sends again what was not
 * acknowledged. It continues, up to four times as long, until both an answer and a kill before the commit occurred.
 */
async function killedRounds(folder: string, userId: string, random: Random, withPipeline: boolean) {
  const tally = { rounds: 0, acknowledged: 0, killedBefore: 0, storedUnacknowledged: 0 };
  let usual = 0.1; // s of a put
  let unacknowledged: Entry[] | null = null;
  const seenBoth = (): boolean => tally.acknowledged > 0 && tally.killedBefore > 0;
  for (let round = 0; round < rounds || (round < 4 * rounds && !seenBoth()); round++) {
    const server = await startServer(folder);
    tally.rounds += 1;
    if (unacknowledged !== null) {
      const began = performance.now();
      expect(await put(server, unacknowledged)).toBe(true);
      usual = (performance.now() - began) / 1000;
    }
    const pipeline = withPipeline ? await start(['pipeline', '--all', '--store', folder], how) : null;
    if (pipeline !== null) await pause(random.between(0, 0.5));
    const batch = batchOf(round);
    const killing = pause(random.between(0, usual * 1.5)).then(() => Promise.all([server.kill(), pipeline?.kill()]));
    const acknowledged = await put(server, batch);
    await killing;

    const there = await withStore(folder, (store) => found(store, userId, round - 1, round));
    const before = round === 0 ? [] : locationsOf(batchOf(round - 1));
    const own = locationsOf(batch);
    const complete = own.every((identity) => there.has(identity));
    if (acknowledged) expect(complete).toBe(true);
    expect(there.size).toBe(before.length + (complete ? own.length : 0));
    expect(before.every((identity) => there.has(identity))).toBe(true);
    tally[acknowledged ? 'acknowledged' : complete ? 'storedUnacknowledged' : 'killedBefore'] += 1;
    unacknowledged = acknowledged && random.chance(0.5) ? null : batch; // an answer may be lost on its way
  }
  const server = await startServer(folder);
  if (unacknowledged !== null) expect(await put(server, unacknowledged)).toBe(true);
  expect((await server.stop()).code).toBe(0);
  return tally;
}

it.each([
  ['alone', false],
  ['with the pipeline running and killed at the same time', true],
])(
  'a server killed at random moments of a put, %s: every acknowledged entry is stored once, and no other',
  (_, withPipeline) =>
    withSeed(async (random) => {
      const folder = tempFolder();
      const { [name]: userId } = await fillStore(folder, { [name]: [] });
      const tally = await killedRounds(folder, userId!, random, withPipeline);
      expect(Math.min(tally.acknowledged, tally.killedBefore), JSON.stringify(tally)).toBeGreaterThan(0);

      await withStore(folder, (store) => releaseLease(store, userId!)); // of the run that was killed last
      await succeed(['pipeline', '--user', name, '--store', folder], how);
      const sent = Array.from({ length: tally.rounds }, (_unused, round) => batchOf(round)).flat();
      const once = new Map(sent.map(({ metadata, data }) => [identityText(metadata), data.i ?? data.category]));
      await withStore(folder, async (store) => {
        const stored = await allEntries(store.timeseries, userId!);
        expect(stored).toHaveLength(once.size);
        expect(new Map(stored.map((e) => [identityText(e.metadata), e.data.i ?? e.data.category]))).toEqual(once);
        expect(await store.counts(userId!)).toMatchObject({ usercache: 0, errors: 0, timeseries: once.size });
      });
    }),
);
