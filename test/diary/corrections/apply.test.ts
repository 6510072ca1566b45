// Each kind of correction, applied to trips written down by hand: times, places, lines and gaps afterwards.
import { expect, it } from 'vitest';
import { applyCorrections, concernedTrips, cutSection, isAdded } from '../../../src/diary/corrections/apply.ts';
import type { Correction, Stated } from '../../../src/model/correction.ts';
import { justAfter } from '../../../src/model/time.ts';
import type { Place, Silence, Trip, TripRecord } from '../../../src/model/trip.ts';
import { at, chained, eastOf, metresPerDegree, section, trip, untracked } from '../../support/equator-trips.ts';

/** The facts of a link: chain time, zones, m, places with arrivals, rides by vertex, stops, unseen time, gaps. */
function textOf({ chain_ts, kind, start_ts, end_ts, dropped, trip, untracked, silences = [] }: TripRecord): string {
  const gaps = silences.map(({ from, to, reason, moved_m = '' }) => `; ${reason} ${from}-${to} ${moved_m}`.trimEnd());
  if (trip === null) return `${chain_ts} ${kind} ${start_ts}-${end_ts} ${dropped}${gaps.join('')}`;
  const { start_place, end_place, start_zone, end_zone, sections, stops } = trip;
  expect([trip.start_ts, trip.end_ts, trip.duration]).toEqual([start_ts, end_ts, end_ts - start_ts]);
  expect([start_place.location, end_place.location].map(eastOf)).toEqual([trip.start_loc, trip.end_loc].map(eastOf));
  const placeText = ({ location, enter_ts, enter_zone, name = '' }: Place): string =>
    `${name}${eastOf(location)}${enter_ts === null ? '' : `@${enter_ts} ${enter_zone?.replace('Europe/', '')}`}`;
  const rides = sections.map((one) => {
    const { times, distances, speeds, estimated } = one;
    expect([one.start_ts, one.end_ts, one.duration]).toEqual([times[0], times.at(-1), one.end_ts - one.start_ts]);
    expect(one.distance).toBeCloseTo(sumOf(distances), 1);
    for (const [i, speed] of speeds.entries())
      expect(speed).toBeCloseTo(i === 0 ? 0 : distances[i]! / (times[i]! - times[i - 1]!), 1);
    expect([distances[0], one.altitudes]).toEqual([0, times.map(() => null)]);
    expect([speeds.length, distances.length, one.coordinates.length]).toEqual(Array(3).fill(times.length));
    const vertices = times.map((ts, i) => `${ts}@${eastOf(one.coordinates[i]!)}`).join(' ');
    const guessed = estimated === undefined ? '' : ` guessed ${Math.round(estimated)}`;
    return `; ${one.sensed_mode.replace(/^.*\./, '').toLowerCase()} ${vertices}${guessed}`;
  });
  const pauses = stops.map((stop, i) => {
    expect([stop.ending_section, stop.starting_section]).toEqual([sections[i]!.id, sections[i + 1]!.id]);
    expect([stop.duration, stop.source]).toEqual([stop.exit_ts - stop.enter_ts, stop.source]);
    expect(stop.distance).toBeCloseTo(eastOf(stop.exit_loc) - eastOf(stop.enter_loc), 1);
    return `; stop ${stop.enter_ts}-${stop.exit_ts}`;
  });
  if (untracked !== null) {
    const { start_loc, end_loc } = untracked;
    pauses.push(`; unseen ${untracked.start_ts}@${eastOf(start_loc)}-${untracked.end_ts}@${eastOf(end_loc)}`);
  }
  const zones = [...new Set([start_zone, end_zone])].join(' ').replaceAll('Europe/', '');
  const head = `${chain_ts} ${trip.corrected ? '(corrected) ' : ''}${zones} ${Math.round(trip.distance)} m`;
  return `${head}; ${placeText(start_place)} > ${placeText(end_place)}${[...rides, ...pauses, ...gaps].join('')}`;
}

const sumOf = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0);

