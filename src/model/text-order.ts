import { escapeText } from './json-text.ts';

/**
 * Compares keys and names by code points, after `escapeText`. Stores compare the bytes of escaped texts, which gives
 * the same order.
 */
export function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  const [a, b] = [escapeText(one), escapeText(other)];
  let i = 0;
  while (a.charCodeAt(i) === b.charCodeAt(i)) i += 1;
  return rankAt(a, i) - rankAt(b, i);
}

/**
 * The rank of a UTF-16 unit in the order of code points: characters beyond U+FFFF consist of two units from D800 to
 * DFFF, but come after E000 to FFFF. -1 after the end.
 */
function rankAt(text: string, index: number): number {
  if (index === text.length) return -1;
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
