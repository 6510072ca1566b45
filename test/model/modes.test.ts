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

it.each([
  'PredictedModeTypes.WALKING walking walk 4 walking_m walking WALKING 1 ON_FOOT 2',
  'PredictedModeTypes.RUNNING walking walk 4 walking_m walking WALKING 1 ON_FOOT 2',
  'PredictedModeTypes.TRAIN train rail 90 public_transport_m train TRAIN 4 IN_VEHICLE 0',
  'PredictedModeTypes.LIGHT_RAIL light_rail rail 90 public_transport_m train LIGHT_RAIL 9 IN_VEHICLE 0',
  'PredictedModeTypes.FERRY ferry other 90 other_m other FERRY 0 IN_VEHICLE 0',
  'PredictedModeTypes.AIR_OR_HSR air other 340 other_m other AIR_OR_HSR 6 AIR_OR_HSR 11',
  'MotionTypes.IN_VEHICLE vehicle motor 90 other_m vehicle IN_VEHICLE 0 IN_VEHICLE 0',
  'MotionTypes.UNKNOWN unknown other 90 other_m other UNKNOWN 0 UNKNOWN 4',
  'PredictedModeTypes.ROCKET rocket other 90 other_m other UNKNOWN 0 UNKNOWN 4',
])('a mode has the same facts everywhere: %s', (facts) => {
  const sensed = facts.split(' ')[0]!;
  const plain = plainMode(sensed);
  const [inferred, motion] = [inferredMode(sensed), motionMode(sensed)];
  const found = [sensed, plain, modeClass(sensed), fastestIn(sensed), distanceColumn(plain), modeLook(plain).name];
  expect([...found, inferred.name, inferred.code, motion.name, motion.code].join(' ')).toBe(facts);
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
