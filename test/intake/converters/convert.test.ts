// What holds for any entry, as pushed or mutated. `FUZZ_RUNS=1000000 npx vitest run --testTimeout=0` looks longer.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locationFields, motionFields } from '../../../src/analysis/clean/observations.ts';
import { checkEntry, isEntry } from '../../../src/intake/check-entry.ts';
import {
  ConversionError,
  conversionReasons,
  convert,
  convertedTime,
  interpretEntry,
  present,
} from '../../../src/intake/converters/convert.ts';
import { converterFor } from '../../../src/intake/converters/registry.ts';
import { dataTime, type Entry, identityOf } from '../../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import { keyRow } from '../../../src/model/keys.ts';
import { fixtureNames, readFixture } from './fixtures.ts';

const runs = Number(process.env.FUZZ_RUNS ?? 10_000);

const originals: Entry[] = (['android', 'ios', 'unusual'] as const).flatMap((folder) =>
  fixtureNames(folder).map((name) => readFixture(folder, name).in),
);

/** Values that tend to break things. */
const oddValues: fc.Arbitrary<JsonValue | undefined> = fc.oneof(
  fc.constantFrom<(JsonValue | undefined)[]>(
    ...[undefined, null, true, false, '', 'NaN', 'Infinity', '12', ' ', '\0', '\ud800', '__proto__', 'constructor'],
    ...[0, -0, -1, 1, 7, 90, 90.1, -180, 180.5, 1e11, 1e12, 1e15, -1e12, 253402300799, 253402300800, -62135596800],
    ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, Infinity, -Infinity],
    ...[[], {}, [[]], 'UTC', 'Asia/Tokyo', 'none'],
  ),
  fc.double({ noNaN: true }),
  fc.string(),
  fc.jsonValue() as fc.Arbitrary<JsonValue>,
);

const names = [...new Set(originals.flatMap(({ metadata, data }) => [...Object.keys(metadata), ...Object.keys(data)]))];

/** A step of damage: a field of metadata or data gets another value. Keys seldom, or only unknown keys come out. */
const damage = fc.record({
  part: fc.constantFrom<('metadata' | 'data')[]>('metadata', 'data', 'data', 'data'),
  pick: fc.nat(),
  name: fc.oneof(
    { weight: 6, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom(...names, '__proto__', '') },
  ),
  value: oddValues,
});

const mutated: fc.Arbitrary<JsonValue> = fc
  .tuple(fc.nat(originals.length - 1), fc.array(damage, { maxLength: 3 }))
  .map(([index, steps]) => {
    const entry = structuredClone(originals[index]!);
    for (const { part, pick, name, value } of steps) {
      const target = entry[part] as JsonObject;
      const fields = Object.keys(target).filter((field) => field !== 'key' || pick % 8 === 0);
      const field = name ?? fields[pick % Math.max(fields.length, 1)] ?? 'ts';
      if (value === undefined) delete target[field];
      else Object.defineProperty(target, field, { value, enumerable: true, configurable: true, writable: true });
    }
    return entry as unknown as JsonValue;
  });

const attempt = (entry: Entry): Entry | ConversionError => {
  try {
    convert(entry);
    return present(entry);
  } catch (error) {
    if (error instanceof ConversionError) return error;
    throw error;
  }
};

/** Numbers that JSON cannot hold, by path. */
function unholdable(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [path];
  if (value === undefined || typeof value === 'function' || typeof value === 'bigint') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => unholdable(inner, `${path}/${name}`));
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

describe('converting any entry that intake accepts', () => {
  it(`ends in an entry or in a ConversionError, changes nothing, repeats itself, has its data time alone too, and adds no number that JSON lacks (${runs} runs)`, () => {
    let good = 0;
    let bad = 0;
    fc.assert(
      fc.property(mutated, (pushed) => {
        const checked = checkEntry(deepFreeze(pushed));
        if (!isEntry(checked)) return;
        const entry = JSON.parse(JSON.stringify(checked)) as Entry;
        deepFreeze(entry);
        const result = attempt(entry);
        if (result instanceof ConversionError) {
          bad += 1;
          expect(conversionReasons).toHaveProperty(result.reason);
          expect((attempt(entry) as ConversionError).message).toBe(result.message);
          expect(() => convertedTime(entry)).toThrow(result);
          return;
        }
        good += 1;
        expect(identityOf(result)).toEqual(identityOf(entry));
        expect(attempt(entry)).toStrictEqual(result);
        expect(convertedTime(entry)).toBe(dataTime(result.data));
        const before = unholdable(entry);
        for (const path of unholdable(result)) expect(before).toContain(path);
      }),
      { numRuns: runs },
    );
    expect(good).toBeGreaterThan(runs / 10);
    expect(bad).toBeGreaterThan(runs / 10);
  });
});

