// Runs of equal motion, and what becomes of flip-flops between them.
import { describe, expect, it } from 'vitest';
import { motionRuns } from '../../../src/analysis/dwell/motion-runs.ts';
import type { Location, Motion, Sampling } from '../../../src/analysis/observations.ts';
import { motionTypes } from '../../../src/model/payloads.ts';
import { motion, motions, moving, since } from '../../support/phone.ts';

const names = new Map<number, string>(Object.entries(motionTypes).map(([name, code]) => [code, name]));

/** Runs as `TYPE from-to` in seconds. */
function runs(readings: Motion[], locations: Location[], sampling: Sampling = 'time'): string[] {
  return motionRuns(
    readings.sort((a, b) => a.ts - b.ts),
    locations,
    sampling,
  ).map((r) => `${names.get(r.type)} ${since(r.from)}-${since(r.to)}`);
}

const path = (...legs: [from: number, to: number, speed: number][]): Location[] => {
  const found: Location[] = [];
  let east = 0;
  for (const [from, to, speed] of legs) {
    found.push(...moving({ from, to, east, speed }));
    east += (to - from) * speed;
  }
  return found;
};

describe('readings', () => {
  it('that do not tell how the user travels make no run', () => {
    const silent = (['STILL', 'UNKNOWN', 'TILTING', 'NONE', 'STOPPED_WHILE_IN_VEHICLE'] as const).map((type, i) =>
      motion(i * 30, type),
    );
    expect(runs(silent, path([0, 600, 1]))).toEqual([]);
    expect(runs([], path([0, 600, 1]))).toEqual([]);
  });

  it('that call one walk now walking and now on foot make one run, by the word that is there more often', () => {
    const mixed = [...motions(0, 200, 'WALKING', 30), ...motions(210, 600, 'ON_FOOT', 30)];
    expect(runs(mixed, path([0, 600, 1]))).toEqual(['ON_FOOT 0-600']);
  });

  it('need more than 60 % confidence with time sampling, and more than 49 % with distance sampling', () => {
    const readings = (confidence: number) => motions(0, 600, 'WALKING', 30, confidence);
    const locations = path([0, 600, 1]);
    expect(runs(readings(60), locations)).toEqual([]);
    expect(runs(readings(61), locations)).toEqual(['WALKING 0-600']);
    expect(runs(readings(49), locations, 'distance')).toEqual([]);
    expect(runs(readings(50), locations, 'distance')).toEqual(['WALKING 0-600']);
  });

  it('of running count as walking', () => {
    expect(runs([...motions(0, 300, 'WALKING'), ...motions(330, 600, 'RUNNING')], path([0, 600, 1]))).toEqual([
      'WALKING 0-600',
    ]);
  });
});

describe('the boundary between two runs', () => {
  it('into a vehicle is the last reading on foot, out of it the first on foot', () => {
    const readings = [
      ...motions(0, 600, 'WALKING'),
      ...motions(630, 1500, 'IN_VEHICLE'),
      ...motions(1530, 2100, 'WALKING'),
    ];
    expect(runs(readings, path([0, 600, 1.3], [600, 1530, 12], [1530, 2100, 1.3]))).toEqual([
      'WALKING 0-600',
      'IN_VEHICLE 600-1530',
      'WALKING 1530-2100',
    ]);
  });

  it('from walking to cycling is the last reading on foot, back the first on foot', () => {
    const readings = [
      ...motions(0, 600, 'WALKING'),
      ...motions(630, 1500, 'BICYCLING'),
      ...motions(1530, 2100, 'WALKING'),
    ];
    expect(runs(readings, path([0, 600, 1.3], [600, 1530, 4], [1530, 2100, 1.3]))).toEqual([
      'WALKING 0-600',
      'BICYCLING 600-1530',
      'WALKING 1530-2100',
    ]);
  });
});

