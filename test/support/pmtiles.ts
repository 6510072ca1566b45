// Files of tiles in the format PMTiles, as small as a test needs them.
import { gzipSync } from 'node:zlib';

/** From tile id `id` on, `run` tiles have this image. */
export interface TileRun {
  id: number;
  run: number;
  image: Uint8Array;
}

export const greyPixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGN4BAAA7ADryKHFcQAAAABJRU5ErkJggg==',
  'base64',
);

/** The bytes of a file with these tiles. `leaves`: each tile has its own directory. */
export function pmtiles(
  tiles: readonly TileRun[],
  { leaves = false, minZoom = 0, maxZoom = 18, attribution = '<a href="x">&copy; Nobody</a>', kind = 2 } = {},
): Buffer {
  const images = Buffer.concat(tiles.map(({ image }) => image));
  const offsetOf = (i: number): number => tiles.slice(0, i).reduce((sum, { image }) => sum + image.length, 0);
  const entries = tiles.map(({ id, run, image }, i) => ({ id, run, length: image.length, offset: offsetOf(i) }));
  const parts = leaves ? entries.map((entry) => directory([entry])) : [];
  let end = 0;
  const pointers = entries.map(({ id }, i) => {
    const { length } = parts[i] ?? { length: 0 };
    end += length;
    return { id, run: 0, length, offset: end - length };
  });
  const root = directory(leaves ? pointers : entries);
  const metadata = gzipSync(JSON.stringify({ attribution }));
  const head = Buffer.alloc(127);
  head.write('PMTiles', 'latin1');
  head[7] = 3;
  let at = head.length;
  for (const [i, part] of [root, metadata, Buffer.concat(parts), images].entries()) {
    head.writeBigUInt64LE(BigInt(at), 8 + 16 * i);
    head.writeBigUInt64LE(BigInt(part.length), 16 + 16 * i);
    at += part.length;
  }
  head.set([2, 1, kind, minZoom, maxZoom], 97);
  return Buffer.concat([head, root, metadata, ...parts, images]);
}

function directory(entries: readonly { id: number; run: number; length: number; offset: number }[]): Buffer {
  const numbers = [
    entries.length,
    ...entries.map(({ id }, i) => id - (entries[i - 1]?.id ?? 0)),
    ...entries.map(({ run }) => run),
    ...entries.map(({ length }) => length),
    ...entries.map(({ offset }) => offset + 1),
  ];
  return gzipSync(Buffer.from(numbers.flatMap(varint)));
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