const berlin = ['Europe/Berlin', 'Europe/Berlin'];
const toLondon = ['Europe/Berlin', 'Europe/London'];
const ride = { times: [3300, 3650, 4000], easts: [6200, 9200, 12_200], mode: 'BUS' };
const walk = { times: [3000, 3100, 3200], easts: [6000, 6100, 6200], mode: 'WALKING' };
const day = chained(
  trip('a', [{ times: [1000, 1600], easts: [0, 6000] }], {}, berlin),
  trip('b', [walk, ride], {}, toLondon),
  trip('c', [{ times: [6000, 7000], easts: [12_200, 0] }]),
);
const gap = (from: number, to: number, reason: Silence['reason'], moved_m?: number): Silence => ({
  ...{ from, to, reason },
  ...(moved_m !== undefined && { moved_m }),
});
/** The first two trips, with gaps during the second and in the stay before it. */
const gaps = chained(
  { ...day[0]!, silences: [gap(1100, 1200, 'phone off'), gap(1550, 1700, 'silent'), gap(1600, 1701, 'silent')] },
  {
    ...day[1]!,
    silences: [
      gap(1650, 1700, 'tracking off'),
      gap(1800, 2300, 'moved', 1200),
      gap(2400, 2500, 'phone off'),
      gap(3500, 3650, 'silent'),
      gap(3640, 3651, 'no location'),
    ],
  },
);
const changing = trip('t', [walk, ride, { times: [4500, 4600], easts: [12_200, 12_300], mode: 'TRAM' }], {}, toLondon);
/** The second trip begins 100 s before its first location. The next time in the chain is in use. */
const late = chained(day[0]!, { ...day[1]!, chain_ts: 3100 }, { ...day[2]!, chain_ts: justAfter(3100) });
/** Two trips that end `seconds` after the first begins. The second begins 50 m away. */
const long = (seconds: number): TripRecord[] => {
  const unseen = { untracked: untracked(8000, 8500, 6000, 6050) };
  return chained(day[0]!, trip('w', [{ times: [9000, 1000 + seconds], easts: [6050, 7000] }], unseen));
};
/** Two trips and between them a short trip away, to `east` m from Greenwich. The last trip begins at `start`. */
const errand = (east: number, start: number): TripRecord[] =>
  chained(
    day[0]!,
    trip('e', [{ times: [1610, 1615], easts: [6000, east] }]),
    trip('f', [{ times: [start, 3000], easts: [east, 0] }]),
  );
/** A trip to exactly 100 m away, by the program's measure. */
const hundred = 0.0008993216059187307 * metresPerDegree;
const exact = chained(
  trip('a', [{ times: [1000, 1600], easts: [6000, 0] }]),
  trip('e', [{ times: [1610, 1615], easts: [0, hundred] }]),
  trip('f', [{ times: [2000, 3000], easts: [hundred, 0] }]),
);
/** The user moved unseen before the second and before the third trip. */
const unseen = chained(
  day[0]!,
  trip('u', [{ times: [3000, 4000], easts: [8000, 12_000] }], { untracked: untracked(2000, 2500, 6000, 8000) }),
  trip('v', [{ times: [6000, 7000], easts: [15_000, 0] }], { untracked: untracked(4500, 5500, 12_000, 15_000) }),
);

const split = (ts: number) => ({ kind: 'split', ts });
const join = (ts: number) => ({ kind: 'join', ts });
const drop = (ts: number) => ({ kind: 'drop', ts });
const mode = (ts: number) => ({ kind: 'mode', ts, mode: 'tram' });
const name = (ts: number, text: string) => ({ kind: 'place_name', ts, name: text });
const home = (start_ts: number, end_ts: number) => ({ kind: 'at_home', start_ts, end_ts });
const stay = (start_ts: number, end_ts: number, at?: string) => ({ kind: 'at_place', start_ts, end_ts, at });
const add = (start_ts: number, end_ts: number, more = {}) => ({ kind: 'add', mode: 'bus', start_ts, end_ts, ...more });
function applied(links: TripRecord[], ...corrections: object[]) {
  const stated = corrections.map((one, i) => ({ write_ts: 100 + i, received_ts: 9000, ...one }) as Stated);
  const { links: found, standings } = applyCorrections('ada', links, stated);
  return { links: found, rows: found.map(textOf), standings, effects: standings.map(({ effect }) => effect) };
}

/** Rides of the second trip, and of its part after a split at the second vertex. */
const bText = 'walking 3000@6000 3100@6100 3200@6200; bus 3300@6200 3650@9200 4000@12200; stop 3200-3300';
const bRest = 'walking 3100@6100 3200@6200; bus 3300@6200 3650@9200 4000@12200; stop 3200-3300';

