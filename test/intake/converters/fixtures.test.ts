// Every fixture through the converters. `REGEN=1` rewrites the expected entries for review.
import { describe, expect, it } from 'vitest';
import { ConversionError, conversionReasons, convert, present } from '../../../src/intake/converters/convert.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import { isMobilityError } from '../../../src/model/mobility-error.ts';
import { fixtureNames, readFixture, rewriteFixture } from './fixtures.ts';

for (const folder of ['android', 'ios', 'other', 'unusual'] as const) {
  describe(`a pushed entry is accepted and converted: ${folder}`, () => {
    it.each(fixtureNames(folder))('%s', (name) => {
      const { in: pushed, out } = readFixture(folder, name);
      convert(pushed);
      const result = present(pushed);
      if (process.env.REGEN) rewriteFixture(folder, name, { in: pushed, out: result });
      else expect(result).toStrictEqual(out);
      expect(result.metadata.key).toBe(pushed.metadata.key);
      expect(result.metadata.write_ts).toBe(pushed.metadata.write_ts);
    });
  });
}

describe('an entry that cannot be converted has the reason', () => {
  it.each(fixtureNames('failing'))('%s', (name) => {
    const { in: pushed, reason } = readFixture('failing', name);
    const error = errorOf(() => convert(pushed));
    expect(error).toBeInstanceOf(ConversionError);
    expect((error as ConversionError).reason).toBe(reason);
    expect(conversionReasons).toHaveProperty(reason);
    expect(isMobilityError(error, reason === 'no_converter' ? 'MOBILITY_NO_CONVERTER' : 'MOBILITY_CONVERSION')).toBe(
      true,
    );
    expect((error as Error).message).toMatch(/expected .+, found .+/);
    for (const secret of coordinatesIn(pushed.data)) expect((error as Error).message).not.toContain(secret);
  });

  it('each reason is shown by a fixture', () => {
    const shown = new Set(fixtureNames('failing').map((name) => readFixture('failing', name).reason));
    expect([...shown].sort()).toEqual(Object.keys(conversionReasons).sort());
  });

  it.each([
    ['location-latitude-text', 'data.latitude: expected a number from -90 to 90, found a text'],
    ['location-accuracy-negative', 'data.accuracy: expected a number of at least 0, found another number'],
    ['battery-android-level-101', 'data.battery_level_pct: expected a number of at most 100, found another number'],
    ['label-too-long', 'data.label: expected at most 1024 characters, found 1028'],
    ['location-ts-missing', 'data.ts: expected seconds since the epoch, found nothing'],
    ['battery-ios-status-unknown', 'data.battery_status: expected one of 0, 1, 2, 3, found 4'],
    ['android-motion-unknown-obfuscation', 'found the fields "zzqqA", "zzqqB"'],
    ['ios-motion-walking-and-running', 'found walking and running'],
    ['key-day-document', 'no phone pushes'],
  ])('%s: %s', (name, message) => {
    expect(() => convert(readFixture('failing', name).in)).toThrow(message);
  });
});

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error');
}

/** Numbers with a fraction under the names of coordinates, as texts. */
function coordinatesIn(value: JsonValue | undefined, name = ''): string[] {
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([field, inner]) => coordinatesIn(inner, Array.isArray(value) ? name : field));
  }
  return /latitude|longitude|coordinates|loc/.test(name) && /\d\.\d/.test(String(value)) ? [String(value)] : [];
}
