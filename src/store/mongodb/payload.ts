// Which form a payload takes in a row: a native document where BSON holds it exactly, else JSON text, in parts when it
// is large.
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';

/**
 * BSON documents end at 16 MiB (documented); a row holds at most two payloads. Larger ones become parts of JSON text in
 * documents of their own.
 */
export const inlineLimit = 6 * 2 ** 20; // bytes

/** UTF-16 units of a part of text: at most three bytes each, so that a part stays below 12 MiB. */
export const partLength = 4_000_000;

/** MongoDB documents 100 levels of nesting; statements around a payload take some of them. */
export const nestingLimit = 80;

/** A payload as it is stored, apart from the value it was made of; `bytes` is about what it takes. */
export type Stored =
  | { form: 'native'; value: JsonValue; bytes: number }
  | { form: 'text'; text: string; bytes: number }
  | { form: 'parts'; parts: string[]; bytes: number };

/** The form that `value` takes. */
export function toStored(value: JsonValue): Stored {
  const size = { bytes: 0 };
  const copy = copyExact(value, 0, size);
  if (copy !== inexact && size.bytes <= inlineLimit) return { form: 'native', value: copy, bytes: size.bytes };
  const text = jsonText(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= inlineLimit) return { form: 'text', text, bytes };
  return { form: 'parts', parts: splitText(text), bytes };
}

/** Stands for a value that BSON, a server or the driver would not give back as it is. */
const inexact = Symbol('inexact');

const loneSurrogate = /\p{Surrogate}/u;

/** Names that are not kept, or that BSON, a server or the driver reads in a way of their own. */
const unsafeName = /^$|^\$|[.\0]|\p{Surrogate}|^__proto__$|^_bsontype$/u;

/** A copy of `value`, counting its bytes as BSON. What the caller does to the value afterwards is not stored. */
function copyExact(value: JsonValue, depth: number, size: { bytes: number }): JsonValue | typeof inexact {
  size.bytes += 8;
  if (typeof value === 'string') {
    size.bytes += Buffer.byteLength(value);
    return loneSurrogate.test(value) ? inexact : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= nestingLimit || size.bytes > inlineLimit) return inexact;
  return Array.isArray(value) ? copyList(value, depth, size) : copyObject(value, depth, size);
}

function copyList(list: readonly JsonValue[], depth: number, size: { bytes: number }): JsonValue | typeof inexact {
  const copies: JsonValue[] = [];
  for (const item of list) {
    size.bytes += 2 + String(copies.length).length;
    const copy = copyExact(item, depth + 1, size);
    if (copy === inexact) return inexact;
    copies.push(copy);
  }
  return copies;
}

function copyObject(object: JsonObject, depth: number, size: { bytes: number }): JsonValue | typeof inexact {
  const copies: JsonObject = {};
  for (const name of Object.keys(object)) {
    const item = object[name];
    if (item === undefined) continue;
    if (unsafeName.test(name)) return inexact;
    size.bytes += 2 + Buffer.byteLength(name);
    const copy = copyExact(item, depth + 1, size);
    if (copy === inexact) return inexact;
    copies[name] = copy;
  }
  return copies;
}

/** Cuts text into parts, never inside a surrogate pair. */
function splitText(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + partLength, text.length);
    if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end -= 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}
