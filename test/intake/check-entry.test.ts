// What is pushed: which of it can be an entry, and why not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkEntry, isEntry, unusableReasons } from '../../src/intake/check-entry.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { UnusableEntry } from '../../src/store/store.ts';
import { good, unusable } from './unusable.ts';

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
    const any = fc.jsonValue();
    const fields = { key: fc.oneof(fc.string(), any), write_ts: fc.oneof(fc.double(), any), type: any };
    const metadata = fc.oneof(fc.record(fields, { requiredKeys: [] }), any);
    const data = fc.oneof(fc.dictionary(fc.string(), any), any);
    fc.assert(
      fc.property(fc.oneof(any, fc.record({ metadata, data })), (pushed) => {
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
