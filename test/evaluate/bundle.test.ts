// A day for a report of a fault: the same trips elsewhere and in another year, and nothing of the person in it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareTrips, makeBundle } from '../../src/evaluate/bundle.ts';
import { Aliases } from '../../src/evaluate/carried-transit.ts';
import { observationsOf } from '../../src/evaluate/cases.ts';
import type { Entry } from '../../src/model/entry.ts';
import { distance, type LatLon } from '../../src/model/geo/distance.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { dayRange, localDateTime, zoneOffset } from '../../src/model/time.ts';
import type { Trip } from '../../src/model/trip.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { simulateDay } from '../../src/simulate/simulate-day.ts';
import { freshProgram, simulatedProgram } from '../cli/kit.ts';
import { put } from '../support/diary.ts';
import type { Untyped } from '../support/untyped.ts';
import { words } from '../support/words.ts';
import { addFeed, ride } from '../transit/bus-ride.ts';

const user = 'sim-case-1@example.org';

/** Every text in a value, the names of fields included. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(textsIn)];
}

it('a case gives the trips of the diary on another machine, as evaluate finds', async () => {
  const program = await simulatedProgram('--users 1 --days 3 --from 2024-03-11 --seed case');
  const { show, json, succeed, folder, refuse } = program;
  const out = join(folder, 'case');
  const args = ['debug-bundle', '--user', user, '--day', '2024-03-12', '--out', out];
  const now = 1_720_000_000;
  const { files, trips } = (await succeed([...args, '--json'], { now })).json<Untyped>();
  expect(trips.length).toBeGreaterThan(3);
  expect(trips.every(({ isAlike }: Untyped) => isAlike)).toBe(true);
  await refuse([...args.slice(0, -1), `${out}-none`, '--day', '2023-03-11'], 'expected a day with entries', { now });
  const { overall } = await json('evaluate', '--cases', out);
  expect(overall).toMatchObject({ f1: 1, mode: 1, start: [0, 0], end: [0, 0] });
  const put = gunzipSync(await readFile(files[0])).toString('utf8');
  const { users } = await json('users', 'list');
  for (const secret of [user, users[0].user_id]) expect(put).not.toContain(secret);
  await show([...args, '--verify'], 'same  times within 0.0 s', { now });
});

it('a case has the evidence of transit feeds without names, and gives the same line without a feed', async () => {
  const { run, json, folder, withUser } = await freshProgram('ada');
  await withUser('ada', async (store, uuid) => {
    await put(store, uuid, ride);
    await addFeed(store, 'f00d-feed');
  });
  await run(['pipeline', '--all']);
  const out = join(folder, 'case');
  const { files, trips } = await json('debug-bundle', '--user', 'ada', '--day', '2023-11-14', '--out', out);
  expect(trips).toMatchObject([{ isAlike: true }]);
  const truth = await readFile(files[1], 'utf8');
  expect(truth).toMatch(/"short_name": "line \d"/);
  expect(truth).toContain('"mode": "PredictedModeTypes.BUS"');
  expect(truth).not.toMatch(/f00d-feed|Town|East/);
  const score = async () => (await json('evaluate', '--cases', out)).overall;
  expect(await score()).toMatchObject({ f1: 1, mode: 1 });
  await writeFile(files[1], truth.replace('"transit"', '"other"'));
  expect((await score()).mode).toBeLessThan(0.5);
});

const day = '2024-03-31'; // the clocks of Europe go forward
const zone = 'Europe/Berlin';
const home: LatLon = { latitude: 52.5, longitude: 13.4 };
const withoutTrips = { day, range: dayRange(day, zone), trips: [], transit: null, now: 1_720_000_000 };

/** A location at home in second `i` of the afternoon, with other data. */
const atHome = (i: number, data: JsonObject, platform = 'android', key = 'background/location'): Entry => ({
  metadata: { key, platform, write_ts: 1_711_900_000 + i, time_zone: zone },
  data: { ts: 1_711_900_000 + i, ...home, ...data },
});
const placeOf = ({ data: { latitude, longitude } }: Entry) => ({ latitude, longitude }) as LatLon;
/** Numbers that a seed repeats. */
function randomOf(seed: number): () => number {
  const chance = seededRandom('bundle', seed);
  return () => chance.between(0, 1);
}

const known = new Set(
  words(`
    phone_to_server metadata key write_ts platform time_zone origin program data ts latitude longitude
    accuracy sensed_speed filter type confidence confidence_level transition curr_state stationary walking
    running cycling automotive unknown low medium high time android ios other background/location
    background/filtered_location background/motion_activity background/activity statemachine/transition
    distance
  ${zone}`),
);