/** The day after a join of the first two trips, a drop of the second, and a name of the place between them. */
const joined = `1000 (corrected) Berlin London 12200 m; 0 > 12200@4000 UTC; car 1000@0 1600@6000; ${bText.replace('; stop', '; stop 1600-3000; stop')}
  3000 dropped 3000-4000 corrected`;
const dropped = `3000 dropped 3000-4000 corrected
  6000 (corrected) UTC 12200 m; 12200@4000 UTC > 0@7000 UTC; car 6000@12200 7000@0; unseen 3000@6000-4000@12200`;
const named = `1000 Berlin 6000 m; 0 > W6000@1600 UTC; car 1000@0 1600@6000
  3000 Berlin London 6200 m; W6000@1600 UTC > 12200@4000 UTC; ${bText}`;
/** With a trip that is added between the first two. */
const filled = `1600 (corrected) Berlin 0 m; 6000@1600 UTC > 6000@3000 Berlin; bus 1600@6000 3000@6000 guessed 0
  3000 (corrected) Berlin London 6200 m; 6000@3000 Berlin > 12200@4000 UTC; ${bText}`;

/** A case: its title, the links, the corrections, their effects, and a line for each link that is new or changed. */
const given =
  (title: string, links: TripRecord[], corrections: object[], effects: string) =>
  (texts: TemplateStringsArray, ...values: string[]) => {
    const lines = String.raw(texts, ...values).split('\n');
    const changed = lines.map((line) => line.trim()).filter((line) => line !== '');
    return { title, links, corrections, effects, changed };
  };

