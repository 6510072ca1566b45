// Reads tar archives, possibly gzipped, file by file.
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar';
import type { Bytes } from './read/bytes.ts';
import { refuseBeyond, SourceBroken } from './source-error.ts';
import { maxEntries, maxRatio, uncheckedBytes } from './zip.ts';

export const isTar = (head: Buffer): boolean => head.toString('latin1', 257, 262) === 'ustar';

/** Each file must be read before the next. `size`: bytes of `chunks`. Throws `SourceBroken`. */
export async function* tarEntries(chunks: Bytes, size: number): AsyncGenerator<{ name: string; bytes: Bytes }> {
  const decoder = createTarDecoder({ strict: true });
  const stream = Readable.toWeb(Readable.from(limited(chunks, size))) as ReadableStream<Uint8Array>;
  const entries = stream.pipeThrough(decoder as never) as AsyncIterable<ParsedTarEntry>;
  let count = 0;
  try {
    for await (const { header, body } of entries) {
      count += 1;
      refuseBeyond(count > maxEntries, `an archive of at most ${maxEntries} files`);
      if (header.type === 'file') yield { name: header.name, bytes: body };
      if (!body.locked) await body.cancel();
    }
  } catch (error) {
    if (error instanceof SourceBroken) throw error;
    throw new SourceBroken('expected a tar archive, found a damaged or incomplete one', 'damaged', { cause: error });
  }
}

async function* limited(chunks: Bytes, size: number): Bytes {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    const isBeyond = length > uncheckedBytes && length > size * maxRatio;
    refuseBeyond(isBeyond, `an archive that unpacks to at most ${maxRatio} times its size`);
    yield chunk;
  }
}
