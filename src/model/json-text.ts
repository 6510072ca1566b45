// Writes exact JSON text, and escapes texts so that every store can keep them.
import type { JsonValue } from './json.ts';

/** Keeps -0 and `1e999`, and accepts any depth. Throws a `TypeError` for values outside JSON. */
export function jsonText(value: JsonValue): string {
  return isPlain(value) ? JSON.stringify(value) : writeExactly(value);
}

const plainDepth = 200; // `JSON.stringify` of much deeper values could overflow the stack

/** False for -0, NaN and infinite numbers. */
const isPlainNumber = (value: number): boolean => (value === 0 ? 1 / value > 0 : value - value === 0);

/** True if `JSON.stringify` writes the value exactly and without overflow of the stack. */
export function isPlain(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'number':
      return isPlainNumber(value);
    case 'string':
    case 'boolean':
      return true;
    case 'object': {
      if (value === null) return true;
      if (depth > plainDepth) return false;
      if (Array.isArray(value)) {
        for (let i = 0; i < value.length; i++) {
          const item: unknown = value[i];
          // Most items are numbers, and a call for each would take twice as long.
          if (typeof item === 'number' ? !isPlainNumber(item) : !isPlain(item, depth + 1)) return false;
        }
        return true;
      }
      for (const name in value) {
        const field = (value as Record<string, unknown>)[name];
        if (field !== undefined && !isPlain(field, depth + 1)) return false;
      }
      return true;
    }
    default:
      return false;
  }
}

interface Frame {
  names: string[] | null;
  of: object;
  next: number;
}

/** Does not recurse, since deep nesting would overflow the stack. */
function writeExactly(root: unknown): string {
  const parts: string[] = [];
  const open: Frame[] = [];
  const write = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) {
      parts.push(scalarText(value));
      return;
    }
    const names = Array.isArray(value)
      ? null
      : Object.keys(value).filter((name) => (value as Record<string, unknown>)[name] !== undefined);
    parts.push(names === null ? '[' : '{');
    open.push({ names, of: value, next: 0 });
  };
  write(root);
  for (let frame = open.at(-1); frame !== undefined; frame = open.at(-1)) {
    const { names, of } = frame;
    if (frame.next === (names ?? (of as unknown[])).length) {
      parts.push(names === null ? ']' : '}');
      open.pop();
      continue;
    }
    const at = frame.next++;
    if (at > 0) parts.push(',');
    if (names !== null) parts.push(JSON.stringify(names[at]), ':');
    write(names === null ? (of as unknown[])[at] : (of as Record<string, unknown>)[names[at]!]);
  }
  return parts.join('');
}

function scalarText(value: unknown): string {
  if (typeof value === 'number') {
    if (Object.is(value, -0)) return '-0';
    if (value === Number.POSITIVE_INFINITY) return '1e999';
    if (value === Number.NEGATIVE_INFINITY) return '-1e999';
    if (!Number.isNaN(value)) return String(value);
  } else if (value === null || typeof value === 'string' || typeof value === 'boolean') {
    return JSON.stringify(value);
  }
  throw new TypeError(`expected a JSON value, found ${typeof value === 'number' ? 'NaN' : typeof value}`);
}

const needsEscape = /[\0\\\p{Surrogate}]/u;

/** Escapes characters that some engine cannot keep. Different texts stay different. */
export function escapeText(text: string): string {
  if (!needsEscape.test(text)) return text;
  return text.replace(/[\0\\\p{Surrogate}]/gu, (found) =>
    found === '\\' ? '\\\\' : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function unescapeText(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:\\|u([0-9a-f]{4}))/g, (_, code?: string) =>
    code === undefined ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