it.each([
  given('the mode of a section that begins at the time', day, [mode(3300)], 'applied')`
    3000 (corrected) Berlin London 6200 m; 6000@1600 UTC > 12200@4000 UTC; walking 3000@6000 3100@6100 3200@6200; tram 3300@6200 3650@9200 4000@12200; stop 3200-3300`,
  given('the mode of a section that ends at the time', day, [mode(3200)], 'applied')`
    3000 (corrected) Berlin London 6200 m; 6000@1600 UTC > 12200@4000 UTC; tram 3000@6000 3100@6100 3200@6200; bus 3300@6200 3650@9200 4000@12200; stop 3200-3300`,
  given('no mode of a stop', day, [mode(3250)], 'without effect')``,
  given('no mode before and after a trip', day, [mode(2999), mode(4001)], 'without effect, without effect')``,
  given('a split at the next vertex', day, [split(3050)], 'applied')`
    3000 (corrected) Berlin 100 m; 6000@1600 UTC > 6100@3100 Berlin; walking 3000@6000 3100@6100
    3050 (corrected) Berlin London 6100 m; 6100@3100 Berlin > 12200@4000 UTC; ${bRest}`,
  given('a split at a vertex', day, [split(3100)], 'applied')`
    3000 (corrected) Berlin 100 m; 6000@1600 UTC > 6100@3100 Berlin; walking 3000@6000 3100@6100
    3100 (corrected) Berlin London 6100 m; 6100@3100 Berlin > 12200@4000 UTC; ${bRest}`,
  given('a split before the last vertex of a section', day, [split(3150)], 'applied')`
    3000 (corrected) Berlin 100 m; 6000@1600 UTC > 6100@3100 Berlin; walking 3000@6000 3100@6100
    3150 (corrected) Berlin London 6100 m; 6100@3100 Berlin > 12200@4000 UTC; ${bRest}`,
  given('a split at the end of a section', day, [split(3200)], 'applied')`
    3000 (corrected) Berlin 200 m; 6000@1600 UTC > 6200@3200 Berlin; walking 3000@6000 3100@6100 3200@6200
    3200 (corrected) Berlin London 6000 m; 6200@3200 Berlin > 12200@4000 UTC; bus 3300@6200 3650@9200 4000@12200`,
  given('a split at the start of a section', day, [split(3300)], 'applied')`
    3000 (corrected) Berlin 200 m; 6000@1600 UTC > 6200@3200 Berlin; walking 3000@6000 3100@6100 3200@6200
    3300 (corrected) Berlin London 6000 m; 6200@3200 Berlin > 12200@4000 UTC; bus 3300@6200 3650@9200 4000@12200`,
  given('a split with gaps before and after it', gaps, [split(3650)], 'applied')`
    3000 (corrected) Berlin London 3200 m; 6000@1600 UTC > 9200@3650 London; walking 3000@6000 3100@6100 3200@6200; bus 3300@6200 3650@9200; stop 3200-3300; tracking off 1650-1700; moved 1800-2300 1200; phone off 2400-2500; silent 3500-3650
    3650 (corrected) London 3000 m; 9200@3650 London > 12200@4000 UTC; bus 3650@9200 4000@12200; no location 3640-3651`,
  given('a split in the first of two stops', [changing], [split(3250)], 'applied')`
    3000 (corrected) Berlin 200 m; 6000 > 6200@3200 Berlin; walking 3000@6000 3100@6100 3200@6200
    3250 (corrected) Berlin London 6100 m; 6200@3200 Berlin > 12300@4600 UTC; bus 3300@6200 3650@9200 4000@12200; tram 4500@12200 4600@12300; stop 4000-4500`,
  given('a split after the last vertex before the end', day, [split(3900)], 'applied')`
    3000 (corrected) Berlin London 3200 m; 6000@1600 UTC > 9200@3650 London; walking 3000@6000 3100@6100 3200@6200; bus 3300@6200 3650@9200; stop 3200-3300
    3900 (corrected) London 3000 m; 9200@3650 London > 12200@4000 UTC; bus 3650@9200 4000@12200`,
  given('no split of a section without a vertex between its ends', day, [split(1300)], 'without effect')``,
  given('no split at the start and at the end', day, [split(3000), split(4000)], 'without effect, without effect')``,
  given('a split before the first location, at a chain time in use', late, [split(3050)], 'applied')`
    3100 (corrected) Berlin 100 m; 6000@1600 UTC > 6100@3100 Berlin; walking 3000@6000 3100@6100
    3100.000000000001 (corrected) Berlin London 6100 m; 6100@3100 Berlin > 12200@4000 UTC; ${bRest}`,
  given('a join at the end of a trip', day, [join(1600)], 'applied')`${joined}`,
  given('a join at the start of a trip', day, [join(3000)], 'applied')`${joined}`,
  given(
    'no join without two trips around the time',
    day,
    [join(1599), join(3001), join(7000)],
    'without effect, without effect, without effect',
  )``,
  given('a join of trips that last 7 days', long(7 * 86_400), [join(5000)], 'applied')`
    1000 (corrected) Berlin UTC 7000 m; 0 > 7000@605800 UTC; car 1000@0 1600@6000; car 9000@6050 605800@7000; stop 1600-9000
    9000 dropped 9000-605800 corrected`,
  given('no join of trips that last longer', long(7 * 86_400 + 1), [join(5000)], 'without effect')``,
  given('a split where two trips were joined', day, [join(2000), split(2500)], 'applied, applied')`
    1000 (corrected) Berlin London 6000 m; 0 > 6000@1600 London; car 1000@0 1600@6000
    2500 (corrected) London 6200 m; 6000@1600 London > 12200@4000 UTC; ${bText}
    3000 dropped 3000-4000 corrected`,
  given('a drop at the start of a trip', day, [drop(3000)], 'contradicted')`${dropped}`,
  given('a drop at the end of a trip', day, [drop(4000)], 'contradicted')`${dropped}`,
  given('no drop between trips', day, [drop(2999), drop(4001)], 'without effect, without effect')``,
  given('a drop of the last trip', day, [drop(6500)], 'applied')`
    6000 dropped 6000-7000 corrected`,
  given('a drop of the first trip', day, [drop(1500)], 'applied')`
    1000 dropped 1000-1600 corrected
    3000 (corrected) Berlin London 6200 m; 6000 > 12200@4000 UTC; ${bText}`,
  given('a drop of a trip to 99 m away', errand(6099, 2000), [drop(1612)], 'applied')`
    1610 dropped 1610-1615 corrected
    2000 (corrected) UTC 6198 m; 6000@1600 UTC > 0@3000 UTC; car 1970@6000 2000@6099 3000@0 guessed 99`,
  given('a drop of a trip to exactly 100 m away', exact, [drop(1612)], 'applied')`
    1610 dropped 1610-1615 corrected
    2000 (corrected) UTC 200 m; 0@1600 UTC > 0@3000 UTC; car 1970@0 2000@100 3000@0 guessed 100`,
  given('a drop of a trip to more than 100 m away', errand(6100.5, 2000), [drop(1612)], 'contradicted')`
    1610 dropped 1610-1615 corrected
    2000 (corrected) UTC 6101 m; 6101@1615 UTC > 0@3000 UTC; car 2000@6101 3000@0; unseen 1610@6000-1615@6101`,
  given('a drop before a trip that begins less than 30 s after the stay', errand(6090, 1620), [drop(1612)], 'applied')`
    1610 dropped 1610-1615 corrected
    1620 (corrected) UTC 6180 m; 6000@1600 UTC > 0@3000 UTC; car 1600@6000 1620@6090 3000@0 guessed 90`,
  given('a drop between unseen times', unseen, [drop(3500)], 'contradicted')`
    3000 dropped 3000-4000 corrected
    6000 (corrected) UTC 15000 m; 15000@5500 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 2000@6000-5500@15000`,
  given('a stay at home during half of a trip', day, [home(2500, 3500)], 'applied')`
    1000 Berlin 6000 m; 0 > home6000@1600 UTC; car 1000@0 1600@6000
    3000 Berlin London 6200 m; home6000@1600 UTC > 12200@4000 UTC; ${bText}`,
  given('a stay at home during more than half of a trip', day, [home(2500, 3501)], 'contradicted')`${dropped}`,
  given('a stay at home during two trips', day, [home(1200, 4000)], 'applied')`
    1000 dropped 1000-1600 corrected
    3000 dropped 3000-4000 corrected
    6000 (corrected) UTC 12200 m; home12200 > 0@7000 UTC; car 6000@12200 7000@0`,
  given('a stay during the last trip', day, [stay(5000, 7000)], 'applied')`
    6000 dropped 6000-7000 corrected`,
  given('a stay before unseen time', unseen, [stay(4600, 5000, 'before')], 'applied')`
    6000 UTC 15000 m; 15000@5000 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 4500@12000-5000@15000`,
  given('a stay after unseen time', unseen, [stay(4600, 6000, 'next')], 'applied')`
    6000 UTC 15000 m; 15000@4600 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 4500@12000-4600@15000`,
  given('a stay after unseen time that begins before it', unseen, [stay(4400, 5000, 'next')], 'applied')`
    6000 UTC 15000 m; 15000@4500 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 4500@12000-4500@15000`,
  given('a stay at no named side of unseen time', unseen, [stay(4600, 5000)], 'applied')``,
  given('a stay at the next place without unseen time', day, [stay(4600, 5000, 'next')], 'applied')``,
  given('a stay at the next place after the last trip', unseen, [stay(8000, 9000, 'next')], 'applied')``,
  given('an added trip between two', day, [add(1700, 2000, { end_loc: at(6500) })], 'applied')`
    1700 (corrected) Berlin 500 m; 6000@1600 UTC > 6500@2000 Berlin; bus 1700@6000 2000@6500 guessed 500
    3000 (corrected) Berlin London 6200 m; 6000@3000 Berlin > 12200@4000 UTC; ${bText}; unseen 2000@6500-3000@6000`,
  given('an added trip of a stated length', day, [add(1700, 2000, { distance: 800 })], 'applied')`
    1700 (corrected) Berlin 800 m; 6000@1600 UTC > 6000@2000 Berlin; bus 1700@6000 2000@6000 guessed 800
    3000 (corrected) Berlin London 6200 m; 6000@2000 Berlin > 12200@4000 UTC; ${bText}`,
  given('an added trip from the end of a trip to the start of the next', day, [add(1600, 3000)], 'applied')`${filled}`,
  given('an added trip that begins before the end of another', day, [add(1599, 3000)], 'contradicted')`${filled}`,
  given('an added trip that ends after the start of another', day, [add(1600, 3001)], 'contradicted')`${filled}`,
  given('no added trip during another', day, [add(3000, 3500), add(3500, 4000)], 'without effect, without effect')``,
  given('an added trip without others', [], [add(3000, 3500, { end_loc: at(7) })], 'applied')`
    3000.0000000000005 (corrected) UTC 0 m; 7 > 7@3500 UTC; bus 3000@7 3500@7 guessed 0`,
  given('no added trip without any place', [], [add(3000, 3500)], 'without effect')``,
  given('an added trip before all others', day, [add(100, 500)], 'applied')`
    100.00000000000001 (corrected) Berlin 0 m; 0 > 0@500 Berlin; bus 100@0 500@0 guessed 0
    1000 (corrected) Berlin 6000 m; 0@500 Berlin > 6000@1600 UTC; car 1000@0 1600@6000`,
  given('an added trip after all others', day, [add(8000, 8100)], 'applied')`
    8000 (corrected) UTC 0 m; 0@7000 UTC > 0@8100 UTC; bus 8000@0 8100@0 guessed 0`,
  given('an added trip before unseen time', unseen, [add(4100, 4200, { end_loc: at(9000) })], 'applied')`
    4100 (corrected) UTC 3000 m; 12000@4000 UTC > 9000@4200 UTC; bus 4100@12000 4200@9000 guessed 3000
    6000 (corrected) UTC 15000 m; 15000@5500 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 4200@9000-5500@15000`,
  given(
    'two added trips between two',
    gaps,
    [add(1700, 2000, { end_loc: at(7000) }), add(2200, 2500)],
    'applied, applied',
  )`
    1000 Berlin 6000 m; 0 > 6000@1600 UTC; car 1000@0 1600@6000; phone off 1100-1200; silent 1550-1700
    1700 (corrected) Berlin 1000 m; 6000@1600 UTC > 7000@2000 Berlin; bus 1700@6000 2000@7000 guessed 1000; silent 1600-1701; tracking off 1650-1700; moved 1800-2000
    2200 (corrected) Berlin 1000 m; 7000@2000 Berlin > 6000@2500 Berlin; bus 2200@7000 2500@6000 guessed 1000; moved 2000-2300 1200; phone off 2400-2500
    3000 (corrected) Berlin London 6200 m; 6000@2500 Berlin > 12200@4000 UTC; ${bText}; silent 3500-3650; no location 3640-3651`,
  given('an added trip that ends with a gap', gaps, [add(1700, 2300, { end_loc: at(7000) })], 'applied')`
    1000 Berlin 6000 m; 0 > 6000@1600 UTC; car 1000@0 1600@6000; phone off 1100-1200; silent 1550-1700
    1700 (corrected) Berlin 1000 m; 6000@1600 UTC > 7000@2300 Berlin; bus 1700@6000 2300@7000 guessed 1000; silent 1600-1701; tracking off 1650-1700; moved 1800-2300 1200
    3000 (corrected) Berlin London 6200 m; 6000@3000 Berlin > 12200@4000 UTC; ${bText}; unseen 2300@7000-3000@6000; phone off 2400-2500; silent 3500-3650; no location 3640-3651`,
  given(
    'two added trips before all others',
    [{ ...day[0]!, silences: [gap(150, 250, 'silent'), gap(350, 450, 'phone off')] }],
    [add(100, 200), add(300, 400)],
    'applied, applied',
  )`
    100.00000000000001 (corrected) Berlin 0 m; 0 > 0@200 Berlin; bus 100@0 200@0 guessed 0; silent 150-200
    300 (corrected) Berlin 0 m; 0@200 Berlin > 0@400 Berlin; bus 300@0 400@0 guessed 0; silent 200-250; phone off 350-400
    1000 (corrected) Berlin 6000 m; 0@400 Berlin > 6000@1600 UTC; car 1000@0 1600@6000; phone off 400-450`,
  given('a name at the end of a trip', day, [name(1600, 'W')], 'applied')`${named}`,
  given('a name at the start of a trip', day, [name(3000, 'W')], 'applied')`${named}`,
  given('a name of the first and the last place', day, [name(1000, 'H'), name(7000, 'E')], 'applied, applied')`
    1000 Berlin 6000 m; H0 > 6000@1600 UTC; car 1000@0 1600@6000
    6000 UTC 12200 m; 12200@4000 UTC > E0@7000 UTC; car 6000@12200 7000@0`,
  given('no name during a trip', day, [name(1001, 'W'), name(3001, 'W')], 'without effect, without effect')``,
  given('names before and after unseen time', unseen, [name(4500, 'B'), name(5500, 'N')], 'applied, applied')`
    3000 UTC 4000 m; 8000@2500 UTC > B12000@4000 UTC; car 3000@8000 4000@12000; unseen 2000@6000-2500@8000
    6000 UTC 15000 m; N15000@5500 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 4500@12000-5500@15000`,
  given('no name in unseen time', unseen, [name(4501, 'B'), name(5499, 'N')], 'without effect, without effect')``,
  given(
    'an exclusion, which the analysis applies',
    day,
    [{ kind: 'set_aside', start_ts: 900, end_ts: 5000 }],
    'applied',
  )``,
  given('no name without trips', [], [name(1, 'B')], 'without effect')``,
  given('a name in front of a first trip after unseen time', unseen.slice(2), [name(5500, 'N')], 'applied')`
    6000 UTC 15000 m; N15000@5500 UTC > 0@7000 UTC; car 6000@15000 7000@0; unseen 4500@12000-5500@15000`,
])('$title', ({ links, corrections, effects, changed }) => {
  const timeOf = (row: string): number => Number.parseFloat(row);
  const times = changed.map(timeOf);
  const kept = links.map(textOf).filter((row) => !times.includes(timeOf(row)));
  const found = applied(links, ...corrections);
  expect(found.effects.join(', ')).toBe(effects);
  expect(found.rows).toEqual([...kept, ...changed].sort((one, other) => timeOf(one) - timeOf(other)));
});

