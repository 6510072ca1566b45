// JSON files are read element by element, from chunks of any size, and a bad element does not affect the others.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type JsonElement, jsonElements, maxElementBytes } from '../../src/import/read/json-elements.ts';
import type { JsonValue } from '../../src/model/json.ts';

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}

async function elementsOf(text: string, size = 64): Promise<JsonElement[]> {
  const found: JsonElement[] = [];
  for await (const element of jsonElements(chunksOf(text, size))) found.push(element);
  return found;
}

const parsed = ({ member, text }: JsonElement): [string | null, JsonValue] => [member, JSON.parse(text!) as JsonValue];

it('a list gives its elements, and an object its members and the elements of its lists, for any values', async () => {
  const value = fc.jsonValue({ maxDepth: 4, noUnicodeString: false }) as fc.Arbitrary<JsonValue>;
  const file = fc.oneof(fc.array(value), fc.dictionary(fc.string(), value));
  const indent = fc.constantFrom(undefined, 1, '\t');
  await fc.assert(
    fc.asyncProperty(file, indent, fc.integer({ min: 1, max: 40 }), async (content, space, size) => {
      const expected = Array.isArray(content)
        ? content.map((one) => [null, one])
        : Object.entries(content).flatMap(([name, one]) =>
            Array.isArray(one) ? one.map((each) => [name, each]) : [[name, one]],
          );
      const found = (await elementsOf(JSON.stringify(content, null, space), size)).map(parsed);
      expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
    }),
    { numRuns: 300 },
  );
});

it.each([
  ['', /found nothing/],
  ['no json', /expected a JSON list or object at byte 0/],
  ['{"a" 1}', /expected a colon at byte 5/],
  ['{1:2}', /expected a name in quotes at byte 1/],
  ['[1] [2]', /expected the end of the file at byte 4/],
])('%j is refused with the position', async (text, message) => {
  await expect(elementsOf(text)).rejects.toThrow(message);
});

it('an element that is not JSON, too long or too deep is reported, and the next ones are read', async () => {
  const long = `"${'x'.repeat(maxElementBytes)}"`;
  const deep = '['.repeat(600) + ']'.repeat(600);
  const found = await elementsOf(`[{"a":nonsense},${long},${deep},4]`, 65_536);
  expect(found.map(({ text, reason }) => (text === null ? reason : text))).toEqual([
    '{"a":nonsense}',
    `longer than ${maxElementBytes} bytes`,
    'nested deeper than 500',
    '4',
  ]);
});
