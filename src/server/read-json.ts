// Bytes of a request body -> JSON value. `c.req.json()` would turn a fault into a 500 and hide bytes that are not
// UTF-8.
import { isAscii, isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { badRequest, type Problem, tooLarge } from './problem.ts';
import { JsonSyntaxError, repairJson } from './repair-json.ts';

/**
 * Containers within containers that a body may hold: what lies deeper is kept as text, as it could exhaust stack and
 * memory.
 */
export const maxDepth = 500;

/** A body as read from its text. */
export interface ReadJson<Element = never> {
  value: JsonValue;
  /** What the list holds, where one was asked for and the body has it; `value` has an empty one in its place. */
  list: Element[];
  /** What had to be mended, for the log; empty for a body in order. */
  notes: string[];
}

/**
 * How to read a member of the outermost object that may be a long list: its elements are parsed and handed on one by
 * one, so that they are never all in memory as objects.
 */
export interface ListReader<Element> {
  name: string;
  /**
   * Pure. `text`: the JSON text of the element just as it came, where that is certain. May be called again for the same
   * one.
   */
  read(element: JsonValue, text: string | null): Element;
}

/** How much JSON is read of one body. Phones send 10,000 entries of some 25 values each. */
export interface JsonLimits {
  /** Elements of the list. */
  elements: number;
  /** Values in a body, or in one element where the list can be cut into them. */
  values: number;
}

/** Limits that leave memory and time of a process bounded, whatever a body of 64 MiB holds. */
export const jsonLimits: JsonLimits = { elements: 200_000, values: 500_000 };

/** Characters of one body that are read a second time to mend them, and places that are mended. */
const maxMended = 8 * 1024 * 1024;
const maxRepairs = 100_000;

/** Characters of a list that are read before others get their turn. */
const turnLength = 1024 * 1024;

/**
 * Reads a JSON text. What is merely damaged is read all the same, so that one bad byte never keeps a phone from
 * delivering the rest: see `repairJson` and `notes`. Throws a 400 `Problem` that names the position where the text
 * stops being JSON, and a 413 one for more elements or values than `limits` allow.
 */
export function readJson<Element = never>(
  bytes: Buffer,
  list?: ListReader<Element>,
  limits: JsonLimits = jsonLimits,
): ReadJson<Element> {
  const steps = new Reading(limits, list).read(bytes);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** As `readJson`, and lets other calls go on in between. */
export async function readJsonInTurns<Element = never>(
  bytes: Buffer,
  list?: ListReader<Element>,
  limits: JsonLimits = jsonLimits,
): Promise<ReadJson<Element>> {
  const steps = new Reading(limits, list).read(bytes);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** The reading of one body. Its generators yield where others may have their turn. */
class Reading<Element> {
  readonly #limits: JsonLimits;
  readonly #list: ListReader<Element> | undefined;
  readonly #notes: string[] = [];
  #mended = 0;

  constructor(limits: JsonLimits, list: ListReader<Element> | undefined) {
    this.#limits = limits;
    this.#list = list;
  }

  *read(bytes: Buffer): Generator<void, ReadJson<Element>> {
    const text = decode(bytes, this.#notes);
    const listed = this.#list === undefined ? null : yield* this.#readListed(text, this.#list);
    return { ...(listed ?? this.#readWhole(text)), notes: this.#notes };
  }

  #readWhole(text: string): Listed<Element> {
    this.#checkValues(text);
    let offset: number | null = null;
    if (!mayNestDeeper(text, maxDepth)) {
      try {
        return this.#takeList(JSON.parse(text) as JsonValue);
      } catch (error) {
        // Read again below: to mend it, or to say where it is wrong.
        if (!(error instanceof SyntaxError)) throw error;
        offset = Number(/at position (\d+)/.exec(error.message)?.[1] ?? text.length);
      }
    }
    try {
      return this.#takeList(JSON.parse(this.#mend(text, maxDepth)) as JsonValue);
    } catch (error) {
      if (error instanceof JsonSyntaxError) throw malformed(text, error.offset);
      throw error instanceof NotMended ? malformed(text, offset ?? text.length) : error;
    }
  }

  /** The text with what can be mended. Throws `JsonSyntaxError`, or `NotMended` where too much would have to be. */
  #mend(text: string, depth: number): string {
    this.#mended += text.length;
    if (this.#mended > maxMended) throw new NotMended();
    const repaired = repairJson(text, depth, maxRepairs);
    if (repaired !== text && this.#notes.at(-1) !== mendedNote) this.#notes.push(mendedNote);
    return repaired;
  }

  #takeList(value: JsonValue): Listed<Element> {
    const list = this.#list;
    if (list === undefined || !isJsonObject(value)) return { value, list: [] };
    const elements = value[list.name];
    if (!Array.isArray(elements)) return { value, list: [] };
    this.#checkElements(elements.length);
    return { value: { ...value, [list.name]: [] }, list: elements.map((element) => list.read(element, null)) };
  }

  /**
   * The body, where its list can be cut into elements without reading it first: as phones write it, without blanks,
   * each element an object that begins with the same name. Null for any other body, be it JSON or not.
   */
  *#readListed(text: string, list: ListReader<Element>): Generator<void, Listed<Element> | null> {
    const { name } = list;
    const open = text.indexOf(`"${name}":[{"`) + name.length + 4;
    const close = text.lastIndexOf(']');
    if (open < name.length + 4 || close < open) return null;
    try {
      const around = `${text.slice(0, open)}"${marker}"${text.slice(close)}`;
      this.#checkValues(around);
      if (mayNestDeeper(around, maxDepth)) return null;
      const body = JSON.parse(around) as JsonObject;
      const found = body[name];
      // Where the marker comes out is where the elements belong; it could be another list, or one that a later one
      // replaces.
      if (!Array.isArray(found) || found[0] !== marker) return null;
      return { value: { ...body, [name]: [] }, list: yield* this.#readElements(text, open, close, list) };
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof JsonSyntaxError || error instanceof NotMended) return null;
      throw error;
    }
  }

  /**
   * Cuts at each comma before an element that begins as the first one does. A cut may be a wrong one, in a list within
   * an element; but if all pieces are JSON, be it after mending, they are the elements: it can be read in one way only.
   * Throws if one is not.
   */
  *#readElements(text: string, open: number, close: number, list: ListReader<Element>): Generator<void, Element[]> {
    const firstName = text.slice(open, text.indexOf('"', open + 2) + 1);
    const between = `},${firstName}`;
    const elements: Element[] = [];
    let turn = open + turnLength;
    for (let start = open; start < close; ) {
      const cut = text.indexOf(between, start);
      const end = cut === -1 || cut >= close ? close : cut + 1;
      const piece = text.slice(start, end);
      this.#checkValues(piece);
      elements.push(this.#readElement(piece, list));
      this.#checkElements(elements.length);
      start = end + 1;
      if (start > turn) {
        turn = start + turnLength;
        yield;
      }
    }
    return elements;
  }

  #readElement(piece: string, list: ListReader<Element>): Element {
    if (!mayNestDeeper(piece, elementDepth)) {
      try {
        return list.read(JSON.parse(piece) as JsonValue, piece);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
    const mended = this.#mend(piece, elementDepth);
    return list.read(JSON.parse(mended) as JsonValue, mended === piece ? piece : null);
  }

  #checkValues(text: string): void {
    const { values } = this.#limits;
    if (!holdsMoreValues(text, values)) return;
    throw tooLarge(`expected a body of at most ${values} values; send it in smaller parts`, { limit_values: values });
  }

  #checkElements(count: number): void {
    const { elements } = this.#limits;
    if (count <= elements) return;
    throw tooLarge(`expected at most ${elements} entries in one call; send them in smaller parts`, {
      limit_entries: elements,
    });
  }
}

/** A body and the list taken out of it. */
type Listed<Element> = Pick<ReadJson<Element>, 'value' | 'list'>;

/** Too much of a body is damaged. */
class NotMended extends Error {}

const mendedNote = 'body held NaN, Infinity, raw control characters or deep nesting: read as text';

function decode(bytes: Buffer, notes: string[]): string {
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) notes.push('body is not UTF-8: bad bytes read as U+FFFD');
  const text = bytes.toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

const elementDepth = maxDepth - 2; // within the list, within the body

/** Stands for the elements while the rest of a body is parsed; nobody who sends a body can know it. */
const marker = randomUUID();

const steps = new Int8Array(256);
for (const opener of ['[', '{']) steps[opener.charCodeAt(0)] = 1;
for (const closer of [']', '}']) steps[closer.charCodeAt(0)] = -1;

/**
 * True when containers may nest deeper in a text, if it is JSON. Brackets within strings count too: true is only a
 * suspicion.
 */
function mayNestDeeper(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false; // each container takes two characters
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    depth += steps[text.charCodeAt(i)] ?? 0;
    if (depth > limit) return true;
  }
  return false;
}

/**
 * True when a text, if it is JSON, holds more values than that: elements and members, counted by their commas and
 * openings outside strings. Stops where it is sure.
 */
function holdsMoreValues(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false; // a value and what parts it from the next take two characters
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
    } else if (code === 0x2c || code === 0x5b || code === 0x7b) {
      values += 1;
      if (values > limit) return true;
    }
  }
  return false;
}

/** Where the string that opens here closes; the end of the text where it does not. */
function endOfString(text: string, open: number): number {
  for (let i = open + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) i += 1;
    else if (code === 0x22) return i;
  }
  return text.length;
}

function malformed(text: string, offset: number): Problem {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    lineStart = at + 1;
  }
  const column = offset - lineStart + 1;
  const found = offset >= text.length ? 'the end of the body' : 'something else';
  return badRequest(`expected JSON, found ${found} at character ${offset + 1} (line ${line}, column ${column})`);
}
