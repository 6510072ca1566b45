// Large texts as the files keep them: compressed. Those of older stores lie there as they are until they are written
// again.
import { pack, unpack } from './pack.ts';

/** A text in a column: compressed, or as an older program wrote it. */
export type PackedText = Uint8Array | string;

/** The text, compressed. */
export function packText(text: string): PackedText {
  return pack(Buffer.from(text));
}

/** The text that `packText` was given. */
export function unpackText(packed: PackedText): string {
  return typeof packed === 'string' ? packed : unpack(packed).toString('utf8');
}