it('an added trip has a line of two vertices, and a state from which no analysis continues', () => {
  const { links } = applied(day, add(1700, 2000, { end_loc: at(6500) }), add(2100, 2200));
  const [, first, second] = links as [TripRecord, TripRecord, TripRecord];
  const { trip, carry, settled_ts, kind } = first;
  expect([kind, settled_ts]).toEqual(['trip', null]);
  expect(carry).toEqual({ resume_ts: 1700, started: false, raw_place: null, place: null });
  expect(trip).toMatchObject({ source: 'correction', zone_guessed: false, raw_trip: trip!.id, stops: [] });
  const whole = section(trip!.sections[0]!.id, { times: [1700, 2000], easts: [6000, 6500], mode: 'BUS' });
  expect(trip!.sections).toEqual([{ ...whole, speeds: [0, 1.667], estimated: 500, source: 'correction' }]);
  const { end_place, id } = trip!;
  expect(end_place).toMatchObject({ ending_trip: id, source: 'correction', id: second.trip!.start_place.id });
  const ids = [id, second.id, trip!.sections[0]!.id, second.trip!.sections[0]!.id, second.trip!.end_place.id];
  expect(new Set([...ids, end_place.id]).size).toBe(6);
  const stated = { ...add(1700, 2000), write_ts: 100, received_ts: 1 } as Stated;
  const other = applyCorrections('ben', day, [stated]).links[1]!;
  expect([id, trip!.sections[0]!.id, end_place.id]).not.toContain(other.id);
  expect(other.trip!.sections[0]!.id).not.toBe(trip!.sections[0]!.id);
  expect([isAdded(trip!), isAdded(day[0]!.trip!)]).toEqual([true, false]);
});

