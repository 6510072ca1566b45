// Texts as columns of values: each comes back byte by byte, whatever it is, and neighbours take little room.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ChunkRow, decodeTexts, decodeTimes, encodeChunk } from '../../../src/store/chunks/form.ts';

function rowsOf(texts: readonly string[], timeOf = (i: number): number => 1_463_400_000.5 + i): ChunkRow[] {
  return texts.map((text, i) => ({ write_ts: timeOf(i), ts: timeOf(i) - 0.25, received_ts: 1, zone: null, text }));
}

/** The texts after a round trip, and the bytes that they took. */
function roundTrip(texts: readonly string[], timeOf?: (i: number) => number): { texts: string[]; bytes: number } {
  const { times, entries } = encodeChunk(rowsOf(texts, timeOf));
  return { texts: decodeTexts(entries, decodeTimes(times, texts.length)), bytes: entries.length };
}

/** Numbers as JSON, phones and hostile users write them. */
const number = fc.oneof(
  fc.double().map(String),
  fc.integer().map(String),
  fc.bigInt().map(String),
  fc.integer({ min: 1_463_400_000_000, max: 1_463_500_000_000 }).map((ms) => String(ms / 1e3)),
  fc.tuple(fc.integer({ min: -99, max: 99 }), fc.nat(9_999_999)).map(([whole, part]) => `${whole}.${part}`),
  fc.constantFrom('-0', '0', '0.0', '-0.0', '00', '05', '0.50', '25.0', '1e5', '1E-7', '+1', '-', '.', '.5', '5.', ''),
  fc.constantFrom('9007199254740991', '9007199254740993', '-2251799813685248', '0.1234567890123456', '1..2', '1.2.3'),
);

/** What may stand within quotes, and what may not. */
const string = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    '08:05:59',
    'Jul 22, 2015 8:14:53 AM',
    '2016-02-22T13:06:06-0800',
    '1:2',
    ':',
    '\\"',
    '\\',
    '"',
    '\n',
  ),
  fc.constantFrom('\x1e', '\ud83d', '\udc00x', 'ü', '😀', '\u2028', '\0'),
);

/** Texts that have nearly everything in common, some of which do not end, or are no JSON at all. */
const alike = fc
  .array(fc.tuple(fc.constantFrom('"a":', '"ts": ', ',', '[', '}', '"b":"', ' '), fc.boolean()), { maxLength: 6 })
  .chain((parts) => {
    const values = parts.map(([, quoted]) => (quoted ? string.map((text) => `"${text}"`) : number));
    const text = fc.tuple(...values).map((found) => `{${parts.map(([part], i) => part + found[i]!).join(',')}}`);
    return fc.array(fc.oneof({ weight: 8, arbitrary: text }, fc.string({ unit: 'binary', maxLength: 8 })), {
      minLength: 1,
      maxLength: 40,
    });
  });

it('any texts come back as they were, at any times', () => {
  const times = fc.constantFrom<(i: number) => number>(
    (i) => 1_463_400_000.123 + i,
    (i) => i * 1e300,
    (i) => -i / 3,
  );
  fc.assert(
    fc.property(alike, times, (texts, timeOf) => {
      expect(roundTrip(texts, timeOf).texts).toEqual(texts);
    }),
    { numRuns: 1_000 },
  );
});

it('texts of a hundred forms, with lists of any length, come back as they were', () => {
  fc.assert(
    fc.property(fc.array(fc.json(), { minLength: 1, maxLength: 100 }), fc.nat(400), (texts, length) => {
      const list = JSON.stringify(Array.from({ length }, (_, i) => i));
      const all = [...texts, list, ...texts, `[${list},"${'x'.repeat(length)}"]`];
      expect(roundTrip(all).texts).toEqual(all);
    }),
  );
});

it('locations that follow each other take few bytes: times once, and differences of the rest', () => {
  const texts = Array.from({ length: 500 }, (_, i) => {
    const ts = 1_463_400_000.25 + i;
    const fmt_time = new Date(ts * 1000).toISOString();
    const [latitude, longitude] = [(377_000_000 + 913 * i) / 1e7, (-1_220_000_000 - 517 * i) / 1e7];
    const data = { ts, latitude, longitude, accuracy: 5 + (i % 3), fmt_time, filter: 'time' };
    return JSON.stringify({ metadata: { key: 'background/location', write_ts: ts + 0.25, platform: 'android' }, data });
  });
  const { texts: back, bytes } = roundTrip(texts);
  expect(back).toEqual(texts);
  expect(bytes / texts.length).toBeLessThan(3);
});

it('as many texts as a chunk holds take no longer when each is of another form', () => {
  const texts = Array.from({ length: 512 }, (_, i) => `{"${i}":${'[1,'.repeat(150)}"x:1${'"'.repeat(i % 5)}`);
  const began = process.cpuUsage();
  expect(roundTrip(texts).texts).toEqual(texts);
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1e6).toBeLessThan(2);
});
