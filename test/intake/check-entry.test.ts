// What is pushed: which of it can be an entry, and why not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkEntry, checkEntryText, isEntry, unusableReasons } from '../../src/intake/check-entry.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { UnusableEntry } from '../../src/store/store.ts';

const good = (metadata: JsonObject = {}, data: JsonValue | undefined = { x: 1 }): JsonObject => ({
  metadata: {
    key: 'background/location',
    type: 'sensor-data',
    platform: 'android',
    write_ts: 1466436482.75,
    ...metadata,
  },
  data,
});
const without = (name: string): JsonObject => {
  const { [name]: _gone, ...metadata } = good().metadata as JsonObject;
  return { metadata, data: {} };
};

const unusable: [reason: keyof typeof unusableReasons, what: string, value: JsonValue][] = [
  ['not_an_object', 'null', null],
  ['not_an_object', 'a number', 5],
  ['not_an_object', 'a text', '{"metadata":{}}'],
  ['not_an_object', 'a list', [good()]],
  ['metadata_missing', 'an empty object', {}],
  ['metadata_missing', 'data alone', { data: {} }],
  ['metadata_not_an_object', 'metadata null', { metadata: null, data: {} }],
  ['metadata_not_an_object', 'metadata a list', { metadata: [], data: {} }],
  ['key_missing', 'no key', without('key')],
  ['key_not_text', 'a key that is a number', good({ key: 7 })],
  ['key_not_text', 'a key that is null', good({ key: null })],
  ['key_empty', 'an empty key', good({ key: '' })],
  ['key_too_long', 'a key of 256 characters', good({ key: 'k'.repeat(256) })],
  ['key_characters', 'a blank in the key', good({ key: 'background/ location' })],
  ['key_characters', 'a no-break space in the key', good({ key: 'a\u00a0b' })],
  ['key_characters', 'a line separator in the key', good({ key: 'a\u2028b' })],
  ['key_characters', 'a byte order mark in the key', good({ key: '\ufeffa' })],
  ['key_characters', 'a NUL in the key', good({ key: 'a\0' })],
  ['key_characters', 'a line break in the key', good({ key: 'a\nb' })],
  ['key_characters', 'a C1 control in the key', good({ key: 'a\u0085b' })],
  ['key_characters', 'half a character in the key', good({ key: 'a\ud83d' })],
  ['key_characters', 'the other half in the key', good({ key: '\ude00a' })],
  ['type_not_text', 'a type that is a number', good({ type: 1 })],
  ['type_not_text', 'a type that is null', good({ type: null })],
  ['write_ts_missing', 'no write_ts', without('write_ts')],
  ['write_ts_not_a_number', 'write_ts as text', good({ write_ts: '1466436482.75' })],
  ['write_ts_not_a_number', 'write_ts null', good({ write_ts: null })],
  ['write_ts_not_a_number', 'write_ts an object', good({ write_ts: { $date: 1 } })],
  ['write_ts_not_finite', 'write_ts beyond all numbers', good({ write_ts: JSON.parse('1e999') })],
  ['data_missing', 'no data', { metadata: good().metadata! }],
  ['data_not_an_object', 'data null', good({}, null)],
  ['data_not_an_object', 'data a list', good({}, [])],
  ['data_not_an_object', 'data a text', good({}, '47.9975821')],
];

describe('invalid entries', () => {
  it.each(unusable)('%s: %s', (reason, _, value) => {
    const result = checkEntry(value) as UnusableEntry;
    expect(isEntry(result)).toBe(false);
    expect(result).toMatchObject({ reason, message: expect.stringMatching(/^expected .+, found .+/) });
    expect(result.message).not.toContain('47.99');
    expect(result.entry).toBe(value);
  });

  it('occur for every reason', () => {
    expect([...new Set(unusable.map(([reason]) => reason))].sort()).toEqual(Object.keys(unusableReasons).sort());
  });
});

