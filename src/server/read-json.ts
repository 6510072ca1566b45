// Bytes of a request body -> JSON value. `c.req.json()` would turn a fault into a 500 and hide bytes that are not UTF-8.
import { isUtf8 } from 'node:buffer';
import type { JsonValue } from '../model/json.ts';
import { badRequest, type Problem } from './problem.ts';
import { JsonSyntaxError, repairJson } from './repair-json.ts';

/** Containers within containers that a body may hold: what lies deeper is kept as text, as it could exhaust stack and memory. */
export const maxDepth = 500;

export interface ReadJson {
  value: JsonValue;
  /** What had to be mended, for the log; empty for a body in order. */
  notes: string[];
}

/**
 * Reads a JSON text. What is merely damaged is read all the same, so that one bad byte never keeps a phone from delivering the
 * rest: see `repairJson` and `notes`. Throws a 400 `Problem` that names the position where the text stops being JSON.
 */
export function readJson(bytes: Uint8Array): ReadJson {
  const notes: string[] = [];
  const text = decode(bytes, notes);
  if (!hasDeepNesting(bytes)) {
    try {
      return { value: JSON.parse(text) as JsonValue, notes };
    } catch {
      // Read again below: to mend it, or to say where it is wrong.
    }
  }
  try {
    const repaired = repairJson(text, maxDepth);
    if (repaired !== text) notes.push('body held NaN, Infinity, raw control characters or deep nesting: read as text');
    return { value: JSON.parse(repaired) as JsonValue, notes };
  } catch (error) {
    throw error instanceof JsonSyntaxError ? malformed(text, error.offset) : error;
  }
}

function decode(bytes: Uint8Array, notes: string[]): string {
  if (!isUtf8(bytes)) notes.push('body is not UTF-8: bad bytes read as U+FFFD');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function malformed(text: string, offset: number): Problem {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  const found = offset >= text.length ? 'the end of the body' : 'something else';
  return badRequest(`expected JSON, found ${found} at character ${offset + 1} (line ${line}, column ${column})`);
}

const steps = new Int8Array(256);
for (const opener of ['[', '{']) steps[opener.charCodeAt(0)] = 1;
for (const closer of [']', '}']) steps[closer.charCodeAt(0)] = -1;

/** True when brackets may nest more than `maxDepth` deep; brackets within strings count too, so true is only a suspicion. */
function hasDeepNesting(bytes: Uint8Array): boolean {
  let depth = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    depth += steps[bytes[i]!]!;
    if (depth > maxDepth) return true;
  }
  return false;
}
