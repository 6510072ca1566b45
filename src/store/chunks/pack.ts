import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';

const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;

/** Levels of Brotli: `brief` for data that is read once and removed, `lasting` for all other data. */
export const levels = { brief: 1, lasting: 4 } as const;

const window = 18; // bits: 256 KiB, enough for a chunk or batch of usual size

/** Compresses the text as UTF-8. It must not contain half a surrogate pair; JSON texts have none. */
export function packText(text: string, level: number = levels.lasting): Uint8Array {
  return brotliCompressSync(text, { params: { [BROTLI_PARAM_QUALITY]: level, [BROTLI_PARAM_LGWIN]: window } });
}

/** Decompresses a text. Throws if the bytes are damaged. */
export function unpackText(bytes: Uint8Array): string {
  return brotliDecompressSync(bytes).toString('utf8');
}

/** Compresses any JSON value. `unpackValue` restores it exactly. */
export function packValue(value: JsonValue): Uint8Array {
  return packText(jsonText(value));
}

/** Decompresses a JSON value. Throws if the bytes are damaged. */
export function unpackValue(bytes: Uint8Array): JsonValue {
  return JSON.parse(unpackText(bytes)) as JsonValue;
}
