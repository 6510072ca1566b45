// Stage "segment sections": a trip's locations and motion readings -> its parts in one mode.
import { describe, expect, it } from 'vitest';
import { segmentSections } from '../../../src/analysis/dwell/segment-sections.ts';
import type { Location, Motion, PhoneEvent } from '../../../src/analysis/observations.ts';
import { motionTypes } from '../../../src/model/payloads.ts';
import { event, iosAt, iosMoving, motion, motions, moving, since, spot } from '../../support/phone.ts';

const names = new Map<number, string>(Object.entries(motionTypes).map(([name, code]) => [code, name]));

/** Sections as `TYPE from-to`, seconds of their first and last location. */
function sections(
  locations: Location[],
  readings: Motion[],
  events: PhoneEvent[] = [],
  startPlace = spot(0),
): string[] {
  const found = segmentSections({
    sampling: locations[0]!.sampling,
    locations,
    motions: readings.sort((a, b) => a.ts - b.ts),
    events,
    startPlace,
  });
  return found.map(
    ({ type, locations: own }) => `${names.get(type)} ${since(own[0]!.ts)}-${since(own.at(-1)!.ts)} (${own.length})`,
  );
}

describe('a trip with motion readings', () => {
  const trip = [
    ...moving({ from: 0, to: 600, speed: 1.3 }),
    ...moving({ from: 630, to: 1500, east: 1140, speed: 12 }),
    ...moving({ from: 1530, to: 2100, east: 11_600, speed: 1.3 }),
  ];
  const readings = [
    ...motions(10, 610, 'WALKING'),
    ...motions(640, 1510, 'IN_VEHICLE'),
    ...motions(1540, 2080, 'WALKING'),
  ];

  it('has a section for each run; the first begins and the last ends with the trip', () => {
    expect(sections(trip, readings)).toEqual([
      'WALKING 0-600 (21)',
      'IN_VEHICLE 630-1530 (31)',
      'WALKING 1560-2100 (19)',
    ]);
  });

  it('every location of the trip is in a section, in order', () => {
    const found = segmentSections({
      sampling: 'time',
      locations: trip,
      motions: readings,
      events: [],
      startPlace: spot(0),
    });
    expect(found.flatMap((s) => s.locations)).toEqual(trip);
  });

  it('a location on the boundary belongs to both sides', () => {
    const onTheDot = [...motions(0, 600, 'WALKING'), ...motions(630, 2100, 'IN_VEHICLE')];
    expect(sections(trip, onTheDot)).toEqual(['WALKING 0-600 (21)', 'IN_VEHICLE 600-2100 (51)']);
  });

  it('one kind of motion is one section over the whole trip, even if it has no location in its time', () => {
    expect(sections(trip, motions(700, 1400, 'BICYCLING'))).toEqual(['BICYCLING 0-2100 (71)']);
    expect(sections([trip[0]!, trip.at(-1)!], [motion(1000, 'BICYCLING')])).toEqual(['BICYCLING 0-2100 (2)']);
  });
});

describe('a trip without telling motion readings', () => {
  it('with time sampling is travel if it leads more than 100 m away from the place before', () => {
    const away = moving({ from: 0, to: 600, speed: 1 });
    expect(sections(away, [])).toEqual(['UNKNOWN 0-600 (21)']);
    expect(sections(away, motions(0, 600, 'UNKNOWN'))).toEqual(['UNKNOWN 0-600 (21)']);
    expect(sections(moving({ from: 0, to: 90, speed: 1 }), [])).toEqual([]);
    expect(sections(away, [], [], spot(550)), 'the way back to where the user was').toEqual([]);
  });

  it('with distance sampling needs a transition of the phone and 50 m', () => {
    const away = iosMoving({ from: 0, to: 600, every: 60, speed: 1 });
    expect(sections(away, [])).toEqual([]);
    expect(sections(away, [], [event(900, 'STOPPED_MOVING')])).toEqual(['UNKNOWN 0-600 (11)']);
    expect(sections(away, [], [event(901, 'STOPPED_MOVING')]), 'more than five minutes after').toEqual([]);
    expect(sections([iosAt(0, 0), iosAt(60, 49)], [], [event(30, 'TRIP_STARTED')])).toEqual([]);
  });

  it('with distance sampling the end of a visit is enough', () => {
    const round = [iosAt(0, 0), iosAt(300, 400), iosAt(600, 20)];
    expect(sections(round, [], [event(10, 'TRIP_STARTED')])).toEqual([]);
    expect(sections(round, [], [event(10, 'VISIT_ENDED')])).toEqual(['UNKNOWN 0-600 (3)']);
  });
});

describe('distance sampling', () => {
  const walk = iosMoving({ from: 0, to: 540, every: 60, speed: 1 });
  const ride = iosMoving({ from: 1200, to: 1800, every: 60, east: 6000, speed: 12 });

  it('a part with a single location is none', () => {
    const readings = [
      ...motions(0, 600, 'WALKING', 20),
      ...motions(640, 660, 'BICYCLING', 5),
      ...motions(700, 1800, 'IN_VEHICLE', 20),
    ];
    expect(sections([...walk, iosAt(650, 800), ...ride], readings)).toEqual([
      'WALKING 0-540 (10)',
      'IN_VEHICLE 540-1800 (12)',
    ]);
  });

  it('a wide gap goes to the section whose location lies clearly farther from the boundary in time', () => {
    const found = (boundary: number) =>
      sections(
        [...walk, ...ride],
        [...motions(0, boundary, 'WALKING', 20), ...motions(boundary + 20, 1800, 'IN_VEHICLE', 20)],
      );
    expect(found(600), 'soon after the last location of the walk').toEqual([
      'WALKING 0-540 (10)',
      'IN_VEHICLE 540-1800 (12)',
    ]);
    expect(found(1140), 'soon before the first of the ride').toEqual([
      'WALKING 0-1200 (11)',
      'IN_VEHICLE 1200-1800 (11)',
    ]);
    expect(found(860), 'in the middle').toEqual(['WALKING 0-540 (10)', 'IN_VEHICLE 1200-1800 (11)']);
  });

  it('neighbours of one type are one section', () => {
    const locations = iosMoving({ from: 0, to: 1200, every: 60, speed: 2 });
    const readings = [
      ...motions(0, 500, 'WALKING', 20),
      ...motions(510, 530, 'BICYCLING', 5),
      ...motions(540, 1200, 'WALKING', 20),
    ];
    expect(sections(locations, readings)).toEqual(['WALKING 0-1200 (21)']);
  });
});
