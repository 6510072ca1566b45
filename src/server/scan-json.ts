// Where the parts of a JSON text begin and end: the list in a body and its elements, without parsing what lies between.
import type { JsonValue } from '../model/json.ts';
import { JsonSyntaxError } from './repair-json.ts';

/**
 * Containers within containers that a body may hold: what lies deeper is kept as text, as it could exhaust stack and
 * memory.
 */
export const maxDepth = 500;

/** The same of an element: it lies within the list, within the body. */
export const elementDepth = maxDepth - 2;

/** So short a text holds neither many values nor deep ones: each takes two characters. */
export const shortElement = 2 * elementDepth;

const steps = new Int8Array(256);
for (const opener of ['[', '{']) steps[opener.charCodeAt(0)] = 1;
for (const closer of [']', '}']) steps[closer.charCodeAt(0)] = -1;

/**
 * True when containers may nest deeper in a text, if it is JSON. Brackets within strings count too: true is only a
 * suspicion.
 */
export function mayNestDeeper(text: string, limit: number): boolean {
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
export function holdsMoreValues(text: string, limit: number): boolean {
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
  for (let i = text.indexOf('"', open + 1); i !== -1; i = text.indexOf('"', i + 1)) {
    let before = i - 1;
    while (text.charCodeAt(before) === 0x5c) before -= 1;
    if ((i - before) % 2 === 1) return i; // an even number of backslashes
  }
  return text.length;
}

const quote = 0x22;
/** What follows an element of a list. */
export const [comma, closingBracket] = [0x2c, 0x5d];
const scanLength = 64 * 1024; // characters looked at between two steps

/**
 * Behind the bracket that opens the list which is the first member of that name in an object; -1 where there is none.
 * Knows a name only as it is written in full.
 */
export function* openingOf(text: string, name: string): Generator<void, number> {
  const start = new RegExp(`"${name}"[ \\t\\n\\r]*:[ \\t\\n\\r]*\\[`, 'y');
  let depth = 0;
  let pause = scanLength;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      if (depth === 1) {
        start.lastIndex = i;
        if (start.test(text)) return start.lastIndex;
      }
      i = endOfString(text, i);
    } else {
      depth += steps[code] ?? 0;
    }
    if (i > pause) {
      pause = i + scanLength;
      yield;
    }
  }
  return -1;
}

/**
 * Where an element of a list ends: at its comma, or at the bracket that closes the list. Throws `JsonSyntaxError`, its
 * offset from `start`, where the text ends before or something else is closed.
 */
export function endOfElement(text: string, start: number): { end: number; values: number; depth: number } {
  let values = 0;
  let deepest = 0;
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      i = endOfString(text, i);
      continue;
    }
    const step = steps[code] ?? 0;
    if (step > 0) {
      depth += 1;
      if (depth <= elementDepth) values += 1; // what lies deeper becomes text
      if (depth > deepest) deepest = depth;
    } else if (step < 0) {
      if (depth === 0 && code === closingBracket) return { end: i, values, depth: deepest };
      if (depth === 0) throw new JsonSyntaxError(i - start);
      depth -= 1;
    } else if (code === 0x2c) {
      if (depth === 0) return { end: i, values, depth: deepest };
      if (depth <= elementDepth) values += 1;
    }
  }
  throw new JsonSyntaxError(text.length - start);
}

/** A short element, where it is certain where it ends. */
type Quick = (at: number) => { value: JsonValue; text: string; end: number } | null;

/**
 * A way to short elements that all begin with the same name, as phones write them, without blanks: it looks for the
 * beginning of the next one. Where the text up to there is JSON it is the whole element, since an object ends only
 * once.
 */
export function quickElements(text: string, open: number): Quick {
  const begin = /\{"[^"\\]*"/y;
  begin.lastIndex = open;
  const first = begin.exec(text)?.[0];
  if (first === undefined) return () => null;
  const between = `},${first}`;
  let cut = -1;
  return (at) => {
    if (cut < at) {
      cut = text.indexOf(between, at);
      if (cut === -1) cut = text.length;
    }
    if (cut === text.length || cut - at >= shortElement) return null;
    const piece = text.slice(behindBlanks(text, at), cut + 1);
    try {
      return { value: JSON.parse(piece) as JsonValue, text: piece, end: cut + 1 };
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  };
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Behind the blanks that begin here. */
export function behindBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** The text between two places, without the blanks around it. */
export function withoutBlanks(text: string, start: number, end: number): string {
  const from = Math.min(behindBlanks(text, start), end);
  let to = end;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}
