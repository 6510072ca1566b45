// Stage "clean trip": joins to the places, stops, lengths, and that there is no hole between any two parts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CleanTrip, type CleanTripInput, cleanTrip } from '../../src/analysis/build-trip.ts';
import type { RawSection } from '../../src/analysis/dwell/segment-sections.ts';
import type { Location } from '../../src/analysis/observations.ts';
import { distance } from '../../src/geo/distance.ts';
import { motionTypes } from '../../src/model/payloads.ts';
import type { Position } from '../../src/model/trip.ts';
import { at, iosMoving, moving, since, spot, t0 } from '../support/phone.ts';

const { WALKING, IN_VEHICLE, UNKNOWN } = motionTypes;

interface Given {
  sections: RawSection[];
  /** Where the user was, and since when (s since t0). */
  place?: { latitude: number; longitude: number };
  entered?: number | null;
  end?: Location;
}

function clean({ sections, place, entered = -3600, end }: Given): CleanTrip {
  const first = sections[0]!.locations[0]!;
  const input: CleanTripInput = {
    userId: 'u',
    chainTs: first.ts,
    sections,
    startPlace: { ...(place ?? spot(0)), enterTs: entered === null ? null : t0 + entered },
    endPlace: end ?? sections.at(-1)!.locations.at(-1)!,
  };
  const found = cleanTrip(input)!;
  expectWhole(found);
  return found;
}

const positionOf = ({ latitude, longitude }: { latitude: number; longitude: number }): Position => [
  longitude,
  latitude,
];
const metres = (a: Position, b: Position): number =>
  distance({ longitude: a[0], latitude: a[1] }, { longitude: b[0], latitude: b[1] });

const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6;

/** What every cleaned trip promises: parts joined without holes, lists aligned, sums right. */
function expectWhole(trip: CleanTrip): void {
  const { sections, stops } = trip;
  expect(stops).toHaveLength(sections.length - 1);
  expect([trip.start_ts, trip.start_loc]).toEqual([sections[0]!.start_ts, sections[0]!.coordinates[0]]);
  expect([trip.end_ts, trip.end_loc]).toEqual([sections.at(-1)!.end_ts, sections.at(-1)!.coordinates.at(-1)]);
  for (const section of sections) {
    const { coordinates, times, speeds, distances, altitudes } = section;
    expect([times, speeds, distances, altitudes].map((list) => list.length)).toEqual(Array(4).fill(coordinates.length));
    expect([times[0], times.at(-1)]).toEqual([section.start_ts, section.end_ts]);
    expect([speeds[0], distances[0]]).toEqual([0, 0]);
    expect(section.duration).toBe(section.end_ts - section.start_ts);
    expect(section.distance).toBeCloseTo(
      distances.reduce((a, b) => a + b, 0),
      6,
    );
    // One expectation for all vertices: thousands of them would be slow.
    const wrong = times.slice(1).filter((ts, i) => {
      const step = metres(coordinates[i]!, coordinates[i + 1]!);
      const speed = step / (ts - times[i]!);
      return !(ts > times[i]! && near(distances[i + 1]!, step) && near(speeds[i + 1]!, speed));
    });
    expect(wrong).toEqual([]);
  }
  stops.forEach((stop, i) => {
    const [before, after] = [sections[i]!, sections[i + 1]!];
    expect(stop).toMatchObject({
      enter_ts: before.end_ts,
      enter_loc: before.coordinates.at(-1),
      exit_ts: after.start_ts,
      exit_loc: after.coordinates[0],
      duration: after.start_ts - before.end_ts,
      ending_section: before.id,
      starting_section: after.id,
    });
    expect(stop.duration).toBeGreaterThanOrEqual(0);
    expect(stop.distance).toBeLessThanOrEqual(150);
  });
  const sum = [...sections, ...stops].reduce((total, part) => total + part.distance, 0);
  expect(trip.distance).toBeCloseTo(sum, 6);
}

const walk = moving({ from: 0, to: 600, east: 200, speed: 1.25 });