describe('unusual but valid values', () => {
  it.each<[string, JsonObject]>([
    ['an unknown key', good({ key: 'foo' })],
    ['a key of 255 characters of any script', good({ key: `é/😀${'k'.repeat(251)}` })],
    ['no platform, zone or type', { metadata: { key: 'k', write_ts: 0 }, data: {} }],
    ['a zone that is none', good({ time_zone: 5, platform: [] })],
    ['a write_ts of 0', good({ write_ts: 0 })],
    ['a negative write_ts', good({ write_ts: -1e12 })],
    ['a ts long after write_ts', good({}, { ts: 99_999_999_999 })],
    ['a ts that is a text', good({}, { ts: '1466436482750' })],
    ['a ts that is null', good({}, { ts: null })],
    ['coordinates outside the world', good({}, { latitude: 1000, longitude: 'x' })],
    ['an empty payload', good({}, {})],
    ['a document', good({ type: 'document' })],
    ['names with dots and dollars', good({ 'a.b': 1, $c: 2 }, { 'x.y': { $z: null } })],
    ['an _id and a user_id, which cannot change the owner', { ...good(), _id: { $oid: 'x' }, user_id: 'another' }],
  ])('%s', (_, value) => {
    expect(checkEntry(value)).toStrictEqual({ metadata: value.metadata, data: value.data });
  });
});

describe('milliseconds', () => {
  const times = (writeTs: number, ts?: number) => {
    const pushed = good({ write_ts: writeTs }, ts === undefined ? {} : { ts, start_ts: ts });
    const { metadata, data } = checkEntry(pushed) as Entry;
    return [metadata.write_ts, data.ts, data.start_ts];
  };

  it('of write_ts and data.ts, and of no other time, become seconds from 1e11 on, inclusive', () => {
    expect(times(1e11)).toEqual([1e8, undefined, undefined]);
    expect(times(99_999_999_999.999)).toEqual([99_999_999_999.999, undefined, undefined]);
    expect(times(1466436482750, 1466436482750)).toEqual([1466436482.75, 1466436482.75, 1466436482750]);
    expect(Object.is(times(-0)[0], 0)).toBe(true);
  });

  it('are divided once, even if an entry is pushed repeatedly, and never below zero', () => {
    expect(times(1e14, 1e15)).toEqual([1e14, 1e15, 1e15]);
    expect(times(-1466436482750, -1466436482750)).toEqual([-1466436482750, -1466436482750, -1466436482750]);
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e8, max: 1e18 }), (ts) => {
        const once = checkEntry(good({ write_ts: ts }, { ts }));
        expect(checkEntry(once as unknown as JsonValue)).toStrictEqual(once);
      }),
    );
  });
});

describe('any value', () => {
  it('is either an entry or rejected, and is not changed', () => {
    const metadata = fc.record(
      {
        key: fc.oneof(fc.string(), fc.jsonValue()),
        write_ts: fc.oneof(fc.double(), fc.jsonValue()),
        type: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const value = fc.oneof(
      fc.jsonValue(),
      fc.record({
        metadata: fc.oneof(metadata, fc.jsonValue()),
        data: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
      }),
    );
    fc.assert(
      fc.property(value, (pushed) => {
        const before = structuredClone(pushed);
        const checked = checkEntry(pushed as JsonValue);
        expect(pushed).toEqual(before);
        if (isEntry(checked)) {
          expect(checked.metadata.key).toMatch(/^[^\s\0]{1,255}$/);
          expect(Number.isFinite(checked.metadata.write_ts)).toBe(true);
          expect(checked.data).toBeTypeOf('object');
        } else {
          expect(unusableReasons).toHaveProperty(checked.reason);
          expect(checked.entry).toBe(pushed);
        }
      }),
      { numRuns: 10_000 },
    );
  });
});

it('a text that is not JSON is rejected unchanged', () => {
  expect(checkEntryText(JSON.stringify(good()))).toStrictEqual(good());
  expect(checkEntryText('{"metadata":NaN}')).toMatchObject({ entry: '{"metadata":NaN}', reason: 'not_an_object' });
});
