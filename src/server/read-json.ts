// Bytes of a request body -> JSON value. `c.req.json()` would turn a fault into a 500 and hide bytes that are not
// UTF-8.
import { isAscii, isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { type AsciiBody, viewOf } from '../intake/shape.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { atOnce, inSlices } from '../turns.ts';
import { badRequest, type Problem, tooLarge } from './problem.ts';
import { JsonSyntaxError, repairJson } from './repair-json.ts';
import {
  behindBlanks,
  closingBracket,
  comma,
  elementDepth,
  endOfElement,
  holdsMoreValues,
  maxDepth,
  mayNestDeeper,
  openingOf,
  quickElements,
  shortElement,
  withoutBlanks,
} from './scan-json.ts';

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
  /** Reads elements that are like earlier ones without parsing them. It must give just what `read` gives. */
  alike?: AlikeReader<Element>;
}

/** Knows elements by what it learned of others. */
export interface AlikeReader<Element> {
  /** The element that begins at `at`; null if it is like none before. */
  read(body: AsciiBody, at: number): Element | null;
  /** Where the element ends that `read` gave last. */
  readonly end: number;
  /** Takes notice of an element that was read from just this text. */
  learn(element: Element, text: string): void;
}

/** How much JSON is read of one body. Phones send 10,000 entries of some 25 values each. */
export interface JsonLimits {
  /** Elements of the list. */
  elements: number;
  /** Values in a body, or in one element where the list can be cut into them. */
  values: number;
}

/**
 * Limits that leave memory and time of a process bounded, whatever a body of 64 MiB holds: what is parsed in one go
 * holds up everybody. A list in a body is read element by element, so that each of them may have so many values.
 */
export const listLimits: JsonLimits = { elements: 200_000, values: 50_000 };

/** Of a large body without such a list. */
export const largeLimits: JsonLimits = { elements: 0, values: 250_000 };

/** Characters of one body that are read a second time to mend them, and places that are mended. */
const maxMended = 8 * 1024 * 1024;
const maxRepairs = 20_000; // at a time

/** Bytes of a body up to which they are kept beside its text while it is read, to know elements by. */
const keptBytes = 8 * 1024 * 1024;

/** Characters parsed between two steps. */
const parsedLength = 8 * 1024;

/** Characters up to which a body is read a second time to say where it is wrong. */
const shortBody = 256 * 1024;

/**
 * Reads a JSON text. What is merely damaged is read all the same, so that one bad byte never keeps a phone from
 * delivering the rest: see `repairJson` and `notes`. Throws a 400 `Problem` that names the position where the text
 * stops being JSON, and a 413 one for more elements or values than `limits` allow.
 */
export function readJson<Element = never>(
  bytes: Buffer,
  list?: ListReader<Element>,
  limits: JsonLimits = listLimits,
): ReadJson<Element> {
  return atOnce(new Reading(limits, list).read(bytes));
}

