// The table of travel modes, and the names under which clients, labels and phones know them.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  distanceColumn,
  fastestIn,
  inferredMode,
  modeClass,
  modeLook,
  motionMode,
  plainMode,
  statedModes,
  travelModes,
} from '../../src/model/modes.ts';

it('no name belongs to two modes', () => {
  const names = travelModes.flatMap((mode) => [...mode.wire, ...('labels' in mode ? mode.labels : [])]);
  expect(names.length).toBe(new Set(names).size);
  expect(new Set(travelModes.map(({ name }) => name)).size).toBe(travelModes.length);
});

const motionCodes = { ON_FOOT: 2, IN_VEHICLE: 0, AIR_OR_HSR: 11, UNKNOWN: 4 };

it.each([
  ['PredictedModeTypes.WALKING', 'walking', 'walk', 4, 'walking_m', 'walking', 'WALKING', 1, 'ON_FOOT'],
  ['PredictedModeTypes.RUNNING', 'walking', 'walk', 4, 'walking_m', 'walking', 'WALKING', 1, 'ON_FOOT'],
  ['PredictedModeTypes.TRAIN', 'train', 'rail', 90, 'public_transport_m', 'train', 'TRAIN', 4, 'IN_VEHICLE'],
  [
    'PredictedModeTypes.LIGHT_RAIL',
    'light_rail',
    'rail',
    90,
    'public_transport_m',
    'train',
    'LIGHT_RAIL',
    9,
    'IN_VEHICLE',
  ],
  ['PredictedModeTypes.FERRY', 'ferry', 'other', 90, 'other_m', 'other', 'FERRY', 0, 'IN_VEHICLE'],
  ['PredictedModeTypes.AIR_OR_HSR', 'air', 'other', 340, 'other_m', 'other', 'AIR_OR_HSR', 6, 'AIR_OR_HSR'],
  ['MotionTypes.IN_VEHICLE', 'vehicle', 'motor', 90, 'other_m', 'vehicle', 'IN_VEHICLE', 0, 'IN_VEHICLE'],
  ['MotionTypes.UNKNOWN', 'unknown', 'other', 90, 'other_m', 'other', 'UNKNOWN', 0, 'UNKNOWN'],
  ['PredictedModeTypes.ROCKET', 'rocket', 'other', 90, 'other_m', 'other', 'UNKNOWN', 0, 'UNKNOWN'],
] as const)('%s is %s everywhere', (sensed, plain, kind, speed, column, look, inferred, number, motion) => {
  expect([plainMode(sensed), modeClass(sensed), fastestIn(sensed)]).toEqual([plain, kind, speed]);
  expect([distanceColumn(plain), modeLook(plain).name]).toEqual([column, look]);
  expect([inferredMode(sensed), motionMode(sensed)]).toEqual([
    { name: inferred, code: number },
    { name: motion, code: motionCodes[motion] },
  ]);
});

it('labels of the usual sets have a class', () => {
  const labels = ['e-bike', 'drove_alone', 'light rail', 'Free Shuttle', 'scootershare', ' tramway '];
  expect(labels.map(modeClass)).toEqual(['bike', 'car', 'rail', 'bus', 'scooter', 'rail']);
});

it('docs/corrections.md lists the modes that corrections can state, in order', () => {
  const page = readFileSync(new URL('../../docs/corrections.md', import.meta.url), 'utf8');
  const [, listed] = /^Modes: (.*?)\./m.exec(page)!;
  expect(listed!.replaceAll('`', '').split(', ')).toEqual(statedModes);
});
