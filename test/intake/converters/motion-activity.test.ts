// Motion activity: every combination of the iPhone's flags, every code of Android.
import { describe, expect, it } from 'vitest';
import { type ConversionError, convert } from '../../../src/intake/converters/convert.ts';
import type { Entry } from '../../../src/model/entry.ts';
import { motionTypes } from '../../../src/model/payloads.ts';

const flags = ['stationary', 'walking', 'running', 'cycling', 'automotive', 'unknown'];
const single: Record<string, number> = {
  '': motionTypes.NONE,
  stationary: motionTypes.STILL,
  walking: motionTypes.WALKING,
  running: motionTypes.RUNNING,
  cycling: motionTypes.BICYCLING,
  automotive: motionTypes.IN_VEHICLE,
  unknown: motionTypes.UNKNOWN,
  'stationary automotive': motionTypes.STOPPED_WHILE_IN_VEHICLE,
};
const combinations = Array.from({ length: 64 }, (_, bits) => flags.filter((_, i) => bits & (1 << i)));

const motion = (platform: string, data: Entry['data']): Entry => ({
  metadata: {
    key: 'background/motion_activity',
    platform,
    type: 'sensor-data',
    write_ts: 1466445911.5,
    time_zone: 'UTC',
  },
  data,
});
const reasonOf = (entry: Entry): string | null => {
  try {
    convert(entry);
    return null;
  } catch (error) {
    return (error as ConversionError).reason;
  }
};

describe("an iPhone's flags", () => {
  it.each(combinations.map((set) => set.join(' ')))('"%s"', (text) => {
    const set = text.split(' ');
    const data = Object.fromEntries(flags.map((flag) => [flag, set.includes(flag)]));
    const entry = motion('ios', { ...data, confidence: 'high', ts: 1466445911.5 });
    const expected = single[text];
    if (expected === undefined) expect(reasonOf(entry)).toBe('conflicting_flags');
    else {
      expect(convert(entry).data).toMatchObject({ ...data, type: expected, confidence: 100, confidence_level: 'high' });
    }
  });

  it('are all needed', () => {
    for (const missing of flags) {
      const data = Object.fromEntries(flags.filter((flag) => flag !== missing).map((flag) => [flag, false]));
      expect(reasonOf(motion('ios', data))).toBe('missing_field');
    }
  });
});

describe("Android's codes", () => {
  it('are only the names in the table', () => {
    for (let type = -1; type < 13; type++) {
      const known = Object.values(motionTypes).some((code) => code === type);
      expect(reasonOf(motion('android', { type, confidence: 50, ts: 1466445911 }))).toBe(
        known ? null : 'unknown_value',
      );
      expect(reasonOf(motion('android', { zzbhB: type, zzbhC: 50 }))).toBe(known ? null : 'unknown_value');
    }
  });
});