/** As `readJson`, and lets other calls go on in between. `letGo` is called once the bytes are needed no more. */
export async function readJsonInTurns<Element = never>(
  bytes: Buffer,
  list?: ListReader<Element>,
  limits: JsonLimits = listLimits,
  letGo: () => void = () => {},
): Promise<ReadJson<Element>> {
  return inSlices(new Reading(limits, list).read(bytes, letGo));
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

  *read(bytes: Buffer, letGo: () => void = () => {}): Generator<void, ReadJson<Element>> {
    const inAscii = isAscii(bytes);
    const text = inAscii ? bytes.toString('latin1') : decode(bytes, this.#notes);
    const body =
      inAscii && this.#list?.alike && bytes.length <= keptBytes ? { bytes, view: viewOf(bytes), text } : null;
    if (body === null) letGo();
    const listed = this.#list === undefined ? null : yield* this.#readListed(text, body, this.#list);
    if (body !== null) letGo();
    return { notes: this.#notes, ...(listed ?? this.#readWhole(text)) };
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
   * The body, where it is an object with the list as a member: element by element, so that it costs no more than its
   * longest element at a time. Null for any other body, be it JSON or not.
   */
  *#readListed(
    text: string,
    body: AsciiBody | null,
    list: ListReader<Element>,
  ): Generator<void, Listed<Element> | null> {
    const open = yield* openingOf(text, list.name);
    if (open === -1) return null;
    const elements: Element[] = [];
    const reader = body === null ? undefined : list.alike;
    const alike = body === null || reader === undefined ? () => null : alikeElements(body, reader);
    const quick = quickElements(text, open);
    let at = open;
    let pause = open + parsedLength;
    try {
      for (;;) {
        if (at > pause) {
          pause = at + parsedLength;
          yield;
        }
        const known = alike(at);
        if (known !== null) {
          elements.push(known.element);
          this.#checkElements(elements.length);
          at = known.end;
          if (known.isLast) break;
          at += 1;
          continue;
        }
        const short = quick(at);
        if (short !== null) {
          const element = list.read(short.value, short.text);
          reader?.learn(element, short.text);
          elements.push(element);
          this.#checkElements(elements.length);
          at = short.end + 1;
          continue;
        }
        const { end, values, depth } = endOfElement(text, at);
        if (values > this.#limits.values) throw this.#tooManyValues();
        const isLast = text.charCodeAt(end) === closingBracket;
        const piece = withoutBlanks(text, at, end);
        if (isLast && piece === '' && elements.length === 0) break;
        const element = this.#readElement(piece, depth, list);
        if (piece.length < shortElement) reader?.learn(element, piece);
        elements.push(element);
        this.#checkElements(elements.length);
        if (isLast) {
          at = end;
          break;
        }
        at = end + 1;
      }
    } catch (error) {
      if (!(error instanceof JsonSyntaxError || error instanceof NotMended)) throw error;
      if (text.length <= shortBody) return null;
      throw malformed(text, at + (error instanceof JsonSyntaxError ? error.offset : 0));
    }
    const value = this.#readAround(text, open, text.indexOf(']', at), list.name);
    return value === null ? null : { value, list: elements };
  }

  /** The body with an empty list; null if it is not JSON, or if these are not the elements of its list. */
  #readAround(text: string, open: number, close: number, name: string): JsonObject | null {
    const around = `${text.slice(0, open)}"${marker}"${text.slice(close)}`;
    this.#checkValues(around);
    if (mayNestDeeper(around, maxDepth)) return null;
    try {
      const body = JSON.parse(around) as JsonObject;
      // Where the marker comes out is where the elements belong: a later member of the same name replaces them.
      const found = body[name];
      return Array.isArray(found) && found[0] === marker ? { ...body, [name]: [] } : null;
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  }

  #readElement(piece: string, depth: number, list: ListReader<Element>): Element {
    if (depth <= elementDepth) {
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
    if (holdsMoreValues(text, this.#limits.values)) throw this.#tooManyValues();
  }

  #tooManyValues(): Problem {
    const { values } = this.#limits;
    const what = this.#list === undefined ? 'a body' : 'a body, and each entry in it,';
    return tooLarge(`expected ${what} of at most ${values} values; send it in smaller parts`, { limit_values: values });
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
  if (!isUtf8(bytes)) notes.push('body is not UTF-8: bad bytes read as U+FFFD');
  const text = bytes.toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** A placeholder for the elements while the rest of a body is parsed; the sender of a body cannot know it. */
const marker = randomUUID();

/** A way to elements that are like earlier ones; `end`: at the comma, or at the bracket that closes the list. */
function alikeElements<Element>(body: AsciiBody, reader: AlikeReader<Element>) {
  const { text } = body;
  return (at: number): { element: Element; end: number; isLast: boolean } | null => {
    const element = reader.read(body, behindBlanks(text, at));
    if (element === null) return null;
    const end = behindBlanks(text, reader.end);
    const isLast = text.charCodeAt(end) === closingBracket;
    return isLast || text.charCodeAt(end) === comma ? { element, end, isLast } : null;
  };
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