it('parts of a split trip and joined trips have the ids of their places, stops and trips', () => {
  const [, first, second, last] = applied(day, split(3650)).links.map(({ trip }) => trip!) as [Trip, Trip, Trip, Trip];
  expect([first.id, first.end_place.ending_trip]).toEqual(['b', 'b']);
  expect([second.raw_trip, second.end_place.ending_trip, last.start_place.ending_trip]).toEqual(
    Array(3).fill(second.id),
  );
  const [joined, , after] = applied(day, join(2000)).links;
  expect(joined!.trip!.stops[0]!.source).toBe('correction');
  expect([joined!.trip!.end_place.ending_trip, after!.trip!.start_place.ending_trip]).toEqual(['a', 'a']);
});

it('ids of corrected parts are the same in every version, because labels refer to them', () => {
  const idsOf = ({ id, sections, stops, start_place, end_place }: Trip) =>
    [id, ...[...sections, ...stops, start_place, end_place].map((one) => one.id)].join(' ');
  const [, , second] = applied(day, split(3100)).links;
  const [joined] = applied(day, join(2000)).links;
  const [, added, next] = applied(day, add(1700, 2000, { end_loc: at(6500) })).links;
  expect([second, joined, added, next].map((link) => idsOf(link!.trip!))).toEqual([
    '07a8bccf7b6a6ddc795ec8de 2aabbfb9adb3da7968f775c6 b1 stop b0 139d5d453d9854e497189b94 at 12200',
    'a a0 b0 b1 aece2f418c95677553ab86ff stop b0 at 0 at 12200',
    'f6d8c1d448e6793877f0bee6 2459452d4c52de182d30b907 at 6000 4e28891873e050af48605f4c',
    'b b0 b1 stop b0 6381d749512a69fe12cefc6d at 12200',
  ]);
});

