// Columns are read as exactly the objects that they were made of, and compress better.
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import { jsonText } from '../../../src/model/json-text.ts';
import { simulateDays } from '../../../src/simulate/simulate-day.ts';
import { columnsText, listOf } from '../../../src/util/column-codec.ts';
import { numbers, same } from '../contract/kit.ts';

/** Fails unless the objects come back with every bit, and their fields in the same order. */
function comeBack(list: JsonObject[]): void {
  const found = listOf(columnsText(list));
  same(found, list);
  expect(jsonText(found as JsonValue)).toBe(jsonText(list as JsonValue));
}

const anyNumber = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
  fc.tuple(fc.maxSafeInteger(), fc.nat(9)).map(([whole, decimals]) => whole / 10 ** decimals),
  fc.constantFrom(0, -0, Infinity, -Infinity, 5e-324, 2 ** 53, 2 ** 53 + 2, 2 ** 52 + 0.5, 1e21, 0.1 + 0.2, 1e-7, 1e-8),
);
const anyName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'ts', 'coordinates') },
  fc.constantFrom('', '0', '7', '-1', 'a.b', '$a', 'a\u0000', '\ud800', '__proto__', 'constructor', 'toJSON', 'shapes'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '\udfff\ud83d', 'x'.repeat(2_000)));
const { value: anyValue, object: anyObject } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    anyNumber,
    anyText,
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.array(fc.tuple(anyName, tie('value')), { maxLength: 5 }).map((fields) => Object.fromEntries(fields)),
}));

/** Objects with the same fields, one column of numbers after another. */
const column = fc.tuple(anyName, fc.array(anyNumber, { minLength: 1, maxLength: 6 }));
const similar = fc.tuple(fc.array(column, { minLength: 1, maxLength: 4 }), fc.nat(12)).map(([columns, rows]) => {
  const rowAt = (row: number) => Object.fromEntries(columns.map(([name, list]) => [name, list[row % list.length]!]));
  return numbers(0, rows).map(rowAt);
});

it('any list of JSON objects is read back exactly', () => {
  const mixed = fc.tuple(similar, fc.array(anyObject, { maxLength: 3 }), similar).map((lists) => lists.flat());
  const anyList = fc.oneof(
    fc.array(anyObject, { maxLength: 8 }),
    similar,
    mixed.chain((list) => fc.shuffledSubarray(list, { minLength: list.length })),
    fc.tuple(anyValue, fc.nat(5)).map(([a, count]) => numbers(0, count).map((ts) => ({ ts, more: { a } }))),
  );
  fc.assert(fc.property(anyList, comeBack), { numRuns: 2_000 });
});

it.each([
  ['objects', '{"a":', '}'],
  ['lists', '[', ']'],
])('%s nested as deep as the parser allows are read back', (_, open, close) => {
  // The depth that the JSON functions of Node support is not documented.
  for (const depth of [...numbers(1, 110), ...numbers(0, 160).map((i) => 200 + i * 50)]) {
    const list = [{ ts: 1, deep: JSON.parse(`${open.repeat(depth)}1${close.repeat(depth)}`) as JsonValue }, { ts: 2 }];
    expect(jsonText(listOf(columnsText(list)) as JsonValue) === jsonText(list)).toBe(true);
  }
});

it('columns of the entries that a phone records take far fewer bytes than the list does', () => {
  const [day] = [...simulateDays({ platform: 'android', day: '2024-03-11', seed: 'columns' }, 1)];
  for (const key of ['background/location', 'background/motion_activity']) {
    const entries = day!.filter(({ metadata }) => metadata.key === key);
    expect(entries.length).toBeGreaterThan(100);
    const list = entries.map((entry) => ({ entry, write_ts: entry.metadata.write_ts })) as unknown as JsonObject[];
    comeBack(list);
    const bytes = (text: string): number => deflateRawSync(text).length;
    expect(bytes(columnsText(list))).toBeLessThan(0.6 * bytes(jsonText(list as JsonValue)));
  }
});

it('the text of columns contains repeated texts each time', () => {
  const list = numbers(0, 100).map((ts) => ({ ts, text: 'y'.repeat(10_000), short: 'y' }));
  expect(columnsText(list).length).toBeGreaterThan(1_000_000);
});

it('reads columns of whole numbers, which older versions stored', () => {
  const shape = { paths: [['a', 'b']], columns: [{ decimals: 1, numbers: [25, -10] }], count: 2 };
  expect(listOf(JSON.stringify({ shapes: [shape] }))).toEqual([{ a: { b: 2.5 } }, { a: { b: -1 } }]);
});
