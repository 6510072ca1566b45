// The score of the analysis: perfect trips score one, and made-up days with known truth are found.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Truth } from '../../src/evaluate/cases.ts';
import { wilson } from '../../src/evaluate/labels.ts';
import { scoreCase, summarise } from '../../src/evaluate/score.ts';
import { modeClass } from '../../src/model/modes.ts';
import { type PlannedLeg, planDay } from '../../src/simulate/plan-day.ts';
import { simulateDay } from '../../src/simulate/simulate-day.ts';
import { freshProgram, refuse, show, succeed } from '../cli/kit.ts';
import { madeTrip, storeTrips } from '../server/trips.ts';
import { tempFolder } from '../support/clean-up.ts';
import type { Untyped } from '../support/untyped.ts';

const modes = { walk: 'WALKING', bike: 'BICYCLING', bus: 'BUS', train: 'TRAIN', car: 'CAR' };

/** Ways without a stay of ten minutes between them are one trip. */
function truthOf(seed: string, platform: string): Truth {
  const plan = planDay({ day: '2024-03-12', seed });
  const trips: PlannedLeg[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const step of plan.steps) {
    if (step.kind !== 'leg') continue;
    if (step.from - last >= 600) trips.push([]);
    trips.at(-1)!.push(step);
    last = step.to;
  }
  return {
    platform,
    regime: 'made up',
    timeline: 'made up',
    range: { start_ts: plan.from, end_ts: plan.to },
    trips: trips.map((legs) => ({
      start_ts: legs[0]!.from,
      end_ts: legs.at(-1)!.to,
      reference_distance_m: legs.reduce((sum, { distance }) => sum + distance, 0),
      sections: legs.map(({ mode, from, to }) => ({ mode: modes[mode], start_ts: from, end_ts: to })),
    })),
  };
}

it('trips that are the truth score one, and no trips score nothing', () => {
  const truth = truthOf('perfect', 'android');
  const found = truth.trips.map((trip) => ({
    start: trip.start_ts,
    end: trip.end_ts,
    distance: trip.reference_distance_m!,
    sections: trip.sections.map((s) => ({ start: s.start_ts, end: s.end_ts, mode: modeClass(s.mode) })),
  }));
  const exact = { start: [0, 0], end: [0, 0], distance: 0, travel: 1, false_s_per_hour: 0 };
  expect(summarise([scoreCase(truth, found)])).toMatchObject({ f1: 1, f1_split: 1, ...exact });
  const nothing = { f1: 0, travel: 0, mode: 0, false_s_per_hour: 0, distance: null };
  expect(summarise([scoreCase(truth, [])])).toMatchObject(nothing);
});

it('a trip cut at a long wait is two pieces, of which neither alone is the journey', () => {
  const section = (mode: string, start_ts: number, end_ts: number) => ({ mode, start_ts, end_ts });
  const sections = [section('WALKING', 0, 300), section('STOPPED', 300, 900), section('BUS', 900, 1800)];
  const trips = [{ start_ts: 0, end_ts: 1800, reference_distance_m: null, sections }];
  const truth = { ...truthOf('any', 'ios'), range: { start_ts: -3600, end_ts: 3600 }, trips };
  const piece = (start: number, end: number, mode: 'walk' | 'bus') => {
    return { start, end, distance: 1, sections: [{ start, end, mode }] };
  };
  const cut = summarise([scoreCase(truth, [piece(0, 300, 'walk'), piece(900, 1800, 'bus')])]);
  expect(cut).toMatchObject({ f1: expect.closeTo(2 / 3), f1_split: 1, mode: 1 });
});

it('mobility evaluate finds the trips of made-up days, and reports the problem of a folder or a model', async () => {
  const folder = tempFolder();
  for (const [i, platform] of (['android', 'ios'] as const).entries()) {
    const seed = `evaluate ${i}`;
    const put = { platform, phone_to_server: simulateDay({ day: '2024-03-12', seed, platform }) };
    await writeFile(join(folder, `${platform}.put.json.gz`), gzipSync(JSON.stringify(put)));
    await writeFile(join(folder, `${platform}.truth.json`), JSON.stringify(truthOf(seed, platform)));
  }
  const { overall, groups } = (await succeed(['evaluate', '--cases', folder, '--json'])).json<Untyped>();
  expect(overall.cases).toBe(2);
  expect(overall.f1).toBeGreaterThan(0.7);
  expect(overall.coarse).toBeGreaterThan(0.6);
  expect(Object.keys(groups.platform)).toEqual(['android', 'ios']);
  await show(['evaluate', '--cases', folder, '--only', 'ios'], /overall +1 /);
  await refuse(['evaluate', '--cases', folder, '--only', 'nokia'], 'MOBILITY_USAGE');
  await refuse(['evaluate', '--cases', join(folder, 'none')], 'MOBILITY_USAGE');
  await writeFile(join(folder, 'model.json'), '{"id":"x"}');
  await refuse(['evaluate', '--cases', folder, '--model', join(folder, 'model.json')], 'train it again');
});

it('mobility evaluate --labels counts by mode how often the diary agrees with labels, and how certain that share is', async () => {
  const noon = Date.parse('2016-05-17T12:00:00Z') / 1000;
  const trips = ['CAR', 'CAR', 'WALKING', 'BUS'].map((mode, i) => madeTrip(noon + i * 7200, [{ mode }]));
  const ada = await freshProgram('ada');
  await ada.withUser('ada', (store, uuid) => storeTrips(store, uuid, trips));
  // Of two labels of a trip, the last one counts.
  const stated = Object.entries(['walk', 'bus', 'walk', 'not_a_trip']).concat([['0', 'drove_alone']]);
  for (const [at, [i, mode]] of stated.entries())
    await ada.run(['label', '--user', 'ada', '--trip', trips[Number(i)]!.trip!.id, '--mode', mode], {
      now: noon + 1e6 + at,
    });
  expect(await ada.json('evaluate --labels --user ada')).toMatchObject({
    people: 1,
    all: { labels: 3, right: 2, instead: { car: 1 } },
    modes: { bus: { labels: 1, right: 0 }, car: { labels: 1, right: 1 }, walk: { labels: 1, right: 1 } },
    not_compared: { not_a_trip: 1 },
    without_trip: 0,
  });
  await ada.show(['evaluate', '--labels', '--all'], /all +3 +2 +0\.67 +0\.21-0\.94/);
  await ada.refuse(['evaluate', '--labels'], 'MOBILITY_USAGE');
  expect(wilson(10, 10)[0]).toBeCloseTo(0.722, 3);
});
