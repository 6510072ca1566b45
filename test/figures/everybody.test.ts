// Figures over everybody of a study: over enough people, and none that tells of one of them.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DaySums, type DayTrip } from '../../src/figures/by-day.ts';
import { config, type Kit, openKit } from '../server/kit.ts';
import { madeTrip, storeTrips } from '../server/trips.ts';
import { put } from '../support/diary.ts';

const trip = (day: string, mode: string | null, distance = 1000): DayTrip => ({
  day,
  distance,
  duration: distance / 5,
  said: mode === null ? {} : { mode_confirm: mode },
});
const asked = { distance: ['mode_confirm'], count: ['mode_confirm'] };

describe('figures of several people', () => {
  const figures = (people: readonly (readonly DayTrip[])[], least: number) => {
    const sums = new DaySums();
    for (const trips of people) sums.add(trips);
    return sums.figures(asked, { least });
  };
  const walkers = (count: number, distance = 1000) =>
    Array.from({ length: count }, () => [trip('2016-05-17', 'walk', distance)]);

  it('are nothing of days and of labels of too few of them', () => {
    expect(figures(walkers(4), 5).count).toEqual([]);
    const [day, ...others] = figures([...walkers(5), [trip('2016-05-17', 'bus'), trip('2016-05-18', 'bus')]], 5).count!;
    expect([day, others]).toEqual([{ date: '2016-05-17', nUsers: 6, mode_confirm_walk: 5 }, []]);
  });

  it('leave out a sum to which one person contributes most', () => {
    const [day] = figures([...walkers(5, 100), [trip('2016-05-17', 'walk', 50_000)]], 5).distance!;
    expect(day).toEqual({ date: '2016-05-17', nUsers: 6 });
  });

  it('hide what one more trip adds: they have two digits', () => {
    const [day] = figures([...walkers(12), [trip('2016-05-17', 'walk', 123)]], 5).distance!;
    expect(day!.mode_confirm_walk).toBe(12_000);
  });

  it('stand for enough people in every figure, whoever travels how', () => {
    const some = fc.record({
      day: fc.constantFrom('2016-05-17', '2016-05-18'),
      mode: fc.constantFrom('walk', 'bus', null),
      distance: fc.integer({ min: 1, max: 9_000 }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(some, { maxLength: 4 }), { maxLength: 14 }), (lives) => {
        const people = lives.map((trips) => trips.map(({ day, mode, distance }) => trip(day, mode, distance)));
        for (const { date, nUsers, ...shown } of figures(people, 5).distance!) {
          const travelled = people.filter((trips) => trips.some(({ day }) => day === date));
          expect([nUsers >= 5, nUsers]).toEqual([true, travelled.length]);
          for (const [name, value] of Object.entries(shown)) {
            const label = name.replace('mode_confirm_', '');
            const parts = travelled
              .map((trips) =>
                trips.filter(({ day, said }) => day === date && (said.mode_confirm ?? 'UNLABELED') === label),
              )
              .map((trips) => trips.reduce((sum, { distance }) => sum + distance, 0))
              .filter((sum) => sum > 0);
            const sum = parts.reduce((a, b) => a + b, 0);
            expect(parts.length).toBeGreaterThanOrEqual(5);
            expect(Math.max(...parts)).toBeLessThanOrEqual(sum / 2);
            expect(Math.abs((value as number) - sum) / sum).toBeLessThan(0.05);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('/result/metrics/yyyy_mm_dd with aggregate', () => {
  const settings = { ...config };
  const noon = Date.parse('2016-05-15T12:00:00-07:00') / 1000;
  let clock: number;
  let kit: Kit;
  beforeEach(async () => {
    clock = Date.parse('2016-05-20T00:00:00Z') / 1000;
    Object.assign(settings, config, { leastPeople: 5 });
    kit = await openKit({ config: settings, now: () => clock });
    // Six of a study and one beside it; all walk two kilometres, and say so.
    for (let i = 0; i < 7; i += 1) {
      const study = i < 6 ? { study: 'sunny' } : {};
      const { user } = await kit.store.users.register(`person-${i}`, { now: 1, ...study });
      const trip = madeTrip(noon + i, [{ mode: 'WALKING', distance: 2000 }]);
      await storeTrips(kit.store, user.uuid, [trip]);
      const metadata = { key: 'manual/mode_confirm', write_ts: noon + 9000, platform: 'ios' as const };
      await put(kit.store, user.uuid, [
        { metadata, data: { start_ts: trip.start_ts, end_ts: trip.end_ts, label: 'walk' } },
      ]);
    }
  });
  afterEach(() => kit.close());
  const everybody = async (user: string, end = '2016-05-31') => {
    const range = { start_time: '2016-05-10', end_time: end };
    return (await kit.post('/result/metrics/yyyy_mm_dd', { user, ...range, metric_list: asked, aggregate: true })).json;
  };
  const shown = {
    distance: [{ date: '2016-05-15', nUsers: 6, mode_confirm_walk: 12_000 }],
    count: [{ date: '2016-05-15', nUsers: 6, mode_confirm_walk: 6 }],
  };

  it('returns the figures of the caller’s study, and nothing over too few people', async () => {
    expect(await everybody('person-0')).toEqual(shown);
    expect(await everybody('person-6')).toEqual({ distance: [], count: [] });
  });

  it('are empty without the setting, of days that are not over, and of years at once', async () => {
    clock = Date.parse('2016-05-16T12:00:00Z') / 1000;
    expect(await everybody('person-0')).toEqual({ distance: [], count: [] });
    expect(await everybody('person-0', '2018-01-01')).toEqual({ distance: [], count: [] });
    clock = Date.parse('2018-01-03T00:00:00Z') / 1000;
    expect(await everybody('person-0', '2018-01-01')).toEqual({});
    settings.leastPeople = 0;
    expect(await everybody('person-0')).toEqual({});
  });

  it('is computed again after an hour', async () => {
    expect(await everybody('person-0')).toEqual(shown);
    const { user } = await kit.store.users.register('late', { now: 1, study: 'sunny' });
    await storeTrips(kit.store, user.uuid, [madeTrip(noon + 100, [{ mode: 'WALKING', distance: 2000 }])]);
    expect(await everybody('person-0')).toEqual(shown);
    clock += 3601;
    expect((await everybody('person-0')).count).toEqual([{ date: '2016-05-15', nUsers: 7, mode_confirm_walk: 6 }]);
  });
});