/** The value of a field, without the sign of a zero, which no text of the server has. */
const saidIn = (data: JsonObject, name: string): unknown => (data[name] === 0 ? 0 : data[name]);

describe('fields that a converter lists as unchanged', () => {
  it('have the converted value, or the pushed one if the entry does not convert', () => {
    let count = 0;
    fc.assert(
      fc.property(mutated, (pushed) => {
        const checked = checkEntry(pushed);
        if (!isEntry(checked)) return;
        const entry = JSON.parse(JSON.stringify(checked)) as Entry;
        const { platform, key } = entry.metadata;
        const names = typeof platform === 'string' ? converterFor(platform, key)?.asPushed?.(entry) : null;
        const { data } = interpretEntry(entry);
        for (const name of names ?? []) {
          count += 1;
          expect([name, saidIn(entry.data, name)]).toEqual([name, saidIn(data, name)]);
        }
      }),
      { numRuns: Math.ceil(runs / 2) },
    );
    expect(count).toBeGreaterThan(runs / 10);
  });

  it('are the same after any earlier calls', () => {
    const lists = [locationFields, ['heading', 'bearing'], motionFields, ['loc'], [...locationFields, 'fmt_time']];
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...originals), fc.constantFrom(...lists))), (asked) => {
        for (const [entry, wanted] of asked) {
          const [some, all] = [interpretEntry(entry, wanted).data, interpretEntry(entry).data];
          for (const name of wanted.filter((one) => one !== 'fmt_time')) expect(some[name]).toEqual(all[name]);
        }
      }),
    );
  });
});

it('a correction with an empty source, token or place is invalid, since it would match every one', () => {
  const stated = { start_ts: 1_600_000_000, end_ts: 1_600_000_600, ts: 1_600_000_000 };
  const metadata = { key: 'manual/correction', platform: 'other', type: 'message', write_ts: 1_600_001_000 };
  for (const data of [
    { kind: 'set_aside', source: '' },
    { kind: 'set_aside', token_id: '' },
    { kind: 'place_name', name: '' },
  ])
    expect(() => convert({ metadata, data: { ...stated, ...data } })).toThrow('found an empty one');
});

describe('a converted entry', () => {
  const entries = originals.map((entry) => [`${entry.metadata.platform} ${entry.metadata.key}`, entry] as const);

  it.each(entries)('%s keeps the metadata and the fields it does not know', (_, entry) => {
    const odd = {
      metadata: { ...entry.metadata, app: { v: 1 } },
      data: { ...entry.data, ts: entry.data.ts, 'an odd.$name': [null] },
    };
    const result = attempt(odd) as Entry;
    const { write_local_dt: _local, write_fmt_time: _text, ...metadata } = odd.metadata as JsonObject;
    expect(result.metadata).toMatchObject(metadata);
    // The library's own object of old Android phones is the one payload that is not kept whole.
    const isLibraryObject =
      entry.data.ts === undefined && entry.metadata.key.includes('activity') && !('type' in entry.data);
    if (!isLibraryObject) expect(result.data['an odd.$name']).toEqual([null]);
  });

  it.each(entries)('%s converted again is the same, so converted entries can be pushed', (_, entry) => {
    const once = present(entry);
    expect(present(once)).toStrictEqual(once);
  });

  const converting = entries.filter(([, { metadata }]) => keyRow(metadata.key) !== null);
  it.each(converting)('%s without a known zone has no local time', (_, entry) => {
    for (const zone of [undefined, null, '', 'none', 'Not/AZone', 7, '+01:00']) {
      const metadata = { ...entry.metadata, time_zone: zone } as unknown as Entry['metadata'];
      const result = present({ metadata, data: entry.data });
      expect(JSON.stringify(result)).not.toMatch(/local_dt|fmt_time/);
      if (zone !== undefined) expect(result.metadata.time_zone).toBe(zone);
    }
  });

  it('keeps a field named __proto__ as data', () => {
    const data = JSON.parse('{"__proto__":{"latitude":1,"longitude":2},"ts":1466436482,"accuracy":3}');
    const metadata = { key: 'background/location', platform: 'ios', write_ts: 1466436482, time_zone: 'UTC' };
    expect((attempt({ metadata, data }) as ConversionError).reason).toBe('missing_field');
    const result = attempt({ metadata, data: { ...data, latitude: 3, longitude: 4 } }) as Entry;
    expect(JSON.stringify(result.data)).toContain('"__proto__":{"latitude":1,"longitude":2}');
  });
});
