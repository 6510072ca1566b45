// Which corrections of a batch exceed the limits of their user, and the entry of a correction.
import { expect, it } from 'vitest';
import { correctionEntry } from '../../../src/diary/corrections/new-correction.ts';
import { beyondLimit } from '../../../src/diary/corrections/read-corrections.ts';
import type { Correction } from '../../../src/model/correction.ts';
import type { Entry, Origin } from '../../../src/model/entry.ts';
import type { Store, Trips } from '../../../src/store/store.ts';
import { correction } from '../../support/corrections.ts';
import { trip } from '../../support/equator-trips.ts';

const ts = 1_700_000_000;
const drop = (write_ts: number): Entry => correction(write_ts, { kind: 'drop', ts });
const undo = (write_ts: number, of: number): Entry => correction(write_ts, { kind: 'undo', of });
const drops = (from: number, count: number): Entry[] => Array.from({ length: count }, (_, i) => drop(from + i));
/** So many drops, each with its undo. */
const undone = (from: number, count: number): Entry[] =>
  Array.from({ length: count }, (_, i) => [drop(from + 2 * i), undo(from + 2 * i + 1, from + 2 * i)]).flat();

/** The `write_ts` of the entries of a batch that are beyond the limit of a user who has stated `before`. */
async function beyond(before: Entry[], batch: Entry[], reads = { count: 0 }): Promise<number[]> {
  const part = (entries: Entry[]) => {
    const find = async () => {
      reads.count += 1;
      return { entries, received_ts: entries.map(() => 1_800_000_000), next: null };
    };
    return { find } as unknown as Store['timeseries'];
  };
  const store = { timeseries: part(before), usercache: part([]) };
  return [...(await beyondLimit(store, 'ada', batch))].map(({ metadata }) => metadata.write_ts);
}

it.each<[string, Entry[], Entry[], number[]]>([
  ['the last of 1,000', drops(1, 999), [drop(5000)], []],
  ['the next', drops(1, 1000), [drop(5000), drop(5001)], [5000, 5001]],
  ['the next of one batch', [], drops(1, 1001), [1001]],
  ['one that the store has', drops(1, 1000), [drop(7)], []],
  ['one that is invalid', drops(1, 1000), [correction(5000, { kind: 'drop' })], []],
  ['the undo of an active one, and one in its place', drops(1, 1000), [undo(5000, 7), drop(5001), drop(5002)], [5002]],
  ['an undo of nothing', drops(1, 1000), [undo(5000, 9999)], []],
  ['the undo of an undo', [...drops(1, 1000), ...undone(2000, 1)], [undo(5000, 2001)], [5000]],
  ['the next after an undo of an undo', [...drops(1, 999), ...undone(2000, 1)], [undo(5000, 2001), drop(5001)], [5001]],
  ['one beyond 2,000 in all', undone(1, 1000), [drop(5000), undo(5001, 9999)], [5000, 5001]],
  ['the last of 2,000 in all', undone(1, 999), [drop(5000), drop(5001), drop(5002)], [5002]],
  ['undos of active ones up to 3,000 in all', [...undone(1, 500), ...drops(1001, 1000)], [undo(5000, 1001)], []],
  ['the undo beyond 3,000', [...undone(1, 1000), ...drops(2001, 999)], [undo(5000, 2001), undo(5001, 2002)], [5001]],
])('beyond the limit: %s', async (_, before, batch, expected) => {
  expect(await beyond(before, batch)).toEqual(expected);
});

it('the corrections of a user are read only for a batch with a correction', async () => {
  const reads = { count: 0 };
  await beyond([], [{ metadata: { key: 'own/a', write_ts: 1 }, data: {} } as Entry], reads);
  expect(reads.count).toBe(0);
  await beyond([], [drop(1)], reads);
  expect(reads.count).toBe(2);
});

const day = 86_400;
const spanOf = (n: number) => [ts + n * day, ts + n * day + 600];
const links = [-3, -0.9, 0, 0.9, 3].map((n) => trip(`${n}`, [{ times: spanOf(n), easts: [0, 1] }]));
const trips = {
  chain: async (_: string, { from, to }: { from: number; to: number }) =>
    links.filter(({ chain_ts }) => chain_ts >= from && chain_ts < to),
  next: async (_: string, after: number) => links.find(({ chain_ts }) => chain_ts > after) ?? null,
  previous: async (_: string, before: number) => links.findLast(({ chain_ts }) => chain_ts < before) ?? null,
} as unknown as Trips;
const store = { trips, timeseries: {} as never, corrections: [] };
const seen = (...ns: number[]) => ns.map(spanOf);

it.each<[Correction, number[][] | undefined]>([
  [{ kind: 'drop', ts: ts + 60 }, seen(0)],
  [{ kind: 'drop', ts: ts + 1000 }, []],
  [{ kind: 'join', ts: ts + day / 2 }, seen(0, 0.9)],
  [{ kind: 'join', ts: ts + 2 * day }, seen(0.9, 3)],
  [{ kind: 'join', ts: ts - 2 * day }, seen(-3, -0.9)],
  [{ kind: 'at_home', start_ts: ts - day, end_ts: ts + 4 * day }, seen(-0.9, 0, 0.9, 3)],
  [{ kind: 'place_name', ts, name: 'x' }, undefined],
  [{ kind: 'set_aside', start_ts: ts, end_ts: ts + 60 }, undefined],
  [{ kind: 'undo', of: 5 }, undefined],
])('the entry of a correction has the trips that its author sees: %o', async (stated, expected) => {
  const origin = { surface: 'page' } as unknown as Origin;
  const entry = await correctionEntry(store, 'ada', stated, { now: 9, origin });
  expect(entry).toEqual({
    metadata: { key: 'manual/correction', type: 'message', platform: 'other', write_ts: 9, origin },
    data: { ...stated, ...(expected && { seen: expected }) },
  });
  const details = { author: 'helen', reason: 'lost', zone: 'UTC' };
  const full = await correctionEntry(store, 'ada', stated, { now: 9, origin, ...details });
  expect(full).toMatchObject({ metadata: { time_zone: 'UTC' }, data: { author: 'helen', reason: 'lost' } });
});
