// Simulated days: similar to days of real phones, and the same every time.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { keys, keyTable } from '../../src/model/keys.ts';
import { isTimeZone, localDay } from '../../src/model/time.ts';
import { planDay } from '../../src/simulate/plan-day.ts';
import { simulateDay, simulateDays } from '../../src/simulate/simulate-day.ts';
import { type Point, positionAround, span } from '../../src/simulate/town.ts';

const tuesday = '2024-03-12';
const pushedKeys = new Set(keyTable.filter((row) => row.kind === 'pushed').map((row) => row.key));

const ofKey = (entries: readonly Entry[], key: string): Entry[] => entries.filter((e) => e.metadata.key === key);
const times = (entries: readonly Entry[]): number[] => entries.map((e) => e.data.ts as number);
const metres = (a: Entry, b: Entry): number => {
  const dy = ((b.data.latitude as number) - (a.data.latitude as number)) * 111_195;
  const shrink = Math.cos(((a.data.latitude as number) * Math.PI) / 180);
  return Math.hypot(dy, ((b.data.longitude as number) - (a.data.longitude as number)) * 111_195 * shrink);
};

const tuesdayOn = (platform: 'android' | 'ios') => simulateDay({ platform, day: tuesday, seed: 'ada' });

describe.each(['android', 'ios'] as const)('a simulated %s day', (platform) => {
  it('is the same for the same options, and another for another person or day', () => {
    const day = tuesdayOn(platform);
    expect(tuesdayOn(platform)).toEqual(day);
    expect(simulateDay({ platform, day: tuesday, seed: 'ben' })).not.toEqual(day);
    expect(simulateDay({ platform, day: '2024-03-13', seed: 'ada' })).not.toEqual(day);
  });

  it('has known keys, its metadata and finite numbers only, in its local day, one row of a key at a time, for anybody', () => {
    const days = fc.integer({ min: 0, max: 3000 }).map((n) => localDay(1_420_070_400 + n * 86_400, 'UTC'));
    fc.assert(
      fc.property(days, fc.string(), (day, seed) => {
        const entries = simulateDay({ platform, day, seed });
        expect(entries.length).toBeGreaterThan(200);
        const strange = entries.filter(
          ({ metadata, data }) =>
            !pushedKeys.has(metadata.key) ||
            metadata.platform !== platform ||
            !isTimeZone(metadata.time_zone) ||
            Object.values(data).some((value) => typeof value === 'number' && !Number.isFinite(value)),
        );
        const localDays = new Set(entries.map((e) => localDay(e.metadata.write_ts, e.metadata.time_zone!)));
        expect([strange, ...localDays]).toEqual([[], day]);
        expect(new Set(entries.map((e) => `${e.metadata.key} ${e.metadata.write_ts}`)).size).toBe(entries.length);
      }),
      { numRuns: 25 },
    );
  });

  it('begins with the configurations and ends its trips', () => {
    const entries = tuesdayOn(platform);
    expect(entries.slice(0, 3).map((e) => e.metadata.key)).toEqual([keys.consent, keys.sensorConfig, keys.syncConfig]);
    const moves = ofKey(entries, keys.transition).map((e) => String(e.data.transition));
    const starts = moves.filter((name) => /exited_geofence|T_EXITED_GEOFENCE/.test(name)).length;
    const ends = moves.filter((name) => /stopped_moving|T_TRIP_ENDED/.test(name)).length;
    expect([starts, ends]).toEqual([5, 5]);
  });

  it('keeps its locations near the position of the person', () => {
    const plan = planDay({ day: tuesday, seed: 'ada' });
    expect(plan.steps.filter(({ kind }) => kind === 'stay')).toHaveLength(7);
    const points = plan.steps.flatMap((step): readonly Point[] => (step.kind === 'stay' ? [step.at] : step.track));
    const places = points.map((point) => positionAround(point, plan.origin));
    for (const fix of ofKey(tuesdayOn(platform), keys.filteredLocation)) {
      const away = places.map(([longitude, latitude]) => metres(fix, { ...fix, data: { longitude, latitude } }));
      expect(Math.min(...away)).toBeLessThan(60);
    }
  });
});

it('a Sunday has another pattern', () => {
  const { steps } = planDay({ day: '2024-03-17', seed: 'ada' });
  const modes = steps.flatMap((step) => (step.kind === 'leg' ? [step.mode] : []));
  expect(modes).toEqual(['walk', 'walk', 'car', 'car']);
});

