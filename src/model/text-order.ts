import { escapeText } from './json-text.ts';

/** Compares by code points, as stores compare the bytes of escaped texts. */
export function compareTexts(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(escapeText(one)), Buffer.from(escapeText(other)));
}
