// Wrong locations in a rest: a receiver that errs by kilometres changes no trip.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnalyseInput } from '../../src/analysis/analyse.ts';
import type { Location } from '../../src/analysis/clean/observations.ts';
import { caseNames, readCase } from '../../src/evaluate/cases.ts';
import type { Trip } from '../../src/model/trip.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { runs } from '../support/lives.ts';
import { at, iosAt, motions, moving, t0 } from '../support/phone.ts';
import { analysed, hour } from './kit.ts';

type Observed = Pick<AnalyseInput, 'locations' | 'motions' | 'events'>;

const tripsOf = (observed: Observed): Trip[] => analysed(observed).records.flatMap(({ trip }) => trip ?? []);

/** What a person sees of the trips. */
const seenIn = (observed: Observed): unknown[] =>
  tripsOf(observed).map(({ start_ts, end_ts, distance, sections }) => [
    ...[start_ts, end_ts, distance],
    ...sections.map((one) => [one.start_ts, one.end_ts, one.sensed_mode]),
  ]);

/** A run of wrong locations, so many metres off, every so many seconds. `when`: 0 to 1, where in the rest. */
type Wrong = Record<'count' | 'every' | 'metres' | 'course' | 'when', number>;

/** At most three minutes, at any distance; or farther than any means of travel. */
const wrong: fc.Arbitrary<Wrong> = fc
  .record({
    count: fc.integer({ min: 1, max: 30 }),
    every: fc.constantFrom(1, 5, 20, 30, 60),
    metres: fc.constantFrom(400, 1100, 5500, 33_000, 330_000),
    course: fc.double({ min: 0, max: 2 * Math.PI, noNaN: true }),
    when: fc.double({ min: 0.1, max: 0.9, noNaN: true }),
  })
  .map((one) => ((one.count - 1) * one.every < 180 ? one : { ...one, metres: 9_000_000 }));

function runOf(place: Location, { count, every, metres, course }: Wrong, from: number): Location[] {
  const latitude = place.latitude + (Math.sign(-place.latitude) || 1) * (metres / 111_195) * Math.abs(Math.cos(course));
  const longitude = place.longitude + (metres / 111_195 / Math.cos(place.latitude / 57.3)) * Math.sin(course);
  return Array.from({ length: count }, (_, i) => ({
    ...place,
    ts: from + i * every,
    latitude: metres > 1_000_000 ? -place.latitude : latitude,
    longitude: metres > 1_000_000 ? place.longitude - 120 : longitude,
    accuracy: 30,
  }));
}

/** With wrong locations in the rest between two times, in which the phone may be silent or awake. */
function spoilt(observed: Observed, [from, to]: readonly [number, number], one: Wrong): Observed {
  const begin = from + one.when * (to - from - one.count * one.every);
  const place = observed.locations.findLast(({ ts }) => ts <= begin)!;
  const locations = [...observed.locations, ...runOf(place, one, begin)].sort((a, b) => a.ts - b.ts);
  return { ...observed, locations };
}

const ride = (from: number, east: number): Location[] => moving({ from, to: from + 900, east, speed: 10 });
const rest = (from: number, to: number, east: number): Location[] =>
  Array.from({ length: Math.ceil((to - from) / 30) }, (_, i) => at(from + i * 30, east + (i % 3)));

