// Large texts as the files keep them: compressed. Those of older stores lie there as they are until they are written
// again.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** A text in a column: compressed, or as an older program wrote it. */
export type PackedText = Uint8Array | string;

/** Measured on trips and documents of recorded days: 9 gains nothing over it. */
const level = 6;

/** The text, compressed. */
export function packText(text: string): PackedText {
  return deflateRawSync(text, { level });
}

/** The text that `packText` was given. */
export function unpackText(packed: PackedText): string {
  return typeof packed === 'string' ? packed : inflateRawSync(packed).toString('utf8');
}