describe('the start', () => {
  it('is at the place before, as much earlier as the own speed takes', () => {
    const trip = clean({ sections: [{ type: WALKING, locations: walk }] });
    expect(trip.start_loc).toEqual(positionOf(spot(0)));
    expect(since(trip.start_ts)).toBeCloseTo(-200 / 1.25, 3);
    expect(trip.distance).toBeCloseTo(950, 3);
    expect(trip.sections[0]!.sensed_mode).toBe('MotionTypes.WALKING');
  });

  it('leaves three minutes of the stay before, or half of it', () => {
    const slow = moving({ from: 0, to: 600, east: 900, speed: 0.5 });
    const start = (entered: number) =>
      since(clean({ sections: [{ type: WALKING, locations: slow }], entered }).start_ts);
    expect(start(-7200)).toBeCloseTo(-1800, 3);
    expect(start(-1000)).toBe(-820);
    expect(start(-100)).toBe(-50);
  });

  it('of a leg that has to be much faster than the section makes the mode unknown', () => {
    const trip = clean({ sections: [{ type: WALKING, locations: walk }], place: spot(-1000), entered: -100 });
    expect(since(trip.start_ts)).toBe(-50);
    expect(trip.sections[0]!.sensed_mode).not.toBe('MotionTypes.WALKING');
  });

  it('stays where it is when nobody knows where the user was before', () => {
    const trip = clean({ sections: [{ type: WALKING, locations: walk }], place: walk[0]!, entered: null });
    expect(trip.start_loc).toEqual(positionOf(walk[0]!));
    expect(trip.start_ts).toBe(walk[0]!.ts);
  });

  it('a first location that jumps does not count, but the place where the user was does', () => {
    const jump = { ...at(-30, 15_000), accuracy: 10 };
    const trip = clean({ sections: [{ type: WALKING, locations: [jump, ...walk] }] });
    expect(trip.start_loc).toEqual(positionOf(spot(0)));
    expect(Math.max(...trip.sections[0]!.speeds)).toBeLessThan(2);
  });

  it('a first location remembered from the place, with a jump to the next: the way from the place is walked', () => {
    const far = moving({ from: 30, to: 1200, east: 15_000, speed: 1.25 });
    const trip = clean({ sections: [{ type: WALKING, locations: [at(0, 0), ...far] }], entered: -40_000 });
    expect(trip.start_loc).toEqual(positionOf(spot(0)));
    expect(since(trip.start_ts)).toBeCloseTo(30 - 12_000, 0);
  });

  it('a place made from a first location that jumps moves to the first that is to be believed', () => {
    const jump = at(-30, 15_000);
    const trip = clean({ sections: [{ type: WALKING, locations: [jump, ...walk] }], place: jump, entered: -30 });
    expect(trip.start_loc).toEqual(positionOf(walk[0]!));
  });

  it('a first section of a single location takes its speed from the rest of the trip', () => {
    const ride = moving({ from: 0, to: 600, east: 600, speed: 10 });
    const trip = clean({
      sections: [
        { type: WALKING, locations: ride.slice(0, 1) },
        { type: IN_VEHICLE, locations: ride },
      ],
    });
    expect(trip.start_loc).toEqual(positionOf(spot(0)));
    expect(since(trip.start_ts)).toBeCloseTo(-60, 3);
  });
});

describe('the end', () => {
  it('is the last location, also where it jumps: there the user stays', () => {
    const end = at(630, 20_000);
    const trip = clean({ sections: [{ type: WALKING, locations: [...walk, end] }], end });
    expect(trip.end_loc).toEqual(positionOf(end));
    expect(trip.end_ts).toBe(end.ts);
  });

  it('is there even if the last section lost it', () => {
    const end = at(700, 1000);
    const trip = clean({ sections: [{ type: WALKING, locations: walk }], end });
    expect(trip.end_ts).toBe(end.ts);
  });
});