describe('flip-flops', () => {
  it('a single reading amid a ride is the ride', () => {
    const readings = [...motions(0, 900, 'IN_VEHICLE'), motion(915, 'BICYCLING'), ...motions(930, 1800, 'IN_VEHICLE')];
    expect(runs(readings, path([0, 1800, 12]))).toEqual(['IN_VEHICLE 0-1800']);
  });

  it('a bus with many flip-flops is one ride', () => {
    const readings = [
      ...motions(0, 600, 'IN_VEHICLE'),
      motion(620, 'BICYCLING'),
      ...motions(650, 1200, 'IN_VEHICLE'),
      motion(1215, 'BICYCLING'),
      motion(1225, 'BICYCLING'),
      ...motions(1250, 1800, 'IN_VEHICLE'),
      motion(1815, 'BICYCLING'),
      ...motions(1830, 2400, 'IN_VEHICLE'),
    ];
    expect(runs(readings, path([0, 2400, 9]))).toEqual(['IN_VEHICLE 0-2400']);
  });

  it('a walk between two rides stays: it is a transfer', () => {
    const readings = [
      ...motions(0, 1200, 'IN_VEHICLE'),
      ...motions(1230, 1350, 'WALKING'),
      ...motions(1380, 2400, 'IN_VEHICLE'),
    ];
    expect(runs(readings, path([0, 1230, 12], [1230, 1380, 1.2], [1380, 2400, 12]))).toEqual([
      'IN_VEHICLE 0-1230',
      'WALKING 1230-1350',
      'IN_VEHICLE 1350-2400',
    ]);
  });

  it('a wait at a light that reads as walking, without locations of its own, is the ride', () => {
    const readings = [...motions(0, 900, 'IN_VEHICLE'), motion(901, 'WALKING'), ...motions(902, 1800, 'BICYCLING', 33)];
    const found = runs(readings, path([0, 900, 12], [930, 1800, 4]));
    expect(found.map((run) => run.split(' ')[0])).toEqual(['IN_VEHICLE', 'BICYCLING']);
  });

  it('at the start it belongs to what follows, at the end to what went before', () => {
    const readings = [motion(0, 'BICYCLING'), ...motions(60, 1200, 'WALKING'), motion(1230, 'IN_VEHICLE')];
    expect(runs(readings, path([0, 1230, 1.3]))).toEqual(['WALKING 0-1230']);
  });

  it('too fast for a walk, it goes to the neighbour that does not walk', () => {
    const readings = [
      ...motions(0, 900, 'WALKING'),
      motion(930, 'BICYCLING'),
      motion(960, 'BICYCLING'),
      ...motions(990, 1800, 'IN_VEHICLE'),
    ];
    expect(runs(readings, path([0, 900, 1.3], [900, 1800, 12]))).toEqual(['WALKING 0-900', 'IN_VEHICLE 900-1800']);
  });

  it('as slow as a walk, it goes to the neighbour of like speed', () => {
    const readings = [
      ...motions(0, 900, 'WALKING'),
      motion(930, 'BICYCLING'),
      motion(960, 'BICYCLING'),
      ...motions(990, 1800, 'IN_VEHICLE'),
    ];
    const found = runs(readings, path([0, 990, 1.3], [990, 1800, 12]));
    expect(found[0]!.startsWith('WALKING 0-9')).toBe(true);
    expect(found).toHaveLength(2);
  });

  it('a ride shorter than five minutes is doubted, one of five minutes is not', () => {
    const readings = (seconds: number) => [
      ...motions(0, 900, 'WALKING'),
      ...motions(930, 900 + seconds, 'IN_VEHICLE'),
      ...motions(930 + seconds, 1800 + seconds, 'WALKING'),
    ];
    const locations = path([0, 900, 1.3], [900, 1200, 8], [1200, 2100, 1.3]);
    expect(runs(readings(120), locations)).toEqual(['WALKING 0-1920']);
    expect(runs(readings(300), locations)).toHaveLength(3);
  });

  it('five and more in a row are the picture of a bicycle', () => {
    const flips = [600, 660, 720, 780, 840, 900].map((s, i) => motion(s, i % 2 ? 'IN_VEHICLE' : 'BICYCLING'));
    const readings = [...motions(0, 570, 'WALKING'), ...flips, ...motions(960, 1500, 'WALKING')];
    const found = runs(readings, path([0, 600, 1.3], [600, 960, 4], [960, 1500, 1.3]));
    expect(found.map((run) => run.split(' ')[0])).toEqual(['WALKING', 'BICYCLING', 'WALKING']);
  });

  it('a bicycle that the phone soon calls a vehicle is a bicycle', () => {
    const readings = [
      ...motions(0, 900, 'WALKING'),
      motion(960, 'BICYCLING'),
      motion(975, 'IN_VEHICLE'),
      ...motions(990, 1800, 'WALKING'),
    ];
    expect(runs(readings, path([0, 900, 1.3], [900, 990, 6], [990, 1800, 1.3]))).toEqual([
      'WALKING 0-900',
      'BICYCLING 900-990',
      'WALKING 990-1800',
    ]);
  });

  it('a trip that is nothing but flip-flops stays as the phone told it', () => {
    const types = ['WALKING', 'BICYCLING', 'IN_VEHICLE', 'BICYCLING', 'IN_VEHICLE', 'BICYCLING'] as const;
    const readings = types.map((type, i) => motion(i * 60, type));
    expect(runs(readings, path([0, 300, 3])).map((run) => run.split(' ')[0])).toEqual(types);
  });

  it('runs follow each other without overlap and end with the last reading, whatever the readings', () => {
    const types = ['WALKING', 'BICYCLING', 'IN_VEHICLE', 'ON_FOOT'] as const;
    for (let seed = 1; seed < 200; seed += 1) {
      let x = seed;
      const next = () => {
        x = (x * 48_271) % 2_147_483_647;
        return x;
      };
      const readings = Array.from({ length: 3 + (next() % 30) }, (_, i) => motion(i * 40, types[next() % 4]!));
      const last = readings.at(-1)!.ts;
      const found = motionRuns(readings, path([0, since(last), 1 + (next() % 10)]), 'time');
      expect(found[0]!.from).toBe(readings[0]!.ts);
      expect(found.at(-1)!.to).toBe(last);
      const wrong = found.slice(1).filter((run, i) => {
        const before = found[i]!;
        return run.from < before.to || run.to < run.from || run.type === before.type;
      });
      expect(wrong).toEqual([]);
    }
  });
});
