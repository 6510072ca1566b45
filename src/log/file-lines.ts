// Reads the lines of a log file, plain or compressed, without decoding characters.
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * Reads lines from byte `start` on and yields them in groups, with their line breaks. Each character is one byte (Latin
 * 1), so the length of a line is its length in the file. The last line may have no line break. `start` must be the
 * start of a line; for a compressed file it must be 0.
 */
export async function* readLines(path: string, start = 0): AsyncGenerator<string[]> {
  const file = createReadStream(path, { start });
  const bytes = path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
  let rest = '';
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString('latin1')).split(/(?<=\n)/);
    rest = lines.at(-1)!.endsWith('\n') ? '' : lines.pop()!;
    yield lines;
  }
  if (rest !== '') yield [rest];
}
