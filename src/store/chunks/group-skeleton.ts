// The entry that the literals of a group of texts make, with a mark for each value between them.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';

/** Stands for a value; what follows it is the number of its column. No text has it where there is a skeleton. */
export const mark = '\u0001';

const [quote, backslash] = [0x22, 0x5c];

/** The text of a group, with a mark for each value. */
export interface Skeleton {
  metadata: JsonObject;
  data: JsonObject;
  /** Of each column, true for values within quotes. */
  quoted: boolean[];
}

/** The entry that the literals make; null where they make none, or it is not certain to be the entry of each text. */
export function skeletonOf(literals: readonly Uint8Array[]): Skeleton | null {
  let text = '';
  let inString = false;
  const quoted: boolean[] = [];
  for (const [i, bytes] of literals.entries()) {
    const literal = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    if (literal.includes(mark) || literal.includes('\\u0001')) return null;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!; // of UTF-8, other characters have no such bytes in them
      if (byte === quote) inString = !inString;
      else if (byte === backslash && inString) at += 1;
      if (at === bytes.length) return null; // what the backslash escapes is in the value
    }
    text += literal;
    if (i === literals.length - 1) break;
    quoted.push(inString);
    text += inString ? `\\u0001${i};` : `"\\u0001${i};"`;
  }
  try {
    const root = JSON.parse(text) as JsonValue;
    if (!isJsonObject(root)) return null;
    const { metadata, data } = root;
    if (!isJsonObject(metadata) || !isJsonObject(data)) return null;
    // A name that differs between texts may be any.
    const areNamed = [root, metadata, data].every((object) =>
      Object.keys(object).every((name) => !name.includes(mark)),
    );
    return areNamed ? { metadata, data, quoted } : null;
  } catch {
    return null;
  }
}
