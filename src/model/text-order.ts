import { escapeText } from './json-text.ts';

/** Compares keys and names by code points, after `escapeText`. Stores compare the bytes of escaped texts. */
export function compareTexts(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(escapeText(one)), Buffer.from(escapeText(other)));
}
