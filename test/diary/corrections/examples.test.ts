// What each kind of correction makes of a day of three trips, compared with the diary that people expect.
import { expect, it } from 'vitest';
import { correctedTrips } from '../../../src/diary/corrections/corrected-trips.ts';
import type { Entry } from '../../../src/model/entry.ts';
import type { Position, TripRecord } from '../../../src/model/trip.ts';
import { chainProblems } from '../../support/chain.ts';
import { correction } from '../../support/corrections.ts';
import { chainAfter, chainOf, put } from '../../support/diary.ts';
import { origin, spot, t0 } from '../../support/phone.ts';
import { android, pushedRide } from '../../support/pushes.ts';
import { newUser, useStore } from '../../support/store.ts';

const store = useStore();
const ridesOf = (starts: number[]) => starts.flatMap((from, i) => pushedRide(android, from, i * 6000));
const userWith = async (starts: number[]): Promise<string> => {
  const user = await newUser(store);
  await chainAfter(store, user, ridesOf(starts));
  return user;
};
const at = (east: number): Position => [spot(east).longitude, spot(east).latitude];
/** m east of the origin, to 10 m. */
const eastOf = ([longitude]: Position): number =>
  Math.round(((longitude - origin.longitude) / (spot(1000).longitude - origin.longitude)) * 100) * 10;

/** `start-end s, m, from > to, modes`, then stops, names of places, and an invented chain time. Unseen time first. */
function rowOf({ trip, untracked, chain_ts }: TripRecord): string {
  const chainTime = Math.round((chain_ts - t0) * 10) / 10;
  if (trip === null) return `dropped ${chainTime}`;
  const { start_ts, end_ts, distance, start_loc, end_loc, start_place, end_place, sections, stops } = trip;
  const [start, end] = [start_ts - t0, end_ts - t0];
  const ends = (from: Position, to: Position): string => `${eastOf(from)} > ${eastOf(to)}`;
  expect(ends(start_place.location, end_place.location)).toBe(ends(start_loc, end_loc));
  expect(trip.duration).toBe(end_ts - start_ts);
  const modes = sections.map(({ sensed_mode }) => sensed_mode.replace(/^.*\./, '').toLowerCase()).join('+');
  const length = Math.round(distance / 10) * 10;
  const parts = [`${start}-${end}, ${length} m, ${ends(start_loc, end_loc)}, ${modes}`];
  if (untracked !== null) {
    const { start_ts: from, end_ts: to, start_loc: left, end_loc: found } = untracked;
    parts.unshift(`unseen ${from - t0}-${to - t0} ${ends(left, found)};`);
  }
  for (const { enter_ts, exit_ts } of stops) parts.push(`stop ${enter_ts - t0}-${exit_ts - t0}`);
  if (start_place.name !== undefined) parts.push(`from ${start_place.name}`);
  if (end_place.name !== undefined) parts.push(`to ${end_place.name}`);
  if (chainTime !== start && chainTime % 7200 !== 0) parts.push(`chain ${chainTime}`);
  return parts.join(' ');
}

const [first, second, third] = [
  '-232.5-652.5, 8330 m, 0 > 6000, car',
  '6967.5-7852.5, 6010 m, 6000 > 12000, car',
  '14167.5-15052.5, 6010 m, 12000 > 18000, car',
];

const one = (kind: string, ts: number, rest: object = {}): object => ({ kind, ts: t0 + ts, ...rest });
const span = (kind: string, from: number, to: number, rest: object = {}): object => {
  return { kind, start_ts: t0 + from, end_ts: t0 + to, ...rest };
};
const named = (ts: number, name: string): object => one('place_name', ts, { name });
const walk = { mode: 'walking', end_loc: at(8000) };

/** What happens: what became of each correction. */
it.each<[string, object[], string[]]>([
  [
    'is added between two trips: applied',
    [span('add', 3000, 4000, walk)],
    [first, '3000-4000, 2000 m, 6000 > 8000, walking', `unseen 4000-6967.5 8000 > 6000; ${second}`, third],
  ],
  [
    'is added up to near the next start: applied',
    [span('add', 3000, 4000, { mode: 'bus', end_loc: at(6060) })],
    [first, '3000-4000, 60 m, 6000 > 6060, bus', '6937.5-7852.5, 6070 m, 6060 > 12000, car', third],
  ],
  [
    'is added in place of another: contradicted',
    [span('add', 6900, 7900, { mode: 'train' })],
    [first, '6900-7900, 6000 m, 6000 > 12000, train', 'dropped 7200', third],
  ],
  [
    'is added with the chain time of a dropped one: contradicted, applied',
    [one('drop', 7400), span('add', 7200, 7800, { mode: 'car', end_loc: at(12_000) })],
    [first, 'dropped 7200', '7200-7800, 6000 m, 6000 > 12000, car', '14137.5-15052.5, 6010 m, 12000 > 18000, car'],
  ],
  [
    'is split at the next location: applied',
    [one('split', 7402.5)],
    [first, '6967.5-7417.5, 2180 m, 6000 > 8180, car', '7417.5-7852.5, 3830 m, 8180 > 12000, car chain 7402.5', third],
  ],
  // Its place in the chain is later: at 7200.
  [
    'is split right after its start: applied',
    [one('split', 6975)],
    [first, '6967.5-6997.5, 0 m, 6000 > 6000, car', '6997.5-7852.5, 6010 m, 6000 > 12000, car', third],
  ],
  [
    'is split where two were joined: applied, applied',
    [one('join', 3000), one('split', 4000)],
    [first, `${second} chain 4000`, 'dropped 7200', third],
  ],
  [
    'is dropped, first and last: applied, applied',
    [one('drop', 100), one('drop', 14_500)],
    ['dropped 0', second, 'dropped 14400'],
  ],
  ['gets another mode: applied', [one('mode', 7400, { mode: 'tram' })], [first, second.replace('car', 'tram'), third]],
  ['ends at home: applied', [span('at_home', 2000, 3000)], [`${first} to home`, `${second} from home`, third]],
  [
    'begins at a named place after unseen time: contradicted, applied, without effect, applied',
    [one('drop', 7400), named(3000, 'A'), named(7500, 'B'), named(7852.5, 'C')],
    [`${first} to A`, 'dropped 7200', `unseen 6967.5-7852.5 6000 > 12000; ${third} from C`],
  ],
])('a trip %s', async (title, corrections, rows) => {
  const user = await userWith([0, 7200, 14_400]);
  await put(
    store,
    user,
    corrections.map((data, i) => correction(3_900_000_000 + i, data as Entry['data'])),
  );
  const chain = await chainOf(store, user);
  expect(chain.map(rowOf)).toEqual(rows);
  // Only the analysis sets times of settling: added and joined trips have none.
  expect(chainProblems(chain.map((link) => ({ ...link, settled_ts: null })))).toEqual([]);
  expect(new Set(chain.map(({ chain_ts }) => chain_ts)).size).toBe(chain.length);
  const standings = await correctedTrips(store).corrections(user);
  expect(standings.map(({ effect }) => effect).join(', ')).toBe(title.split(': ')[1]);
});
