// JSON values as bytes: each comes back as it was, whatever it holds and whoever wrote it.
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../../src/model/json.ts';
import { jsonText } from '../../../src/model/json-text.ts';
import { isPackedAs, packValue, unpackValue } from '../../../src/store/chunks/packed-value.ts';

/** Numbers as diaries have them, and such as are hard to keep. */
const number = fc.oneof(
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.constantFrom(0, -0, 0.1, 1e21, -1e-7, 5e-324, 2 ** 53, -(2 ** 53), 1e308, 0.1 + 0.2),
  fc.tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 0, max: 9 })).map(([whole, d]) => whole / 10 ** d),
  fc.integer({ min: 1_400_000_000_000, max: 1_500_000_000_000 }).map((ms) => ms / 1000),
);

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    'start_ts',
    '__proto__',
    'constructor',
    '\ud800',
    'Ä',
    '0123456789abcdef01234567',
    'Z'.repeat(300),
  ),
  fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: 23, maxLength: 25 }).map((digits) => digits.join('')),
);

const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    number,
    text,
    fc.constantFrom(null, true, false),
    fc.array(number, { maxLength: 60 }),
    fc.array(fc.oneof(number, fc.constant(null)), { maxLength: 8 }),
    fc.array(fc.tuple(number, number), { maxLength: 30 }),
    fc.array(tie('value')),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 8 }).map((members) => Object.fromEntries(members)),
    // Some objects alike, as the sections of a trip are.
    fc
      .tuple(fc.uniqueArray(text, { maxLength: 6 }), fc.array(fc.array(tie('value'), { minLength: 6, maxLength: 6 })))
      .map(([names, rows]) => rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]!])))),
  ),
}));

it('any value comes back as it was', () => {
  fc.assert(
    fc.property(value, (some) => {
      const packed = packValue(some);
      expect(jsonText(unpackValue(Buffer.from(packed)))).toBe(jsonText(some));
      expect(isPackedAs(Buffer.from(packed), some, packValue(some))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

it('only equal values are taken for each other', () => {
  fc.assert(
    fc.property(value, value, (some, other) => {
      expect(isPackedAs(packValue(some), other, packValue(other))).toBe(jsonText(some) === jsonText(other));
    }),
  );
});

it('a member without a value is left out, as in JSON', () => {
  const some = { a: 1, b: undefined, c: [{ d: undefined }] };
  expect(jsonText(unpackValue(packValue(some)))).toBe('{"a":1,"c":[{}]}');
});

it('texts of older stores are read, and compared by what they say', () => {
  const some = { b: [1.5, -0, 1e300], a: { $x: '\u0000\ud800' } };
  const older = [jsonText(some), deflateRawSync(jsonText(some)), deflateRawSync(jsonText(some), { level: 0 })];
  for (const packed of older) {
    expect(jsonText(unpackValue(packed))).toBe(jsonText(some));
    expect(isPackedAs(packed, some, packValue(some))).toBe(true);
    expect(isPackedAs(packed, { ...some, c: 1 }, packValue({ ...some, c: 1 }))).toBe(false);
  }
});

it('a value nested deeper than any diary comes back too', () => {
  const deep = JSON.parse(`${'[{"a":'.repeat(5_000)}1${'}]'.repeat(5_000)}`) as JsonValue;
  expect(jsonText(unpackValue(packValue(deep)))).toBe(jsonText(deep));
});

it('what is no JSON value is refused', () => {
  expect(() => packValue([Number.NaN])).toThrow(TypeError);
  expect(() => packValue({ a: Number.NaN })).toThrow(TypeError);
  expect(() => packValue([undefined] as unknown as JsonValue)).toThrow(TypeError);
});

it('objects of very many different names take no longer each than a few', () => {
  const some = { x: Array.from({ length: 40_000 }, (_, i) => ({ [`a${i}`]: i })) };
  const packed = packValue(some);
  expect(jsonText(unpackValue(packed))).toBe(jsonText(some));
  expect(isPackedAs(packed, some, packValue(some))).toBe(true);
}, 10_000);

it('bytes that end early, go on, or are no value are refused', () => {
  const packed = Buffer.from(packValue({ a: [1, 2, 3], b: 'text', c: [[1, 2]], d: 1.5 }));
  for (let end = 1; end < packed.length; end += 1)
    expect(() => unpackValue(packed.subarray(0, end))).toThrow(RangeError);
  const noValues = {
    'decimals that nobody writes': [0xff, 2],
    'a text that never came': [5, 0xff, 0x7f],
    'names that never came': [8, 3],
    'a name that is not known': [8, 0, 1, 0xff, 0x7f, 0],
    'one name twice': [8, 0, 2, 1, 1, 0, 1],
    'a quoted text that is none': [4, 2, 0x7b, 0x7d],
    'bytes behind the value': [0, 1],
    'a number without an end': [9, ...Array.from({ length: 160 }, () => 0x80), 1],
    'a form that no list has': [10, 1, 0x30, 2],
    'a tag that is none': [15],
  };
  for (const [what, bytes] of Object.entries(noValues)) {
    expect(() => unpackValue(Buffer.from([7, ...bytes])), what).toThrow(RangeError);
  }
});