describe('stops', () => {
  const drive = moving({ from: 700, to: 1300, east: 1000, speed: 12 });

  it('a short one stays a stop', () => {
    const trip = clean({
      sections: [
        { type: WALKING, locations: walk },
        { type: IN_VEHICLE, locations: drive },
      ],
    });
    expect(trip.stops[0]!.distance).toBeCloseTo(50, 3);
    expect(trip.stops[0]!.duration).toBe(100);
  });

  it('one longer than 150 m is no stop: the vehicle continues over it', () => {
    const far = moving({ from: 700, to: 1300, east: 1800, speed: 12 });
    const [first, second] = clean({
      sections: [
        { type: WALKING, locations: walk },
        { type: IN_VEHICLE, locations: far },
      ],
    }).sections;
    expect(since(first!.end_ts)).toBe(600);
    expect(since(second!.start_ts)).toBe(600);
    const back = clean({
      sections: [
        { type: IN_VEHICLE, locations: walk },
        { type: WALKING, locations: far },
      ],
    }).sections;
    expect(since(back[0]!.end_ts)).toBe(700);
  });

  it('of two alike, the one with fewer locations to the metre continues', () => {
    const dense = moving({ from: 700, to: 1300, every: 5, east: 1800, speed: 1 });
    const trip = clean({
      sections: [
        { type: WALKING, locations: walk },
        { type: motionTypes.BICYCLING, locations: dense },
      ],
    });
    expect(since(trip.sections[0]!.end_ts)).toBe(700);
  });

  it('two sections that share a location have a stop of no length between them', () => {
    const trip = clean({
      sections: [
        { type: WALKING, locations: walk },
        { type: IN_VEHICLE, locations: [walk.at(-1)!, ...drive] },
      ],
    });
    expect(trip.stops[0]).toMatchObject({ duration: 0, distance: 0 });
  });
});

describe('ids', () => {
  it('follow from user, start and position, and nothing else', () => {
    const one = clean({ sections: [{ type: WALKING, locations: walk }] });
    const other = clean({ sections: [{ type: IN_VEHICLE, locations: walk.slice(0, 5) }], end: walk[4]! });
    expect(other.sections[0]!.id).toBe(one.sections[0]!.id);
    expect(
      new Set([one.sections[0]!.id, clean({ sections: [{ type: WALKING, locations: drive() }] }).sections[0]!.id]).size,
    ).toBe(2);
  });
  const drive = () => moving({ from: 1, to: 600, east: 10, speed: 10 });
});

it('a trip without sections is none', () => {
  const end = at(0, 0);
  const startPlace = { ...spot(0), enterTs: null };
  expect(cleanTrip({ userId: 'u', chainTs: end.ts, sections: [], startPlace, endPlace: end })).toBeNull();
});

it('whatever the sections, the parts are joined without a hole and all numbers are finite', () => {
  const step = fc.record({
    seconds: fc.double({ min: 0.5, max: 900, noNaN: true }),
    east: fc.double({ min: -3000, max: 3000, noNaN: true }),
    north: fc.double({ min: -3000, max: 3000, noNaN: true }),
  });
  const trips = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 40 }),
    cuts: fc.array(fc.nat(39), { maxLength: 3 }),
    shared: fc.boolean(),
    types: fc.array(fc.constantFrom(WALKING, IN_VEHICLE, UNKNOWN), { minLength: 4, maxLength: 4 }),
    stay: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
    place: fc.record({ east: fc.integer({ min: -2500, max: 2500 }), north: fc.integer({ min: -2500, max: 2500 }) }),
  });
  fc.assert(
    fc.property(trips, ({ steps, cuts, shared, types, stay, place }) => {
      let seconds = 0;
      const locations = steps.map((s) => {
        seconds += s.seconds;
        return at(seconds, s.east, s.north);
      });
      const edges = [...new Set([0, ...cuts.filter((c) => c < locations.length), locations.length])].sort(
        (a, b) => a - b,
      );
      const sections = edges.slice(1).map((edge, i) => ({
        type: types[i]!,
        locations: locations.slice(edges[i], shared ? edge + 1 : edge),
      }));
      const trip = clean({ sections, place: spot(place.east, place.north), entered: steps[0]!.seconds - stay });
      expect(trip.sections.flatMap((s) => [...s.speeds, ...s.distances, ...s.times]).every(Number.isFinite)).toBe(true);
      expect(trip.start_ts).toBeGreaterThan(t0 + steps[0]!.seconds - stay);
      if (trip.distance > 0) expect(trip.start_loc).toEqual(positionOf(spot(place.east, place.north)));
      expect(trip.end_loc).toEqual(positionOf(locations.at(-1)!));
    }),
  );
});

it('an iPhone trip is joined in the same way', () => {
  const trip = clean({
    sections: [{ type: WALKING, locations: iosMoving({ from: 0, to: 600, every: 60, east: 100, speed: 1 }) }],
  });
  expect(since(trip.start_ts)).toBeCloseTo(-100, 3);
});