it('a case has nothing personal: another place, other dates, known fields and texts only, the same clock', () => {
  const platforms = fc.constantFrom('android' as const, 'ios' as const);
  fc.assert(
    fc.property(platforms, fc.string({ minLength: 1 }), fc.integer(), (platform, secret, seed) => {
      const origin = { program: secret, version: secret };
      const true_ = simulateDay({ platform, day, seed: 1, home: [home.longitude, home.latitude], zone });
      const spoilt = true_.map(({ metadata, data }, i): Entry => {
        const extra = { [secret]: secret, ssid: secret, local_dt: { zone: secret }, fmt_time: secret, altitude: 34 };
        const isOther = i % 50 === 0 && metadata.key === 'background/location';
        const more = { plugin: secret, [`x${secret}`]: secret, ...(isOther && { platform: 'other', origin }) };
        return { metadata: { ...metadata, ...more }, data: { ...data, ...extra } };
      });
      const label: Entry = { metadata: { key: 'manual/mode_confirm', write_ts: 1, platform }, data: { label: secret } };
      const { range } = withoutTrips;
      const source = { ...withoutTrips, entries: [...spoilt, label], now: range.to, random: randomOf(seed) };
      const { put: made, truth, moved } = makeBundle(source);
      const put = { ...made, phone_to_server: [...made.phone_to_server] };
      expect([...made.phone_to_server]).toEqual(put.phone_to_server);
      const where = (entries: readonly Entry[]) => entries.map(placeOf).filter((at) => at.latitude !== undefined);
      const [before, after] = [where(true_), where(put.phone_to_server)];
      expect(after).toHaveLength(before.length);
      expect(distance(after[0]!, after.at(-1)!)).toBeCloseTo(distance(before[0]!, before.at(-1)!), 0);
      for (const at of after) expect(distance(at, home)).toBeGreaterThan(100_000);
      expect(textsIn(put).filter((text) => !known.has(text) && !/^app-\d\d$/.test(text))).toEqual([]);
      expect(put.phone_to_server.some(({ data }) => data.altitude !== undefined)).toBe(false);
      expect(localDateTime(truth.range.start_ts, zone)).toMatchObject({ weekday: 6, hour: 0 });
      for (let ts = range.from; ts < range.to; ts += 3600)
        expect(zoneOffset(zone, ts + moved)).toBe(zoneOffset(zone, ts));
      expect(-moved).toBeGreaterThanOrEqual(28 * 86_400);
    }),
    { numRuns: 20 },
  );
});

it('leaves out locations that the receiver marks as invalid, and keeps the time when OwnTracks sent a ping', () => {
  const created_at = 1_711_900_900;
  const reports = [{ valid: 'true' }, { valid: 'false' }, { t: 'p', created_at, ssid: 'mine' }];
  const entries = reports.map((reported, i) => atHome(i, { accuracy: 5, reported }, 'other'));
  const { put, moved } = makeBundle({ ...withoutTrips, entries, random: () => 0.4 });
  const kept = [...put.phone_to_server];
  expect(kept.map(({ data }) => Number(data.ts) - moved - 1_711_900_000)).toEqual([0, 2]);
  expect(kept.map(({ data }) => data.reported)).toEqual([undefined, { t: 'p', created_at: created_at + moved }]);
  expect(observationsOf(kept).motions).toEqual([{ ts: created_at + moved, type: 3, confidence: 100 }]);
});

it('equal locations remain equal and near ones differ, and a small extent hardly changes latitude and north', () => {
  const longitudes = [13.4, 13.4, 13.4 + 1e-10, 13.402];
  const entries = longitudes.map((longitude, i) => atHome(i, { longitude }, 'ios', 'background/filtered_location'));
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const { put } = makeBundle({ ...withoutTrips, entries, random: randomOf(seed), reach: 0.1 });
      const [a, b, near, east] = [...put.phone_to_server].map(placeOf);
      expect(b).toEqual(a);
      expect(near).not.toEqual(a);
      expect(distance(near!, a!)).toBeLessThan(0.3);
      expect(distance(a!, home)).toBeGreaterThan(100_000);
      expect(Math.abs(a!.latitude - home.latitude)).toBeLessThan(15);
      expect(Math.abs(east!.latitude - a!.latitude)).toBeLessThan(0.002 * Math.sin(Math.PI / 10)); // 18°
    }),
    { numRuns: 20 },
  );
});

it('a trip of a case is the same within 0.5 % of its length, at least 1 m, and within 1 s', () => {
  const trip = (distance: number, start_ts = 0): Trip =>
    ({ start_ts, end_ts: 900, distance, sections: [], start_zone: zone, end_zone: zone }) as unknown as Trip;
  const untouched = { moved: 0, aliases: new Aliases() };
  const isAlike = (a: Trip, b: Trip): boolean => compareTrips([a], [b], untouched)[0]!.isAlike;
  expect([5, 5.1].map((more) => isAlike(trip(1000), trip(1000 + more)))).toEqual([true, false]);
  expect([1, 1.1].map((more) => isAlike(trip(20), trip(20 + more)))).toEqual([true, false]);
  expect([1, 1.1].map((later) => isAlike(trip(20), trip(20, later)))).toEqual([true, false]);
  expect(compareTrips([trip(20)], [trip(20), trip(20)], untouched).map((one) => one.isAlike)).toEqual([true, false]);
});

it('a case lies farther away than 100 km and twice the size of the day', () => {
  // Of each try: the latitude, north and the longitude, the last as part of a full turn. 0.01 of it are 240 km.
  const tries = [0.5, 0.5, 0, 0.5, 0.5, 0.01];
  const random = (): number => tries.shift() ?? 0.5;
  const entries = [0, 2, 4].map((east, i) => atHome(i, { longitude: home.longitude + east }));
  const [first] = makeBundle({ ...withoutTrips, entries, random, reach: 0 }).put.phone_to_server;
  expect(distance(home, placeOf(first!))).toBeGreaterThan(1_000_000);
});
