// Reads bytes and lines of files, and unpacks them while reading.
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import type { Gunzip, InflateRaw } from 'node:zlib';

export type OnBytes = (count: number) => void;
export type Bytes = AsyncIterable<Uint8Array>;

export const chunkBytes = 256 * 1024;

export const fileBytes = (path: string, onBytes: OnBytes): Bytes =>
  countBytes(createReadStream(path, { highWaterMark: chunkBytes }), onBytes);

export async function* countBytes(chunks: Bytes, onBytes: OnBytes): Bytes {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}

export async function* unpacked(chunks: Bytes, unpack: Gunzip | InflateRaw): Bytes {
  void pipeline(chunks, unpack).catch(() => {}); // errors reach the reader of the output
  try {
    for await (const chunk of unpack) yield chunk as Uint8Array;
  } finally {
    unpack.destroy();
  }
}

/** Characters. The rest of a longer line is left out, so that memory does not depend on the file. */
const maxLineLength = 1024 * 1024;

/** The number of the first line is 1. Invalid bytes become U+FFFD. */
export async function* fileLines(chunks: Bytes): AsyncGenerator<{ number: number; text: string }> {
  const decoder = new StringDecoder('utf8');
  let number = 1;
  let rest = '';
  for await (const chunk of chunks) {
    const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = rest.length < maxLineLength ? rest + text.slice(start, end) : rest;
      yield { number, text: trimmed(line, number) };
      number += 1;
      rest = '';
      start = end + 1;
    }
    if (rest.length < maxLineLength) rest += text.slice(start, start + maxLineLength);
  }
  rest += decoder.end();
  if (rest !== '') yield { number, text: trimmed(rest, number) };
}

function trimmed(line: string, number: number): string {
  const start = number === 1 && line.startsWith('\ufeff') ? 1 : 0;
  return line.slice(start, line.endsWith('\r') ? -1 : undefined);
}
