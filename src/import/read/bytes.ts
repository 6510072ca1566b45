// Bytes of a file, or of a part of it, unpacked as they are read.
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Gunzip, InflateRaw } from 'node:zlib';

/** Bytes that are read or unpacked at a time. */
export const chunkBytes = 256 * 1024;

/** Bytes of a file from `start` to before `end`. `onBytes` is told of each chunk. */
export async function* fileBytes(
  path: string,
  onBytes: (count: number) => void,
  { start = 0, end = Number.POSITIVE_INFINITY } = {},
): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: chunkBytes, start, end: end - 1 });
  try {
    for await (const chunk of file as AsyncIterable<Buffer>) {
      onBytes(chunk.length);
      yield chunk;
    }
  } finally {
    file.destroy();
  }
}

/** Bytes as they come out of `unpack`. */
export async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  unpack: Gunzip | InflateRaw,
): AsyncGenerator<Uint8Array> {
  void pipeline(chunks, unpack).catch(() => {}); // what goes wrong is thrown where its output is read
  try {
    for await (const chunk of unpack) yield chunk as Uint8Array;
  } finally {
    unpack.destroy();
  }
}
