// Parses a body in slices, its list element by element, within limits of values and depth.
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../model/json.ts';
import { inSlices } from '../util/slices.ts';
import { badRequest, type Problem, tooLarge } from './problem.ts';
import { maxDepth, openingOf, quickElements, scan } from './scan-json.ts';

export interface ReadJson<Element = never> {
  value: JsonValue; // the body, with the requested list emptied
  list: Element[]; // the elements of the requested list
}

/** A member of the outermost object that may be a long list. */
export interface ListReader<Element> {
  name: string;
  /** Gets each element. If an element is not JSON or nests too deeply, gets its text instead. */
  read(element: JsonValue): Element;
}

/** Limits for the JSON in one body. Phones send 10,000 entries with about 25 values each. */
export interface JsonLimits {
  elements: number; // elements of the list
  /** Values in the body, and in each list element. Other calls wait while an element is parsed. */
  values: number;
}

/** Limits of a body with a list, of a large body without a list, and of a call that pushes nothing. */
export const listLimits: JsonLimits = { elements: 200_000, values: 50_000 };
export const largeLimits: JsonLimits = { elements: 0, values: 250_000 };
export const smallLimits: JsonLimits = { elements: 0, values: 50_000 };

// An element is within the list and the body, which are two levels.
const elementDepth = maxDepth - 2;

// Characters. Each value and each level takes at least two, so a shorter element is within the limits.
const shortElement = 2 * elementDepth;
const parsedLength = 8 * 1024; // characters that are parsed in one step
const keptLength = 64 * 1024; // characters that are kept of an element that is not JSON

const mostUnreadable = 10_000; // elements that are not JSON, since reading such elements takes longer

/** Throws a `Problem`: 400 for invalid or deeply nested JSON, 413 beyond the other limits. */
export async function readJson<Element = never>(
  text: string,
  list?: ListReader<Element>,
  limits: JsonLimits = listLimits,
): Promise<ReadJson<Element>> {
  const listed = list === undefined ? null : await inSlices(readListed(text, list, limits));
  if (listed !== null) return listed;
  const value = parseWithin(text, limits);
  const elements = list !== undefined && isJsonObject(value) ? value[list.name] : undefined;
  if (list === undefined || !Array.isArray(elements)) return { value, list: [] };
  checkElements(elements.length, limits);
  return { value: { ...(value as JsonObject), [list.name]: [] }, list: elements.map(list.read) };
}

/** Returns null if `openingOf` finds no list; the body may still be JSON. */
function* readListed<Element>(
  text: string,
  list: ListReader<Element>,
  limits: JsonLimits,
): Generator<void, ReadJson<Element> | null> {
  const open = yield* openingOf(text, list.name);
  if (open === -1) return null;
  const elements: Element[] = [];
  const quick = quickElements(text, open, shortElement);
  let [close, unreadable] = [-1, 0];
  let pause = open + parsedLength;
  for (let at = open; close === -1; ) {
    if (at > pause) {
      pause = at + parsedLength;
      yield;
    }
    const short = quick(at);
    if (short !== null) {
      elements.push(list.read(short.value));
      at = short.end + 1;
    } else {
      const { end, values, depth } = scan(text, at, 0, limits.values);
      if (values > limits.values) throw tooManyValues(limits);
      const isLast = text[end] === ']';
      if (!isLast && text[end] !== ',') throw malformed(text);
      const piece = text.slice(at, end).trim();
      if (isLast) close = end;
      if (isLast && piece === '' && elements.length === 0) break;
      const value = depth <= elementDepth ? parseJson(piece) : undefined;
      if (value === undefined) unreadable += 1;
      if (unreadable > mostUnreadable)
        throw badRequest(`expected entries as JSON, found more than ${mostUnreadable} elements that are not JSON`);
      elements.push(list.read(value === undefined ? piece.slice(0, keptLength) : value));
      at = end + 1;
    }
    checkElements(elements.length, limits);
  }
  // If a later member of the same name replaced the list, the marker is missing. Then the caller
  // must parse the body as a whole.
  const value = parseWithin(`${text.slice(0, open)}"${marker}"${text.slice(close)}`, limits) as JsonObject;
  const found = value[list.name];
  if (!Array.isArray(found) || found[0] !== marker) return null;
  return { value: { ...value, [list.name]: [] }, list: elements };
}

/** A text that replaces the list while the rest of the body is parsed. No body can contain it. */
const marker = randomUUID();

function parseWithin(text: string, limits: JsonLimits): JsonValue {
  // Each value and each level takes two characters or more, so a shorter text is within the limits.
  if (text.length > 2 * Math.min(maxDepth, limits.values)) {
    const { values, depth } = scan(text, 0, -1, limits.values);
    if (values > limits.values) throw tooManyValues(limits);
    if (depth > maxDepth) throw badRequest(`expected JSON that nests at most ${maxDepth} deep, found more`);
  }
  const value = parseJson(text);
  if (value === undefined) throw malformed(text);
  return value;
}

const shownLength = 256 * 1024; // characters; no position is found for an error in a longer body

/** Takes only the position from V8's message: the message also contains a part of the body. */
function malformed(text: string): Problem {
  if (text.length > shownLength || text.includes(marker)) return badRequest('expected JSON, found a syntax error');
  let offset: string | undefined;
  try {
    JSON.parse(text);
  } catch (error) {
    offset = /at position (\d+)/.exec((error as Error).message)?.[1];
  }
  if (offset === undefined) return badRequest('expected JSON, found a syntax error or a body that ends too early');
  const before = text.slice(0, Number(offset)).split('\n');
  const place = `character ${Number(offset) + 1} (line ${before.length}, column ${before.at(-1)!.length + 1})`;
  return badRequest(`expected JSON, found a syntax error at ${place}`);
}

function checkElements(count: number, { elements: most }: JsonLimits): void {
  if (count > most)
    throw tooLarge(`expected at most ${most} entries in one call; send them in smaller parts`, { limit_entries: most });
}

function tooManyValues({ elements, values }: JsonLimits): Problem {
  const what = elements === 0 ? 'a body' : 'a body, and each entry in it,';
  return tooLarge(`expected ${what} of at most ${values} values; send it in smaller parts`, { limit_values: values });
}
