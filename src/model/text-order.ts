// The order of keys and names, the same in every store.
import { escapeText } from './json-text.ts';

/**
 * Sorts texts by code points; a NUL or half a character counts as the escape that `escapeText` gives for it. Engines
 * compare the bytes of texts stored in this form in the same order.
 */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : compareEscaped(escapeText(a), escapeText(b));
}

/** The same for two texts that come out of `escapeText`. */
function compareEscaped(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/**
 * UTF-16 stores a character beyond U+FFFF as two units from D800 to DFFF. By number they come before E000 to FFFF; by
 * code point the character comes after them.
 */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
