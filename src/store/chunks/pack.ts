import { brotliCompressSync, brotliDecompressSync, constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { partsOf } from '../../util/parts-of.ts';

const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;

// Compression levels of Brotli. `brief`: for data that is read once and then removed. Level 4 takes
// twice the time of `lasting`, for 1 % fewer bytes.
export const levels = { brief: 1, lasting: 3 } as const;

const window = 18; // bits: 256 KiB, enough for a chunk or batch of usual size

const mark = 254; // first byte of short texts; with this window, no text packed by Brotli has it

const longestShort = 8_000; // characters; Brotli packs longer texts as well as Deflate, but faster

/** What short texts have in common. Stored rows are read with exactly this text: never change it. */
const phrases = [
  '"]],"columns":[{"all":"rw-document"},{"all":"message"},{"all":"android"},{"all":null},{"all":',
  '-1},{"all":0},{"decimals":5,"steps":[17,"count":1}]}{"shapes":[{"paths":[["write_ts"],["ts"],',
  '["received_ts"],["entry","metadata","key"],["entry","metadata","type"],["entry","metadata",',
  '"platform"],["entry","metadata","write_ts"],["entry","metadata","read_ts"],["entry",',
  '"metadata","time_zone"],["entry","data","zone_guessed":false,"start_loc":[,"end_loc":[,',
  '"sections":[{"id":"","start_ts":17,"end_ts":17,"sensed_mode":"PredictedModeTypes.WALKING",',
  '"mode_confidence":1,"mode_probabilities":{"WALKING":1},"source":"StateSequence","duration":,',
  '"distance":,"estimated":,"coordinates":[[,"altitudes":[,"times":[17,"speeds":[0,"distances":',
  '[0,]}],"stops":[],"evidence":{"model":"states-2","start":"geofence","end":"movement",',
  '"ended_by":"dwell","left_out":{}},"start_place":{"id":"","location":[,"raw_places":[""],',
  '"enter_ts":17,"enter_zone":"","ending_trip":"","source":"StateSequence"},"end_place":',
  '"untracked":null,"carry":{"resume_ts":17,"started":false,"needs_from":17,"raw_place":"seen":',
  '{"at":[,"at_ts":17,"machine":true,"phone":"waits","reports":0,"stay":null,"ts":17}}}',
];
export const dictionary = Buffer.from(phrases.join(''));

/** The text must not contain half a surrogate pair; JSON texts have none. */
export function packText(text: string, level: number = levels.lasting): Uint8Array {
  if (text.length <= longestShort)
    return Buffer.concat([Buffer.of(mark), deflateRawSync(text, { dictionary, level: 5 })]);
  return brotliCompressSync(text, { params: { [BROTLI_PARAM_QUALITY]: level, [BROTLI_PARAM_LGWIN]: window } });
}

/** Also reads short texts that older versions packed by Brotli. */
export function unpackText(bytes: Uint8Array): string {
  if (bytes[0] !== mark) return brotliDecompressSync(bytes).toString('utf8');
  return inflateRawSync(bytes.subarray(1), { dictionary }).toString('utf8');
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
