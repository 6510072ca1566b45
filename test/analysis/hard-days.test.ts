// Made-up days that are hard to analyse, with a known number of trips: none, one or two.
import { expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { keys } from '../../src/model/keys.ts';
import type { Trip, TripRecord } from '../../src/model/trip.ts';
import { readStretch } from '../../src/pipeline/read-stretch.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { memoryTimeseries } from '../support/memory-timeseries.ts';
import { since, t0 } from '../support/phone.ts';
import { android, iphone, type MotionWord, pushedFix, pushedMotions } from '../support/pushes.ts';
import { linksOf, modesOf } from './kit.ts';

/** Seconds at a speed, m/s eastwards, and what the phone calls it; `north`: northwards; `silent`: without a place. */
interface Part {
  seconds: number;
  speed: number;
  word?: MotionWord | null;
  north?: boolean;
  silent?: boolean;
}

const walk = (seconds: number): Part => ({ seconds, speed: 1.35, word: 'walking' });
const back = (seconds: number): Part => ({ seconds, speed: -1.35, word: 'walking' });
const drive = (seconds: number, speed = 14): Part => ({ seconds, speed, word: 'automotive' });
const ride = (seconds: number, speed: number): Part => ({ seconds, speed, word: 'cycling' });
const driveNorth = (seconds: number, speed = 14): Part => ({ ...drive(seconds, speed), north: true });
const rest = (seconds: number): Part => ({ seconds, speed: 0, word: 'still' });
const asleep = (seconds: number): Part => ({ seconds, speed: 0, word: null, silent: true });
/** Home after a trip: the phone sees ten minutes of rest, then sleeps. */
const home = [rest(600), asleep(4 * 3600)];

/** A day from `from` s after `t0`: locations every `every` s with an error of a few metres, readings every 30 s. */
function pushedDay(
  parts: readonly Part[],
  { every = 30, readings = true, seed = 1, from = 0, phone = android } = {},
): Entry[] {
  const { next } = seededRandom(seed);
  const error = (): number => (next() + next() + next() - 1.5) * 8;
  const entries: Entry[] = [];
  let [now, x, y] = [from, 0, 0];
  for (const { seconds, speed, word, north, silent } of parts) {
    const [east, up] = north ? [0, speed] : [speed, 0];
    for (let s = 0; !silent && s < seconds; s += every)
      entries.push(pushedFix(phone, now + s, x + s * east + error(), y + s * up + error(), { accuracy: 12 }));
    if (word && readings) entries.push(...pushedMotions(phone, now + 7, now + seconds - 8, word));
    now += seconds;
    x += seconds * east;
    y += seconds * up;
  }
  return entries;
}

const endingAtHome = (parts: readonly Part[], options?: Parameters<typeof pushedDay>[1]) =>
  pushedDay([...parts, ...home], options);
const dayOf = (...asked: Parameters<typeof endingAtHome>) => analysed(endingAtHome(...asked));

async function analysed(entries: Entry[]): Promise<{ trips: Trip[]; chain: TripRecord[] }> {
  const stretch = await readStretch(memoryTimeseries(entries), 'u', keys.filteredLocation, null, 1_000_000);
  const chain = linksOf(stretch);
  return { trips: chain.flatMap(({ trip }) => trip ?? []), chain };
}

const motor = /CAR|BUS|TRAIN/;

/** The only trip of what was pushed, its modes and its day. */
async function only(entries: Entry[]) {
  const { trips, chain } = await analysed(entries);
  expect(trips).toHaveLength(1);
  return { trip: trips[0]!, modes: modesOf(trips[0]), day: chain[0]!.day };
}
const onlyTrip = (...asked: Parameters<typeof endingAtHome>) => only(endingAtHome(...asked));

/** A time in s since `t0`. */
const expectTime = (ts: number, expected: number, within: number): void =>
  expect(Math.abs(since(ts) - expected)).toBeLessThan(within);
const expectRatio = (found: number, expected: number, within: number): void =>
  expect(Math.abs(found / expected - 1)).toBeLessThan(within);
const longestStop = ({ stops }: Trip) => stops.toSorted((a, b) => b.duration - a.duration)[0]!;
const wayOf = (trips: readonly Trip[]): number => trips.reduce((sum, { distance }) => sum + distance, 0);
const repeated = (times: number, ...parts: Part[]): Part[] => Array.from({ length: times }, () => parts).flat();

it.each<[number, string, Part[]]>([
  [2, 'a short errand on foot at a corner of a drive', [drive(900), walk(90), rest(420), back(90), driveNorth(900)]],
  [2, 'a rest of twenty minutes on a drive, without a walk', [drive(1800, 25), rest(1200), drive(1800, 25)]],
  [
    1,
    'a train that the phone loses under ground between two candidates: it was not parked there',
    [drive(1500, 25), rest(330), { ...driveNorth(660, 20), silent: true }, driveNorth(900, 25)],
  ],
  [1, 'a ferry that spends an hour on the water', [walk(500), rest(420), { seconds: 3600, speed: 8 }, walk(400)]],
  [1, 'a user who walks about while waiting', [drive(1500), walk(180), rest(420), walk(90), rest(420), drive(1500)]],
  [1, 'a walk, without a return trip from errors of a receiver at home', [walk(900), rest(4 * 3600)]],
  [0, 'a week at home of a phone that sometimes wakes', repeated(84, rest(420), asleep(6780))],
  [0, 'strolls about the house', repeated(4, walk(24), back(24), rest(600), asleep(3000))],
])('the diary has %i trips for %s', async (count, _, parts) => {
  expect((await dayOf(parts)).trips).toHaveLength(count);
});

it.each<[string, Part[]]>([
  ['a change of trains at one platform, where the line turns', [drive(1500, 25), rest(420), driveNorth(1500, 25)]],
  ['a platform with readings of a vehicle', [{ ...rest(420), word: 'automotive' }, drive(1500, 25), walk(300)]],
])('the diary has one trip with a stop for %s', async (_, parts) => {
  const { trip } = await onlyTrip([walk(600), ...parts]);
  expect(longestStop(trip).duration).toBeGreaterThan(240);
});

it('the diary has two trips for a car errand of twenty minutes, which go on from the parked car', async () => {
  const { trips } = await dayOf([drive(900), walk(90), rest(1020), back(90), drive(900)]);
  expect(trips).toHaveLength(2);
  expectTime(trips[0]!.end_ts, 990, 180);
  expect(trips[1]!.start_place).toEqual(trips[0]!.end_place);
});

it('the diary has two trips for a walk to a friend and back: turning back means a stay', async () => {
  const { trips } = await dayOf([walk(900), rest(600), asleep(900), back(900)]);
  expect(trips).toHaveLength(2);
  expect(new Set(trips.flatMap(modesOf))).toEqual(new Set(['WALKING']));
});

it('the diary has two trips for the way there and back of a phone that stays awake between them', async () => {
  const { trips } = await dayOf([walk(900), rest(900), back(900)]);
  expect(trips).toHaveLength(2);
  expectTime(trips[1]!.start_ts, 1800, 240);
  expectTime(trips[1]!.end_ts, 2700, 120);
  expect(trips[1]!.distance).toBeGreaterThan(900);
});

it('the diary has one trip for a walk, eight minutes of waiting and a bus, with a stop', async () => {
  const { trip, modes } = await onlyTrip([walk(600), rest(480), drive(1200, 9), walk(300)]);
  expect(modes.slice(0, 2)).toEqual(['WALKING', expect.stringMatching(/BUS|TRAIN/)]);
  const { duration, enter_ts } = longestStop(trip);
  expect(Math.abs(duration - 480)).toBeLessThan(150);
  expectTime(enter_ts, 600, 120);
});

it('the diary has one trip for two drives and a wait of twelve minutes in which the receiver jumps', async () => {
  const plain = endingAtHome([drive(1200, 20), walk(120), rest(720), drive(1200, 20)]);
  for (const metres of [100, 150, 400]) {
    const jump = pushedFix(android, 1320 + 375, 1200 * 20 + 162, metres, { accuracy: 12 });
    expectTime((await only([...plain, jump])).trip.end_ts, 3240, 120);
  }
});

it('the diary has one trip for a bus, a wait, and a tram as slow as a bicycle, without motion readings', async () => {
  const tram: Part = { seconds: 600, speed: 4.5, word: null };
  const { modes } = await onlyTrip([walk(600), rest(300), drive(1200, 11), walk(240), rest(420), tram]);
  expect(modes).not.toContain('BICYCLING');
});

it('the diary has one trip for a train through tunnels of minutes', async () => {
  const tunnel: Part = { ...drive(420, 30), silent: true };
  const way = [drive(600, 30), tunnel, drive(300, 30), tunnel, drive(600, 30)];
  const { trip, modes } = await onlyTrip([walk(600), rest(400), ...way, walk(300)]);
  expect(modes).toContain('TRAIN');
  expectRatio(trip.distance, 2340 * 30 + 900 * 1.35, 0.06);
});

it('the diary has one trip for a night train over midnight, on the day on which it left', async () => {
  const { day } = await onlyTrip([asleep(15 * 3600), drive(5 * 3600, 30)]); // from 23:00
  expect(day).toBe('2023-11-14');
});

it('the diary has one trip for a night train into another zone, on the local day on which it left', async () => {
  const plain = endingAtHome([asleep(15 * 3600), drive(6 * 3600, 30)]); // 23:00 in Berlin, midnight in Helsinki
  const border = t0 + 17 * 3600;
  const zoned = plain.map(({ metadata, data }) => {
    const time_zone = metadata.write_ts < border ? metadata.time_zone : 'Europe/Helsinki';
    return { metadata: { ...metadata, time_zone }, data } as Entry;
  });
  const { trip, day } = await only(zoned);
  expect([trip.start_zone, trip.end_zone, day]).toEqual(['Europe/Berlin', 'Europe/Helsinki', '2023-11-14']);
  expectRatio(trip.distance, 6 * 3600 * 30, 0.02);
});

it('the diary has one trip for a journey through the hour that occurs twice, and the skipped one', async () => {
  for (const night of ['2023-10-29T00:30:00Z', '2024-03-31T00:30:00Z']) {
    const from = Date.parse(night) / 1000 - t0; // half an hour before the clocks of Berlin change
    const { trip, day } = await onlyTrip([walk(400), drive(3600), walk(300)], { from });
    expectTime(trip.end_ts, from + 4300, 120);
    expect(day).toBe(night.slice(0, 10));
  }
});

const journey = [walk(400), drive(1500), walk(300)];

it('the diary has one trip for a journey that two phones of two platforms in the same pocket record', async () => {
  const plain = endingAtHome(journey);
  const { trip: alone } = await only(plain);
  const { trip } = await only([...plain, ...endingAtHome(journey, { phone: iphone, seed: 2 })]);
  expectTime(trip.end_ts, since(alone.end_ts), 120);
  expectRatio(trip.distance, alone.distance, 0.05);
});

it('the diary has one trip for a journey without motion readings, or with a location a minute', async () => {
  const [unread, rare] = [await onlyTrip(journey, { readings: false }), await onlyTrip(journey, { every: 60 })];
  expect(unread.trip.evidence!.model).toContain('sparse');
  expectTime(rare.trip.end_ts, 2200, 120);
  for (const { modes } of [unread, rare]) expect(modes.join()).toMatch(motor);
});

it('the diary has one trip, as long as the street, for a drive with jumps of two kilometres', async () => {
  const plain = endingAtHome([drive(1800)]);
  const jumping = plain.map((entry, i) =>
    entry.metadata.key === keys.filteredLocation && i < 55 && i % 9 === 4
      ? { ...entry, data: { ...entry.data, latitude: Number(entry.data.latitude) + 0.018 } }
      : entry,
  );
  expectRatio((await only(jumping)).trip.distance, (await only(plain)).trip.distance, 0.05);
});

it.each([15, 30, 64, 100])('a trip ends at the arrival of a phone that is awake every %i s', async (every) => {
  const day = pushedDay([drive(1500), walk(300), rest(1800), asleep(7200)], { every });
  expectTime((await only(day)).trip.end_ts, 1800, 120);
});

it('the diary has one trip for a journey that is final although a single outlier follows', async () => {
  const outlier = pushedFix(android, 1500 + 700, 25_000, 0, { accuracy: 30 });
  await only([...endingAtHome([drive(1500)]), outlier]);
});

it('the diary has one trip for a journey, also with entries of a clock far ahead', async () => {
  const plain = endingAtHome([drive(1800)]);
  const future = pushedFix(android, 300, 90_000, 0, { ts: t0 + 40 * 86_400 });
  expect((await analysed([...plain, future])).trips).toEqual((await analysed(plain)).trips);
});

// Known limit: the ways to and from an airport without a wait are part of the flight, see docs/quality.md.
it('a flight without a location for hours is by air, with the length of the flight', async () => {
  const flown: Part = { ...drive(3 * 3600, 220), silent: true, word: null };
  const { trips } = await dayOf([drive(900), walk(120), flown, walk(120), drive(900)]);
  expect(trips.flatMap(modesOf)).toContain('AIR_OR_HSR');
  expectRatio(wayOf(trips), 3 * 3600 * 220, 0.1);
});

it('a flight with locations on board is between two drives, which keep a mode', async () => {
  const flown: Part = { seconds: 3600, speed: 220, word: 'still' };
  const ends = [rest(600), walk(240)];
  const { trips } = await dayOf([drive(900), ...ends, flown, ...ends, drive(900)]);
  const found = trips.flatMap(modesOf);
  expect(found).toContain('AIR_OR_HSR');
  for (const end of [found[0], found.at(-1)]) expect(end).toMatch(/^(CAR|BUS|TRAIN)$/); // a straight drive at one speed
  for (const { mode_confidence } of trips.flatMap(({ sections }) => sections)) expect(mode_confidence).not.toBeNaN();
});

const atHome = [rest(900), asleep(2 * 3600)];

it('a day of strolls has one trip for each stroll there and back', async () => {
  const { trips } = await analysed(pushedDay(repeated(3, walk(420), back(420), ...atHome)));
  expect(trips.map(modesOf)).toEqual([['WALKING'], ['WALKING'], ['WALKING']]);
  for (const { distance } of trips.slice(1)) expectRatio(distance, 840 * 1.35, 0.1);
});

// Known limit: such a stroll is two trips that touch, see docs/quality.md.
it('a day of strolls with a pause at each turning point has all strolls, and no others', async () => {
  const { trips } = await analysed(pushedDay(repeated(3, walk(420), rest(120), back(420), ...atHome)));
  expect(new Set(trips.flatMap(modesOf))).toEqual(new Set(['WALKING']));
  for (const begin of [9060, 18_120]) {
    const own = trips.filter(({ start_ts, end_ts }) => since(end_ts) > begin - 600 && since(start_ts) < begin + 1500);
    expectTime(own[0]!.start_ts, begin, 240);
    expectTime(own.at(-1)!.end_ts, begin + 960, 60);
    expect(own.slice(1).every((trip, i) => trip.start_ts - own[i]!.end_ts < 60)).toBe(true);
    expectRatio(wayOf(own), 840 * 1.35, 0.1);
  }
});

it('a motion reading of an Android phone makes a run at three metres a second a section on foot', async () => {
  const run: Part = { seconds: 900, speed: 3.1, word: 'walking' };
  const modesBy = async (part: Part) => (await dayOf([walk(300), part, walk(300)])).trips.flatMap(modesOf);
  expect(new Set(await modesBy(run))).toEqual(new Set(['WALKING']));
  expect(await modesBy({ ...run, word: 'cycling' })).toContain('BICYCLING');
});

it('a walk that a phone notices late is on foot, although its estimated 453 m are too fast for a walk', async () => {
  const hurry: Part = { seconds: 90, speed: 4.2, word: 'walking', silent: true };
  const { trips } = await dayOf([walk(600), ...home, hurry, rest(120), drive(900)]);
  const { distance, duration } = trips[1]!.sections[0]!;
  expect(distance / duration).toBeGreaterThan(4);
  expect(modesOf(trips[1])[0]).toBe('WALKING');
});

it('a motion reading of an Android phone shows a ride on a bicycle that was parked where a drive ended', async () => {
  const { trips } = await dayOf([walk(600), rest(300), drive(1200, 11), rest(90), ride(600, 4.5)]);
  expect(trips.flatMap(modesOf).at(-1)).toBe('BICYCLING');
});

it('a motion reading of an Android phone shows a walk between two drives that no location shows', async () => {
  const platform: Part = { seconds: 120, speed: 0.4, word: 'walking' };
  const { modes } = await onlyTrip([drive(900, 20), platform, drive(900, 20)]);
  expect(modes.map((mode) => (motor.test(mode) ? 'ride' : mode))).toEqual(['ride', 'WALKING', 'ride']);
});

it('a week of a phone that hardly ever wakes, and then errs by a street, has no trip', async () => {
  const { next } = seededRandom(5);
  const week = Array.from({ length: 7 * 24 }, (_, i) =>
    pushedFix(iphone, i * 3600, next() * 120, next() * 120, { accuracy: 65 }),
  );
  expect((await analysed(week)).trips).toEqual([]);
});

it.each([5, 20, 60])('a walk is a trip once its user rests, for a program that sends every %s s', async (every) => {
  const day = [rest(900), walk(720), rest(1740), back(720), rest(900)];
  const { trips } = await analysed(pushedDay(day, { every, readings: false, phone: iphone }));
  const times = trips.flatMap(({ start_ts, end_ts }) => [start_ts, end_ts]);
  const expected = [900, 1620, 3360, 4080];
  expect(times).toHaveLength(expected.length);
  for (const [i, ts] of expected.entries()) expectTime(times[i]!, ts, 150);
});

const drives = repeated(15, drive(40, 12), driveNorth(40, 12));
it.each<[string, string, number, Part[], boolean]>([
  ['0.8 for a car between short walks', 'CAR', 0.8, [walk(60), ...drives, walk(60)], true],
  ['0.4 for a car between walks of four minutes', 'CAR', 0.4, [walk(240), ...drives, walk(240)], true],
  ['0.65 for a slow bicycle, which may be a run', 'BICYCLING', 0.65, [ride(1500, 3.2)], true],
  ['0.8 for a train without readings', 'TRAIN', 0.8, [walk(300), rest(400), drive(2400, 33), walk(300)], false],
  ['0.6 for a bus that nobody waited for', 'BUS', 0.6, [walk(600), ...drives, walk(600)], true],
])('the confidence of a mode never exceeds %s', async (_, mode, most, parts, readings) => {
  const { trips } = await dayOf([rest(900), ...parts], { readings });
  const found = trips.flatMap(({ sections }) => sections).filter((one) => one.sensed_mode.endsWith(mode));
  const highest = Math.max(...found.map((one) => one.mode_confidence!));
  expect(highest, trips.flatMap(modesOf).join()).toBeLessThanOrEqual(most);
  expect(highest).toBeGreaterThan(most - 0.1);
});

it('the confidence of a mode is a probability, and the probabilities of all modes sum to one', async () => {
  const { trip } = await onlyTrip([walk(600), rest(480), drive(1200, 9), walk(300)]);
  for (const { sensed_mode, mode_confidence, mode_probabilities } of trip.sections) {
    expect(mode_probabilities![sensed_mode.split('.')[1]!]).toBe(mode_confidence);
    const sum = Object.values(mode_probabilities!).reduce((a, b) => a + b, 0);
    expect(sum).toBeCloseTo(1, 2);
  }
});
