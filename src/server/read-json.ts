// Bytes of a request body -> JSON value. `c.req.json()` would turn a fault into a 500 and hide bytes that are not UTF-8.
import { isAscii, isUtf8 } from 'node:buffer';
import { isJsonObject, type JsonValue } from '../model/json.ts';
import { badRequest, type Problem } from './problem.ts';
import { JsonSyntaxError, repairJson } from './repair-json.ts';
import { type ListPlace, scanJson } from './scan-json.ts';

/** Containers within containers that a body may hold: what lies deeper is kept as text, as it could exhaust stack and memory. */
export const maxDepth = 500;

export interface ReadJson {
  value: JsonValue;
  /** What had to be mended, for the log; empty for a body in order. */
  notes: string[];
}

/**
 * How to read a long list in a body: its elements are parsed and handed on a few at a time, so that they need not all be in memory
 * as objects. A member of the outermost object named `name`, if it is a list, has what `read` made of each element.
 */
export interface ListReader {
  name: string;
  /** Pure. `text`: the JSON text of the element just as it came, where that is certain. May be called again for the same one. */
  read(element: JsonValue, text: string | null): unknown;
}

/**
 * Reads a JSON text. What is merely damaged is read all the same, so that one bad byte never keeps a phone from delivering the
 * rest: see `repairJson` and `notes`. Throws a 400 `Problem` that names the position where the text stops being JSON.
 */
export function readJson(body: Buffer, list?: ListReader): ReadJson {
  const bytes = body.subarray(0, 3).equals(byteOrderMark) ? body.subarray(3) : body;
  const { shallow, list: place } = scanJson(bytes, maxDepth, list?.name ?? null);
  if (shallow && isUtf8(bytes)) {
    try {
      return { value: readSound(bytes, list, place), notes: [] };
    } catch (error) {
      // Read again below: to mend it, or to say where it is wrong.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return readDamaged(bytes, list);
}

const byteOrderMark = Buffer.from('\ufeff', 'utf8');

/** Throws a `SyntaxError` for what is no JSON. */
function readSound(bytes: Buffer, list: ListReader | undefined, place: ListPlace | null): JsonValue {
  const slice = slicer(bytes);
  const elements = list === undefined || place === null ? null : readElements(place, slice, list);
  if (elements === null) return withList(JSON.parse(slice(0, bytes.length)) as JsonValue, list);
  const { open, close } = place!;
  const around = JSON.parse(slice(0, open + 1) + slice(close, bytes.length)) as Record<string, unknown>;
  around[list!.name] = elements;
  return around as JsonValue;
}

function readDamaged(bytes: Buffer, list: ListReader | undefined): ReadJson {
  const notes: string[] = [];
  if (!isUtf8(bytes)) notes.push('body is not UTF-8: bad bytes read as U+FFFD');
  const text = bytes.toString('utf8');
  try {
    const repaired = repairJson(text, maxDepth);
    if (repaired !== text) notes.push('body held NaN, Infinity, raw control characters or deep nesting: read as text');
    return { value: withList(JSON.parse(repaired) as JsonValue, list), notes };
  } catch (error) {
    throw error instanceof JsonSyntaxError ? malformed(text, error.offset) : error;
  }
}

function withList(value: JsonValue, list: ListReader | undefined): JsonValue {
  if (list === undefined || !isJsonObject(value)) return value;
  const elements = value[list.name];
  if (!Array.isArray(elements)) return value;
  return { ...value, [list.name]: elements.map((element) => list.read(element, null)) } as JsonValue;
}

type Slice = (start: number, end: number) => string;

/** Cuts text out of bytes that are UTF-8. */
function slicer(bytes: Buffer): Slice {
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8';
  return (start, end) => bytes.toString(encoding, start, end);
}

/** Elements parsed at once: enough to be fast, few enough to be young garbage. */
const chunkElements = 256;

/** Null when the list is empty or holds something beside containers. Throws a `SyntaxError` for what is no JSON. */
function readElements(place: ListPlace, slice: Slice, list: ListReader): unknown[] | null {
  const { open, close, spans } = place;
  const elements: unknown[] = [];
  let behind = open + 1;
  for (let at = 0; at < spans.length; at += 2 * chunkElements) {
    const last = Math.min(at + 2 * chunkElements, spans.length) - 1;
    const [start, end] = [spans[at]!, spans[last]!];
    if (!(at === 0 ? /^[ \t\n\r]*$/ : /^[ \t\n\r]*,[ \t\n\r]*$/).test(slice(behind, start))) return null;
    const text = slice(start, end);
    const chunk = JSON.parse(`[${text}]`) as JsonValue[];
    if (2 * chunk.length !== last + 1 - at) return null;
    const isAsciiText = text.length === end - start;
    for (const [i, element] of chunk.entries()) {
      const [from, to] = [spans[at + 2 * i]!, spans[at + 2 * i + 1]!];
      elements.push(list.read(element, isAsciiText ? text.slice(from - start, to - start) : slice(from, to)));
    }
    behind = end;
  }
  return elements.length > 0 && /^[ \t\n\r]*$/.test(slice(behind, close)) ? elements : null;
}

function malformed(text: string, offset: number): Problem {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  const found = offset >= text.length ? 'the end of the body' : 'something else';
  return badRequest(`expected JSON, found ${found} at character ${offset + 1} (line ${line}, column ${column})`);
}