it.each([
  [undefined, [undefined, undefined]],
  [100, [25, 75]],
  [4, [1, 3]],
  [3.9, [undefined, 2.93]],
  [0, [undefined, undefined]],
])('a cut divides %s guessed m of a section by the length of its parts', (estimated, expected) => {
  const whole = section('s', { times: [0, 10, 20, 30], easts: [0, 100, 300, 400] });
  const guessed = estimated === undefined ? whole : { ...whole, estimated };
  const parts = cutSection(guessed, 10, 'new')!;
  expect(parts.map((part) => part.estimated)).toEqual(expected);
  expect(parts.map(({ distance }) => distance)).toEqual([100, 300]);
  const rest = cutSection({ ...guessed, distance: 0, distances: [0, 0, 0, 0] }, 10, 'new')!;
  expect(rest.map((part) => part.estimated)).toEqual([undefined, undefined]);
});

it('the local day of a corrected trip is the day of its new start', () => {
  const midnight = 86_400 - 3600; // in Berlin
  const links = [trip('n', [{ times: [midnight - 100, midnight, midnight + 100], easts: [0, 100, 200] }], {}, berlin)];
  for (const ts of [midnight - 50, midnight + 50])
    expect(applied(links, split(ts)).links.map(({ day }) => day)).toEqual(['1970-01-01', '1970-01-02']);
});

