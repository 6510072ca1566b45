// Entries and files, made strange in one or several places.
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Random } from '../../src/simulate/random.ts';

const nested = (depth: number): JsonValue => {
  let value: JsonValue = [];
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
};

/** Values that have broken programs before. */
const strangeValues: readonly (JsonValue | undefined)[] = [
  ...[null, undefined, true],
  ...[0, -0, -1, 0.1 + 0.2, 1e-320, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, Infinity, -Infinity, 2 ** 53 + 2],
  ...[1e11, 1e11 - 1, 253_402_300_799, -62_135_596_800, 1_463_540_401_200, 90, -90, 180, -180, 359.999],
  ...['', ' ', '0', 'NaN', '\u0000', '\ud800', 'a\u2028b\r\nc', '‮abc‭', '😀'.repeat(50), 'x'.repeat(20_000)],
  ...['{"a":1}', "'; DROP TABLE waiting; --", '__proto__', 'Mars/Olympus', 'Pacific/Apia', 'Europe/Dublin'],
  ...[[], [null], {}, { $oid: '0'.repeat(24) }, { $date: 1e15 }, { 'a.b': 1, $set: 2, '': 3, '\u0000': 4 }],
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}'),
  nested(60),
  nested(700),
  Array.from({ length: 300 }, (_, i) => i),
];

/** Names that fields, keys and platforms are changed to. */
const strangeNames = ['__proto__', 'constructor', 'toString', 'length', 'a.b', '$where', '', 'ts', 'metadata', 'data'];
const strangeKeys = ['background/location', 'background/filtered_location', 'background/motion_activity'].concat(
  ['statemachine/transition', 'manual/incident', 'diary/trips-2024-03-11', 'common-trips', 'config/consent'],
  ['a/b/c', '/', '../../etc/passwd', 'x'.repeat(255), 'ключ/ключ', '__proto__', 'background/location '],
);

/** A copy of `entry` that is strange in one to three places. */
export function mutated(entry: JsonObject, random: Random): JsonValue {
  const copy = structuredClone(entry);
  const places = random.pick([1, 1, 1, 2, 3]);
  for (let i = 0; i < places; i++) {
    if (random.chance(0.02)) return strange(random) ?? null;
    mutateOnce(copy, random);
  }
  return copy;
}

const strange = (random: Random): JsonValue | undefined => structuredClone(random.pick(strangeValues));

function mutateOnce(entry: JsonObject, random: Random): void {
  const holder = random.pick(holdersOf(entry));
  const names = Object.keys(holder);
  const name = names.length === 0 ? 'x' : random.pick(names);
  const value = holder[name];
  const change = random.next();
  if (name === 'key' && change < 0.5) holder[name] = random.pick(strangeKeys);
  else if (typeof value === 'number' && change < 0.45) holder[name] = nearby(value, random);
  else if (change < 0.6) set(holder, name, strange(random));
  else if (change < 0.75) delete holder[name];
  else if (change < 0.85) set(holder, random.pick(strangeNames), strange(random));
  else if (change < 0.93) set(holder, name, { [name]: value });
  else set(holder, name, typeof value === 'number' ? String(value) : [value ?? null]);
}

/** A number that could be: a clock that is wrong, a position on the other side of the world, a step further. */
function nearby(value: number, random: Random): number {
  return random.pick([
    () => -value,
    () => value + random.between(-1, 1),
    () => value + random.between(-90, 90),
    () => value + random.pick([-1, 1]) * random.between(1, 1e6),
    () => value * 1000,
    () => value / 1000,
    () => Math.round(value),
    () => value + random.pick([86_400, -86_400, 3600, 31_536_000, 1e-9]),
  ])();
}

function set(holder: JsonObject, name: string, value: JsonValue | undefined): void {
  // Defined, not assigned: `__proto__` becomes an own field, as in JSON.
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The entry and all objects in it. */
function holdersOf(value: JsonObject): JsonObject[] {
  const inner = Object.values(value).filter(
    (one): one is JsonObject => typeof one === 'object' && one !== null && !Array.isArray(one),
  );
  return [value, ...inner.flatMap(holdersOf)];
}

const inserts = ['NaN', '-Infinity', '1e999', '{', ']', '"', '\\u', '\u0000', '\ufeff', ',,', ':', '\\ud800', ''];

/** A JSON text with some of its characters lost, doubled or exchanged. */
export function mutatedText(text: string, random: Random): string {
  const at = Math.floor(random.between(0, text.length));
  const to = at + Math.floor(random.between(1, 20));
  const insert = random.pick(inserts);
  return random.pick([
    () => text.slice(0, at),
    () => text.slice(0, at) + insert + text.slice(at),
    () => text.slice(0, at) + insert + text.slice(to),
    () => text.slice(0, to) + text.slice(at),
    () => text.replace(/:\s*-?\d[\d.]*/, `:${insert}`),
  ])();
}

/** Pieces of text that readers must survive at any place. */
const pieces = [
  '['.repeat(100_000),
  '{"a":'.repeat(50_000),
  '<a>'.repeat(50_000),
  '&amp;&lt;&#xFFFFFF;&x;',
  '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]>',
  '"'.repeat(999),
  `"${'x'.repeat(2_000_000)}"`,
  '9'.repeat(400),
  '1e999',
  '-0001-13-45T99:99:99Z',
  '+275760-09-13T00:00:00Z',
  '\u0000',
  '\r\n\r\n',
  '{"$date":{"$numberLong":"9223372036854775807"}}',
  '{"$binary":"AAAA","$type":"03"}',
];

/** The bytes with some changed, cut off, doubled, set to zero or put between. */
export function mutatedBytes(bytes: Buffer, random: Random): Buffer {
  const at = (): number => Math.floor(random.next() * bytes.length);
  const [from, to] = [at(), at()].sort((a, b) => a - b) as [number, number];
  const bit = (copy: Buffer): Buffer => {
    for (let i = 0; i < 6; i += 1) copy[at()] = Math.floor(random.next() * 256);
    return copy;
  };
  return random.pick<() => Buffer>([
    () => bytes.subarray(0, from),
    () => Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]),
    () => Buffer.from(bytes).fill(0, from, Math.min(to, from + 40)),
    () => bit(Buffer.from(bytes)),
    () => Buffer.concat([bytes.subarray(0, from), Buffer.from(random.pick(pieces)), bytes.subarray(from)]),
    () => Buffer.from(mutatedText(bytes.toString('latin1'), random), 'latin1'),
    () => {
      // A length or a count that a binary format believes.
      const copy = Buffer.from(bytes);
      if (copy.length > 4)
        copy.writeInt32LE(random.pick([-1, 0, 4, 5, 2 ** 20, 2 ** 31 - 1]), from % (copy.length - 4));
      return copy;
    },
  ])();
}
