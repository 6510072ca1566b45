// What is pushed: which of it can be an entry, and why not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkEntry, checkEntryText, isEntry, unusableReasons } from '../../src/intake/check-entry.ts';
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

/** Entries as objects, and what is none. */
function checkAll(pushed: readonly JsonValue[]) {
  const checked = pushed.map((value) => checkEntry(value));
  return {
    entries: checked.filter(isEntry),
    unusable: checked.filter((one): one is UnusableEntry => !isEntry(one)),
  };
}

describe('invalid entries', () => {
  it.each(unusable)('%s: %s', (reason, _, value) => {
    const before = structuredClone(value);
    const result = checkAll([value]);
    expect(result.entries).toEqual([]);
    expect(result.unusable).toHaveLength(1);
    expect(result.unusable[0]!.reason).toBe(reason);
    expect(result.unusable[0]!.message).toMatch(/^expected .+, found .+/);
    expect(result.unusable[0]!.message).not.toContain('47.99');
    expect(result.unusable[0]!.entry).toBe(value);
    expect(value).toStrictEqual(before);
  });

  it('occur for every reason', () => {
    expect([...new Set(unusable.map(([reason]) => reason))].sort()).toEqual(Object.keys(unusableReasons).sort());
  });

  it('do not affect their neighbours, and the order is kept', () => {
    const pushed = [good({ write_ts: 1 }), null, good({ write_ts: 2 }), {}, good({ write_ts: 3 })];
    const { entries, unusable: out } = checkAll(pushed);
    expect(entries.map((entry) => entry.metadata.write_ts)).toEqual([1, 2, 3]);
    expect(out.map(({ entry }) => entry)).toEqual([null, {}]);
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
  ])('%s', (_, value) => {
    const { entries, unusable: out } = checkAll([value]);
    expect(out).toEqual([]);
    expect(entries).toStrictEqual([{ metadata: value.metadata, data: value.data }]);
  });

  it('keeps metadata and data only: _id and user_id cannot change the owner of an entry', () => {
    const value = { ...good(), _id: { $oid: 'x' }, user_id: 'somebody else', extra: 1 };
    expect(Object.keys(checkAll([value]).entries[0]!).sort()).toEqual(['data', 'metadata']);
  });
});

describe('milliseconds', () => {
  const times = (writeTs: number, ts?: number) => {
    const { metadata, data } = checkAll([good({ write_ts: writeTs }, ts === undefined ? {} : { ts, start_ts: ts })])
      .entries[0]!;
    return [metadata.write_ts, data.ts, data.start_ts];
  };

  it('become seconds from 1e11 on, inclusive', () => {
    expect(times(1e11)).toEqual([1e8, undefined, undefined]);
    expect(times(99_999_999_999.999)).toEqual([99_999_999_999.999, undefined, undefined]);
    expect(times(1466436482750)[0]).toBe(1466436482.75);
  });

  it('of data.ts become seconds too, of other times not', () => {
    expect(times(1466436482.75, 1466436482750)).toEqual([1466436482.75, 1466436482.75, 1466436482750]);
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

  it('do not change pushed entries', () => {
    const value = good({ write_ts: 1466436482750 }, { ts: 1466436482750 });
    const before = structuredClone(value);
    checkAll([value]);
    expect(value).toStrictEqual(before);
  });

  it('make -0 and 0 the same time', () => {
    expect(Object.is(times(-0)[0], 0)).toBe(true);
  });
});

describe('any value', () => {
  it('is either an entry or rejected unchanged, and nothing is lost', () => {
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
      fc.property(fc.array(value), (pushed) => {
        const before = structuredClone(pushed);
        const { entries, unusable: out } = checkAll(pushed as JsonValue[]);
        expect(entries.length + out.length).toBe(pushed.length);
        expect(pushed).toEqual(before);
        for (const entry of entries) {
          expect(entry.metadata.key).toMatch(/^[^\s\0]{1,255}$/);
          expect(Number.isFinite(entry.metadata.write_ts)).toBe(true);
          expect(entry.data).toBeTypeOf('object');
        }
        for (const { reason, entry } of out) {
          expect(unusableReasons).toHaveProperty(reason);
          expect(pushed).toContain(entry);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

it('a text that is not JSON is rejected unchanged', () => {
  expect(checkEntryText(JSON.stringify(good()))).toStrictEqual(good());
  expect(checkEntryText('{"metadata":NaN}')).toMatchObject({ entry: '{"metadata":NaN}', reason: 'not_an_object' });
});
