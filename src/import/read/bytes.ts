// Reads bytes of files, and unpacks them while reading.
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Gunzip, InflateRaw } from 'node:zlib';

export const chunkBytes = 256 * 1024;

export const fileBytes = (path: string, onBytes: (count: number) => void): AsyncGenerator<Uint8Array> =>
  countBytes(createReadStream(path, { highWaterMark: chunkBytes }), onBytes);

/** Passes chunks on; `onBytes` gets the size of each. */
export async function* countBytes(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}

export async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  unpack: Gunzip | InflateRaw,
): AsyncGenerator<Uint8Array> {
  void pipeline(chunks, unpack).catch(() => {}); // errors reach the reader of the output
  try {
    for await (const chunk of unpack) yield chunk as Uint8Array;
  } finally {
    unpack.destroy();
  }
}
