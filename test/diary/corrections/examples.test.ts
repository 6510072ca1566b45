// What each kind of correction makes of a day of three trips, compared with the diary that people expect.
import { expect, it } from 'vitest';
import { applyCorrections } from '../../../src/diary/corrections/apply.ts';
import { correctedTrips } from '../../../src/diary/corrections/corrected-trips.ts';
import { cutSection } from '../../../src/diary/corrections/cut-section.ts';
import { correctionEntry } from '../../../src/diary/corrections/new-correction.ts';
import { beyondLimit } from '../../../src/diary/corrections/read-corrections.ts';
import type { Correction, CorrectionStanding, Stated } from '../../../src/model/correction.ts';
import type { Entry, Origin } from '../../../src/model/entry.ts';
import { justAfter } from '../../../src/model/time.ts';
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
    'is added, and begins when the trip before has ended: contradicted',
    [span('add', 500, 2000, walk)],
    [first, '652.5-2000, 2000 m, 6000 > 8000, walking', `unseen 2000-6967.5 8000 > 6000; ${second}`, third],
  ],
  [
    'is added, and ends when the trip after begins: contradicted',
    [span('add', 6000, 7200, { mode: 'bus', distance: 1500 })],
    [first, '6000-6967.5, 1500 m, 6000 > 6000, bus', second, third],
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
    'is added before all others: applied',
    [span('add', -5000, -4000, { mode: 'train' })],
    ['-5000--4000, 0 m, 0 > 0, train', first, second, third],
  ],
  [
    'is added after all others: applied',
    [span('add', 20_000, 21_000, { mode: 'train', end_loc: at(0) })],
    [first, second, third, '20000-21000, 18000 m, 18000 > 0, train'],
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
  [
    'is split right after its start: applied',
    [one('split', 6975)],
    [first, '6967.5-6997.5, 0 m, 6000 > 6000, car', '6997.5-7852.5, 6010 m, 6000 > 12000, car', third],
  ],
  [
    'is split right before its end: applied',
    [one('split', 7845)],
    [first, '6967.5-7837.5, 6000 m, 6000 > 12000, car', '7837.5-7852.5, 0 m, 12000 > 12000, car chain 7845', third],
  ],
  [
    'is not split at its ends: without effect, without effect',
    [one('split', 6967.5), one('split', 7852.5)],
    [first, second, third],
  ],
  [
    'is joined with the next: applied',
    [one('join', 3000)],
    ['-232.5-7852.5, 14340 m, 0 > 12000, car+car stop 652.5-6967.5', 'dropped 7200', third],
  ],
  [
    'is split where two were joined: applied, applied',
    [one('join', 3000), one('split', 4000)],
    [first, `${second} chain 4000`, 'dropped 7200', third],
  ],
  [
    'is dropped, and the person went unseen to the next start: contradicted',
    [one('drop', 7400)],
    [first, 'dropped 7200', `unseen 6967.5-7852.5 6000 > 12000; ${third}`],
  ],
  [
    'is dropped, first and last: applied, applied',
    [one('drop', 100), one('drop', 14_500)],
    ['dropped 0', second, 'dropped 14400'],
  ],
  ['gets another mode: applied', [one('mode', 7400, { mode: 'tram' })], [first, second.replace('car', 'tram'), third]],
  [
    'is no trip of somebody at home: contradicted',
    [span('at_home', 6900, 7900)],
    [first, 'dropped 7200', `unseen 6967.5-7852.5 6000 > 12000; ${third}`],
  ],
  ['ends at home: applied', [span('at_home', 2000, 3000)], [`${first} to home`, `${second} from home`, third]],
  [
    'begins and ends at named places: applied, applied, applied',
    [named(-1000, 'A'), named(3000, 'B'), named(20_000, 'C')],
    [`${first} from A to B`, `${second} from B`, `${third} to C`],
  ],
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
  const trips = correctedTrips(store);
  const shown = chain.filter(({ trip }) => trip !== null);
  for (const [i, link] of shown.entries())
    expect(await trips.previous(user, shown[i + 1]?.chain_ts ?? Infinity)).toEqual(link);
  const standings = await trips.corrections(user);
  expect(standings.map(({ effect }) => effect).join(', ')).toBe(title.split(': ')[1]);
});

