// Random values with few identities and times, so that much meets.
import fc from 'fast-check';
import type { Entry, Identity } from '../../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';

export const anyKey = fc.constantFrom(
  ...['background/location', 'manual/incident', 'background/battery', 'statemachine/transition', 'a.b/$c'],
  ...['a/\u{1F6B2}', 'a/\uE000', 'a/\\', 'a/\0', 'a/\ud800', 'a/]'],
);
export const anyTime = fc.constantFrom(0, 1, 1.5, 2, 1463501234.123456);
export const anyJson: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(
  null,
  -0,
  'text',
  'half \ud800',
  { 'a.b': 1 },
  { $x: [-0, { '': null }] },
  JSON.parse('{"__proto__":{"x":1}}'),
  [1.5, 2 ** 40, 1e300],
  { b: 1, a: { 10: 'x', 2: 'y' } },
);
export const anyData: fc.Arbitrary<JsonObject> = fc
  .record({ ts: anyTime, start_ts: anyTime, more: anyJson }, { requiredKeys: [] })
  .map((data) => ({ ...data }) as JsonObject);
const anyZone = fc.constantFrom('Europe/Berlin', 'America/Lima', 'Nowhere/Land', undefined);
export const anyEntry: fc.Arbitrary<Entry> = fc
  .record({ key: anyKey, write_ts: anyTime, zone: anyZone, data: anyData })
  .map(
    ({ key, write_ts, zone, data }): Entry => ({
      metadata: { key, write_ts, ...(zone === undefined ? {} : { time_zone: zone }) },
      data,
    }),
  );
export const entries = (most: number): fc.Arbitrary<Entry[]> =>
  fc.array(anyEntry, { minLength: 2, maxLength: most, size: 'max' });
export const anyIdentity: fc.Arbitrary<Identity> = fc.record({ key: anyKey, write_ts: anyTime });
/** Mostly the first of two. */
export const user = fc.constantFrom(0, 0, 0, 0, 1);
export const at = fc.nat(9);
export const now = fc.integer({ min: 100, max: 120 });
export const limit = fc.integer({ min: 1, max: 6 });