it('corrections are applied in order of their time of writing, and concern the local day of the trip that ends next', () => {
  const first = trip('a', [{ times: [1000, 1600], easts: [0, 6000] }], {}, ['America/Lima', 'UTC']);
  const west = chained(first, ...day.slice(1));
  const dayOf = (links: TripRecord[], ts: number) => applied(links, name(ts, 'x')).standings[0]!.day;
  const east = trip('d', [{ times: [8000, 9000], easts: [0, 1] }], {}, ['Pacific/Auckland', 'UTC']);
  const days = [1600, 1601, 50_000].map((ts) => dayOf([...west, east], ts));
  expect([...days, dayOf([], 9000)]).toEqual(['1969-12-31', '1970-01-01', '1970-01-02', null]);
  const named = applied(day, { ...name(2000, 'later'), write_ts: 8 }, { ...name(2000, 'earlier'), write_ts: 7 });
  expect(named.standings.map(({ correction }) => correction.write_ts)).toEqual([7, 8]);
  expect(named.links[0]!.trip!.end_place.name).toBe('later');
});

it.each([
  ['the trip itself', [[3000, 4000]], 'applied'],
  ['a start and an end 15 minutes away', [[2100, 4900]], 'applied'],
  ['a start farther away', [[2099, 4000]], 'contradicted'],
  ['an end farther away', [[3000, 4901]], 'contradicted'],
  ['no trip', [], 'contradicted'],
  [
    'another trip, too',
    [
      [1000, 1600],
      [3000, 4000],
    ],
    'contradicted',
  ],
])('a correction whose author saw %s', (_, seen, effect) => {
  expect(applied(day, { ...mode(3300), seen }).effects).toEqual([effect]);
  expect(applied(day, { ...mode(3250), seen }).effects).toEqual(['without effect']);
});

it.each<[object, string]>([
  [drop(3000), 'b'],
  [drop(4000), 'b'],
  [drop(2999), ''],
  [drop(4001), ''],
  [join(1600), 'ab'],
  [join(1599), 'a'],
  [join(3999), 'ab'],
  [join(4000), 'bc'],
  [join(8000), 'c'],
  [add(4000, 6000), 'bc'],
  [home(4001, 5999), ''],
])('the trips that a correction concerns: %o', (correction, ids) => {
  const found = concernedTrips(correction as Correction, day);
  expect(found.map(({ id }) => id).join('')).toBe(ids);
});