it('an Android phone records a location about every 30 seconds of a trip, and pushes in the order of writing', () => {
  const entries = tuesdayOn('android');
  const ts = times(ofKey(entries, keys.location));
  const gaps = ts.slice(1).map((t, i) => t - ts[i]!);
  expect(gaps.filter((gap) => gap > 25 && gap < 35).length).toBeGreaterThan(0.9 * gaps.length - 5);
  const written = entries.map((e) => e.metadata.write_ts);
  expect(written).toEqual(written.toSorted((a, b) => a - b));
  expect(entries.at(-1)!.data.transition).toBe('local.transition.stopped_moving');
  for (const { data } of ofKey(entries, keys.location))
    expect([data.filter, Number(data.sensed_speed) >= 0]).toEqual(['time', true]);
});

it('an Android phone keeps on for about five minutes after it arrived', () => {
  const { steps } = planDay({ day: tuesday, seed: 'ada' });
  const work = steps.find((step) => step.kind === 'stay' && step.name === 'work')!;
  const stopped = tuesdayOn('android').find((e) => e.data.transition === 'local.transition.stopped_moving')!;
  expect(Math.abs(stopped.metadata.write_ts - work.from - 300)).toBeLessThan(180);
});

it('an iPhone records a location about every 50 metres, and none while it rests', () => {
  const fixes = ofKey(tuesdayOn('ios'), keys.filteredLocation);
  const steps = fixes.slice(1).map((fix, i) => metres(fixes[i]!, fix));
  expect(steps.filter((step) => step > 35 && step < 90).length).toBeGreaterThan(0.9 * steps.length);
  const ts = times(fixes);
  expect(ts.slice(1).filter((t, i) => t - ts[i]! > 900)).toHaveLength(4);
  expect(fixes.every((fix) => fix.data.filter === 'distance' && fix.metadata.plugin === 'none')).toBe(true);
});

it('an iPhone appends its motion activities after all other entries, with exactly its flags', () => {
  const entries = tuesdayOn('ios');
  const first = entries.findIndex((e) => e.metadata.key === keys.motionActivity);
  const motion = entries.slice(first);
  expect(motion.every((e) => e.metadata.key === keys.motionActivity)).toBe(true);
  expect(motion[0]!.metadata.write_ts).toBeLessThan(entries[first - 1]!.metadata.write_ts);
  const names = ['ts', 'stationary', 'walking', 'running', 'cycling', 'automotive', 'unknown', 'confidence'];
  for (const { data } of motion) expect(Object.keys(data)).toEqual(names);
});

it('a day begins and ends at the given home', () => {
  const home: [number, number] = [25.74, 66.5];
  const plan = planDay({ day: tuesday, seed: 1, home, zone: 'Europe/Helsinki' });
  const [first, last] = [plan.steps[0]!, plan.steps.at(-1)!];
  if (first.kind !== 'stay' || last.kind !== 'stay') throw new Error('expected stays');
  expect([positionAround(first.at, plan.origin), span(first.at, last.at)]).toEqual([home, 0]);
});

it('steps of a plan follow each other without gap or overlap, on days with a change of the clock too', () => {
  for (const day of [tuesday, '2024-03-31', '2024-10-27']) {
    const plan = planDay({ day, seed: 'ada', zone: 'Europe/Lisbon' });
    for (const [i, step] of plan.steps.entries()) expect(step.from).toBe(i === 0 ? plan.from : plan.steps[i - 1]!.to);
    expect(plan.steps.at(-1)!.to).toBe(plan.to);
  }
});

it('many days are days one after the other', () => {
  const options = { platform: 'android', day: '2024-02-28', seed: 'ada' } as const;
  const days = [...simulateDays(options, 3)];
  expect(days[2]).toEqual(simulateDay({ ...options, day: '2024-03-01' }));
});

it('an invalid day, zone or home is refused', () => {
  expect(() => planDay({ day: '2024-02-30', seed: 1 })).toThrow(/expected a day YYYY-MM-DD, found "2024-02-30"/);
  expect(() => planDay({ day: tuesday, seed: 1, zone: 'Mars/Base' })).toThrow(/expected an IANA time zone/);
  expect(() => planDay({ day: tuesday, seed: 1, home: [1, 2] })).toThrow(/give `zone` with `home`/);
});
