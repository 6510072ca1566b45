// Bytes of a request body -> JSON value. `c.req.json()` would turn a fault into a 500 and hide bytes that are not UTF-8.
import { isAscii, isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { badRequest, type Problem } from './problem.ts';
import { JsonSyntaxError, repairJson } from './repair-json.ts';

/** Containers within containers that a body may hold: what lies deeper is kept as text, as it could exhaust stack and memory. */
export const maxDepth = 500;

export interface ReadJson<Element = never> {
  value: JsonValue;
  /** What the list holds, where one was asked for and the body has it; `value` has an empty one in its place. */
  list: Element[];
  /** What had to be mended, for the log; empty for a body in order. */
  notes: string[];
}

/**
 * How to read a member of the outermost object that may be a long list: its elements are parsed and handed on one by one, so that they
 * are never all in memory as objects.
 */
export interface ListReader<Element> {
  name: string;
  /** Pure. `text`: the JSON text of the element just as it came, where that is certain. May be called again for the same one. */
  read(element: JsonValue, text: string | null): Element;
}

/**
 * Reads a JSON text. What is merely damaged is read all the same, so that one bad byte never keeps a phone from delivering the
 * rest: see `repairJson` and `notes`. Throws a 400 `Problem` that names the position
 * where the text stops being JSON.
 */
export function readJson<Element = never>(bytes: Buffer, list?: ListReader<Element>): ReadJson<Element> {
  const notes: string[] = [];
  const text = decode(bytes, notes);
  const listed = list === undefined ? null : readListed(text, list);
  if (listed !== null) return { ...listed, notes };
  if (!mayNestDeeper(text, maxDepth)) {
    try {
      return { ...takeList(JSON.parse(text) as JsonValue, list), notes };
    } catch (error) {
      // Read again below: to mend it, or to say where it is wrong.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  try {
    const repaired = repairJson(text, maxDepth);
    if (repaired !== text) notes.push('body held NaN, Infinity, raw control characters or deep nesting: read as text');
    return { ...takeList(JSON.parse(repaired) as JsonValue, list), notes };
  } catch (error) {
    throw error instanceof JsonSyntaxError ? malformed(text, error.offset) : error;
  }
}

function decode(bytes: Buffer, notes: string[]): string {
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) notes.push('body is not UTF-8: bad bytes read as U+FFFD');
  const text = bytes.toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** A body and the list taken out of it. */
type Listed<Element> = Pick<ReadJson<Element>, 'value' | 'list'>;

function takeList<Element>(value: JsonValue, list: ListReader<Element> | undefined): Listed<Element> {
  if (list === undefined || !isJsonObject(value)) return { value, list: [] };
  const elements = value[list.name];
  if (!Array.isArray(elements)) return { value, list: [] };
  return { value: { ...value, [list.name]: [] }, list: elements.map((element) => list.read(element, null)) };
}

// ---------------------------------------------------------------- a list, element by element

const elementDepth = maxDepth - 2; // within the list, within the body

/** Stands for the elements while the rest of a body is parsed; nobody who sends a body can know it. */
const marker = randomUUID();

/**
 * The body, where its list can be cut into elements without reading it first: as phones write it, without blanks, each element an
 * object that begins with the same name. Null for any other body, be it JSON or not.
 */
function readListed<Element>(text: string, list: ListReader<Element>): Listed<Element> | null {
  const { name } = list;
  const open = text.indexOf(`"${name}":[{"`) + name.length + 4;
  const close = text.lastIndexOf(']');
  if (open < name.length + 4 || close < open) return null;
  try {
    const around = `${text.slice(0, open)}"${marker}"${text.slice(close)}`;
    if (mayNestDeeper(around, maxDepth)) return null;
    const body = JSON.parse(around) as JsonObject;
    const found = body[name];
    // Where the marker comes out is where the elements belong; it could be another list, or one that a later one replaces.
    if (!Array.isArray(found) || found[0] !== marker) return null;
    const elements = readElements(text, open, close, list);
    return elements === null ? null : { value: { ...body, [name]: [] }, list: elements };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/**
 * Cuts at each comma before an element that begins as the first one does. A cut may be a wrong one, in a list within an element; but
 * if all pieces are JSON, they are the elements: JSON can be read in one way only. Throws a `SyntaxError` if one is not. Null where one
 * may nest too deep.
 */
function readElements<Element>(text: string, open: number, close: number, list: ListReader<Element>): Element[] | null {
  const firstName = text.slice(open, text.indexOf('"', open + 2) + 1);
  const between = `},${firstName}`;
  const elements: Element[] = [];
  for (let start = open; start < close; ) {
    const cut = text.indexOf(between, start);
    const end = cut === -1 || cut >= close ? close : cut + 1;
    const piece = text.slice(start, end);
    if (mayNestDeeper(piece, elementDepth)) return null;
    elements.push(list.read(JSON.parse(piece) as JsonValue, piece));
    start = end + 1;
  }
  return elements;
}

const steps = new Int8Array(256);
for (const opener of ['[', '{']) steps[opener.charCodeAt(0)] = 1;
for (const closer of [']', '}']) steps[closer.charCodeAt(0)] = -1;

/** True when containers may nest deeper in a text, if it is JSON. Brackets within strings count too: true is only a suspicion. */
function mayNestDeeper(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false; // each container takes two characters
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    depth += steps[text.charCodeAt(i)] ?? 0;
    if (depth > limit) return true;
  }
  return false;
}

function malformed(text: string, offset: number): Problem {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  const found = offset >= text.length ? 'the end of the body' : 'something else';
  return badRequest(`expected JSON, found ${found} at character ${offset + 1} (line ${line}, column ${column})`);
}
