// Facts about the entries of a chunk, stored before its packed text. Readers need not unpack that.
//
//     bytes of a chunk    | 255 | length | head, JSON | steps between times | packed text |
//     without facts       | packed text |                                   its first byte is never 255
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import { sourceOf } from '../../model/sources.ts';
import type { ChunkFacts } from '../store.ts';

export interface StoredEntry {
  readonly entry: Entry;
  readonly write_ts: number;
  /** Data time; null if the entry has none. */
  readonly ts: number | null;
  /** When the service first received an entry with this identity. */
  readonly received_ts: number;
}

/** First byte of chunks with facts. In a packed text, it would mean a larger window of Brotli. */
const mark = 255;

const located: readonly string[] = [keys.location, keys.filteredLocation];
const factual: ReadonlySet<string> = new Set([...located, keys.transition]);

/** `bytes`: length of the steps between times. `unit`: times are whole multiples of 1/`unit` s. */
interface Head extends Omit<ChunkFacts, 'times'> {
  bytes: number;
  unit: number;
}

/** The values of `unit` to try: phones send times in ms or in µs. */
const units = [1e3, 1e6];

export function withFacts(key: string, list: readonly StoredEntry[], packed: Uint8Array): Uint8Array {
  const facts = factual.has(key) ? factsOf(list, located.includes(key)) : null;
  if (facts === null) return packed;
  const { times, ...rest } = facts;
  for (const unit of units) {
    const steps = packTimes(times, unit);
    if (steps === null) continue;
    const head = Buffer.from(JSON.stringify({ ...rest, unit, bytes: steps.length } satisfies Head));
    return head.length > mark ? packed : Buffer.concat([Buffer.of(mark, head.length), head, steps, packed]);
  }
  return packed;
}

/** Splits a stored chunk. The function `facts` reads its facts; null: the chunk has none. */
export function splitFacts(bytes: Uint8Array): { packed: Uint8Array; facts: () => ChunkFacts | null } {
  if (bytes[0] !== mark) return { packed: bytes, facts: () => null };
  const begin = 2 + bytes[1]!;
  const { bytes: length, unit, ...rest } = JSON.parse(Buffer.from(bytes.subarray(2, begin)).toString()) as Head;
  const steps = bytes.subarray(begin, begin + length);
  return { packed: bytes.subarray(begin + length), facts: () => ({ ...rest, times: unpackTimes(steps, unit) }) };
}

/** Returns the facts of a chunk; null: its entries differ in source, or a location is invalid. */
function factsOf(list: readonly StoredEntry[], areLocated: boolean): ChunkFacts | null {
  const facts: ChunkFacts = { times: [], source: sourceOf(list[0]!.entry), ahead: 0, behind: 0 };
  for (const { entry, write_ts, ts, received_ts } of list) {
    const { latitude, longitude } = entry.data as JsonObject;
    if (sourceOf(entry) !== facts.source) return null;
    if (typeof entry.data.ts === 'number') facts.behind = Math.max(facts.behind, entry.data.ts - write_ts);
    facts.ahead = Math.max(facts.ahead, write_ts - received_ts);
    if (!areLocated) continue;
    if (ts === null || typeof latitude !== 'number' || typeof longitude !== 'number') return null;
    facts.times.push(ts);
  }
  facts.times.sort((a, b) => a - b);
  return facts;
}

/**
 * The differences between ascending times as variable-length integers: 7 bits in each byte, the
 * lowest first. null: a time is no multiple of 1/`unit` s.
 */
function packTimes(times: readonly number[], unit: number): Uint8Array | null {
  const bytes = new Uint8Array(8 * times.length); // a safe integer has 53 bits, at most 8 bytes of 7 bits
  let [length, before] = [0, 0];
  for (const ts of times) {
    const whole = Math.round(ts * unit);
    if (!(whole >= 0 && whole <= Number.MAX_SAFE_INTEGER && whole / unit === ts)) return null;
    let step = whole - before;
    for (; step >= 128; step = Math.floor(step / 128)) bytes[length++] = 128 + (step % 128);
    bytes[length++] = step;
    before = whole;
  }
  return bytes.subarray(0, length);
}

function unpackTimes(bytes: Uint8Array, unit: number): number[] {
  const times: number[] = [];
  let [whole, power] = [0, 1];
  for (const byte of bytes) {
    whole += (byte % 128) * power;
    power *= 128;
    if (byte >= 128) continue;
    times.push(whole / unit);
    power = 1;
  }
  return times;
}
