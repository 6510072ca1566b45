import { escapeText } from './json-text.ts';

/**
 * Compares keys and names by code points, after `escapeText`. Stores compare the bytes of escaped texts, which gives
 * the same order.
 */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : compareEscaped(escapeText(a), escapeText(b));
}

function compareEscaped(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/**
 * The rank of a UTF-16 unit in the order of code points: characters beyond U+FFFF consist of two units from D800 to
 * DFFF, but come after E000 to FFFF.
 */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