it('the second part of a cut section begins without a speed and a length', async () => {
  const [link] = await chainOf(store, await userWith([0]));
  const section = link!.trip!.sections[0]!;
  const at = section.times.findIndex((time) => time >= t0 + 300);
  const [left, right] = cutSection(section, t0 + 300, 'new')!;
  expect([left.id, left.times, left.speeds]).toEqual([
    section.id,
    section.times.slice(0, at + 1),
    section.speeds.slice(0, at + 1),
  ]);
  expect([right.id, right.times, right.speeds, right.distances]).toEqual([
    'new',
    section.times.slice(at),
    [0, ...section.speeds.slice(at + 1)],
    [0, ...section.distances.slice(at + 1)],
  ]);
});

it('a gap that an added trip divides counts its distance once, where the gap ends', async () => {
  const links = await chainOf(store, await userWith([0, 7200]));
  const gap = { from: t0 + 1000, to: t0 + 6000, reason: 'phone off', moved_m: 900 } as const;
  const early = { from: t0 + 700, to: t0 + 900, reason: 'tracking off' } as const;
  const silent = [links[0]!, { ...links[1]!, silences: [early, gap] }];
  const stated = { ...span('add', 3000, 4000, walk), write_ts: 1, received_ts: 1 } as unknown as Stated;
  const found = applyCorrections('ada', silent, [stated]).links.map(({ silences = [] }) =>
    silences.map(({ from, to, moved_m = 0 }) => `${from - t0}-${to - t0} ${moved_m} m`).join(', '),
  );
  expect(found).toEqual(['', '700-900 0 m, 1000-4000 0 m', '4000-6000 900 m']);
});

const sixStarts = [0, 1, 2, 3, 4, 5].map((i) => i * 7200);
const reached = 'unseen 6967.5-29452.5 6000 > 30000; 35767.5-36652.5, 6010 m, 30000 > 36000, car';
it.each([
  ['drop', [1, 2, 3, 4].map((i) => i * 7200), reached],
  ['join', [0, 1, 2, 3, 4].map((i) => i * 7200 + 3000), 'dropped 36000'],
])('a link is read with every correction that affects it through others: %s', async (kind, times, last) => {
  const user = await userWith(sixStarts);
  await put(
    store,
    user,
    times.map((ts, i) => correction(3_900_000_000 + i, one(kind, ts) as Entry['data'])),
  );
  const chain = await chainOf(store, user);
  expect(rowOf(chain.at(-1)!)).toBe(last);
  for (const link of chain) {
    const [from, to] = [link.chain_ts, justAfter(link.chain_ts)];
    expect(await correctedTrips(store).chain(user, { from, to, limit: 1 })).toEqual([link]);
  }
});

it('a day is read with the corrections of its first and last trip', async () => {
  const user = await userWith(sixStarts);
  const modes = [60, 36_060].map((ts) => one('mode', ts, { mode: 'tram' }) as Entry['data']);
  await put(
    store,
    user,
    modes.map((data, i) => correction(3_900_000_000 + i, data)),
  );
  const rows = (await correctedTrips(store).byDay(user, { from: '2023-11-14', to: '2023-11-14' })).map(rowOf);
  expect(rows.map((row) => row.split(' ').at(-1))).toEqual(['tram', 'car', 'car', 'car', 'car', 'tram']);
});

it('a correction names the trips that its author sees, also if they ended days before', async () => {
  const user = await userWith([0, 2.5 * 86_400]);
  const author = { now: 3_900_000_000, origin: { surface: 'page' } as unknown as Origin };
  await put(store, user, [await correctionEntry(store, user, one('join', 30 * 3600) as Correction, author)]);
  const [{ correction: stated, effect }] = (await correctedTrips(store).corrections(user)) as [CorrectionStanding];
  expect([stated.seen?.length, effect]).toEqual([2, 'applied']);
});

it('a correction counts for the limit of its user within its own batch', async () => {
  const user = await newUser(store);
  const undone = [...Array(1000).keys()].flatMap((i) => [
    correction(3_900_000_000 + 2 * i, one('split', 7400) as Entry['data']),
    correction(3_900_000_001 + 2 * i, { kind: 'undo', of: 3_900_000_000 + 2 * i }),
  ]);
  const last = correction(3_900_010_000, one('split', 7400) as Entry['data']);
  expect([...(await beyondLimit(store, user, [...undone, last]))]).toEqual([last]);
});
