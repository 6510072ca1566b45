import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { partsOf } from '../../util/parts-of.ts';

const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;

// Compression levels of Brotli. `brief`: for data that is read once and then removed. Level 4 takes
// twice the time of `lasting`, for 1 % fewer bytes.
export const levels = { brief: 1, lasting: 3 } as const;

const window = 18; // bits: 256 KiB, enough for a chunk or batch of usual size

/** The text must not contain half a surrogate pair; JSON texts have none. */
export function packText(text: string, level: number = levels.lasting): Uint8Array {
  return brotliCompressSync(text, { params: { [BROTLI_PARAM_QUALITY]: level, [BROTLI_PARAM_LGWIN]: window } });
}

export function unpackText(bytes: Uint8Array): string {
  return brotliDecompressSync(bytes).toString('utf8');
}

const mostCharacters = 4_000_000;

/**
 * Cuts a list into parts. A part has at most `mostEntries` elements, and fewer if its text would
 * have more than 4 million characters: a row is read, written and held in memory as a whole.
 */
export function inParts<T, R>(
  list: readonly T[],
  mostEntries: number,
  toText: (part: readonly T[]) => string,
  make: (part: readonly T[], text: string) => R,
): R[] {
  return partsOf(list, mostEntries).flatMap((part) => {
    const text = toText(part);
    if (text.length <= mostCharacters || part.length === 1) return [make(part, text)];
    return inParts(part, Math.ceil(part.length / 2), toText, make);
  });
}

export function spanOf(times: readonly (number | null)[]): { first_ts: number | null; last_ts: number | null } {
  let [first_ts, last_ts]: [number | null, number | null] = [null, null];
  for (const ts of times) {
    if (ts === null) continue;
    first_ts = Math.min(first_ts ?? ts, ts);
    last_ts = Math.max(last_ts ?? ts, ts);
  }
  return { first_ts, last_ts };
}

export const packValue = (value: JsonValue): Uint8Array => packText(jsonText(value));

export function unpackValue(bytes: Uint8Array): JsonValue {
  return JSON.parse(unpackText(bytes)) as JsonValue;
}