describe('wrong locations in a rest change no trip of', () => {
  const readings = [...motions(0, 900, 'IN_VEHICLE'), ...motions(4 * hour, 4 * hour + 900, 'IN_VEHICLE')];
  const dayWith = (locations: Location[]): Observed => ({ locations, motions: readings, events: [] });
  const second = [...ride(4 * hour, 9000), ...rest(4 * hour + 930, 6 * hour, 18_000)];
  const restingUntil = (end: number) => dayWith([...ride(0, 0), ...rest(930, end, 9000), ...second]);
  const awake = restingUntil(4 * hour);
  const iphone = (from: number, east: number) =>
    Array.from({ length: 19 }, (_, i) => iosAt(from + 50 * i, east + 500 * i));

  /** From ten minutes after the first ride to ten minutes before the second. */
  const inRest = [t0 + 1500, t0 + 4 * hour - 600] as const;

  it.each<[string, Observed]>([
    ['an Android phone that sleeps', restingUntil(1500)],
    ['an Android phone that is awake', awake],
    ['an iPhone', dayWith([...iphone(0, 0), ...iphone(4 * hour, 9000), iosAt(9 * hour, 18_000)])],
  ])('%s', (_, observed) => {
    const plain = seenIn(observed);
    expect(plain).toHaveLength(2);
    fc.assert(
      fc.property(wrong, (one) => {
        expect(seenIn(spoilt(observed, inRest, one))).toEqual(plain);
      }),
      runs(30),
    );
  });

  it('a phone whose only locations for minutes are a run at an unreachable distance', () => {
    for (const count of [5, 12, 30]) {
      const [from, to] = [t0 + 2 * hour, t0 + 2 * hour + 25 * count];
      const run = runOf(at(0, 9000), { count, every: 25, metres: 5500, course: 1, when: 0 }, from);
      const others = awake.locations.filter(({ ts }) => ts < from || ts >= to);
      const locations = [...others, ...run].sort((a, b) => a.ts - b.ts);
      const plain = seenIn({ ...awake, locations: others });
      expect(seenIn({ ...awake, locations }), `${count} locations`).toEqual(plain);
    }
  });

  it('a phone whose receiver also jumps within such a run', () => {
    let changed = 0;
    for (let seed = 0; seed < 60; seed += 1) {
      const { between, normal } = seededRandom('jumps', seed);
      const wrong = { count: 24, every: 25, metres: 5500, course: between(0, 6), when: between(0.2, 0.8) };
      const { locations } = spoilt(awake, inRest, wrong);
      const isWrong = (one: Location): boolean => one.accuracy === 30;
      const from = locations.find(isWrong)!.ts;
      const kept = locations.filter((one) => isWrong(one) || one.ts < from - 5 || one.ts > from + 580);
      const jumping = kept.map((one) =>
        isWrong(one) ? { ...one, latitude: one.latitude + normal(0.02), longitude: one.longitude + normal(0.02) } : one,
      );
      const [plain, found] = [kept.filter((one) => !isWrong(one)), jumping].map((locations) =>
        JSON.stringify(seenIn({ ...awake, locations })),
      );
      if (found !== plain) changed += 1;
    }
    expect(changed).toBeLessThan(3); // a return may be reachable from the last wrong location
  });

  it('a phone, and the evidence of the trip counts them', () => {
    const two = { count: 2, every: 30, metres: 5000, course: 1, when: 0.1 };
    const [first] = tripsOf(spoilt(awake, [t0 + 1500, t0 + 2 * hour], two));
    expect(first!.evidence!.left_out.strays).toBe(2);
  });
});

const recorded = process.env.MOBILITY_TEST_CASES;

describe.skipIf(!recorded)('wrong locations in a rest of a recorded day', () => {
  it('change its trips in less than 1 of 100 cases', () => {
    let [changed, tried] = [0, 0];
    for (const name of caseNames(recorded!)) {
      const observed = readCase(recorded!, name);
      const plain = JSON.stringify(seenIn(observed));
      const trips = tripsOf(observed);
      for (const [i, trip] of trips.slice(1).entries()) {
        const gap = [trips[i]!.end_ts + 900, trip.start_ts - 900] as const;
        if (gap[1] - gap[0] < 2400) continue;
        for (const one of fc.sample(wrong, { numRuns: 5, seed: i + 1 })) {
          tried += 1;
          if (JSON.stringify(seenIn(spoilt(observed, gap, one))) !== plain) changed += 1;
        }
      }
    }
    expect(tried).toBeGreaterThan(100);
    expect(changed / tried).toBeLessThan(0.01);
  });
});
