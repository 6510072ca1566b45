// Texts and JSON values as compressed bytes: the one form of everything that is stored as bytes.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';

/** Levels of deflate: `brief` for what is read once and removed, `lasting` for everything else. */
export const levels = { brief: 1, lasting: 6 } as const;

/** The text in UTF-8, compressed. It must hold no half characters: JSON texts have none. */
export function packText(text: string, level: number = levels.lasting): Uint8Array {
  return deflateRawSync(text, { level });
}

/** The text that was packed. Throws if the bytes are damaged. */
export function unpackText(bytes: Uint8Array): string {
  return inflateRawSync(bytes).toString('utf8');
}

/** Any JSON value, compressed: `unpackValue` gives it back exactly. */
export function packValue(value: JsonValue): Uint8Array {
  return packText(jsonText(value));
}

/** The value that was packed. Throws if the bytes are damaged. */
export function unpackValue(bytes: Uint8Array): JsonValue {
  return JSON.parse(unpackText(bytes)) as JsonValue;
}
