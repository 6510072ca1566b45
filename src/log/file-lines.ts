// Reads the lines of a log file, plain or compressed, as bytes. Both reading a log and changing it in place need this.
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * The lines that begin at byte `start` or later, with their line breaks, many at a time. Each character is one byte, so
 * that a line can be written back unchanged. The last line may have no line break.
 */
export async function* linesOf(path: string, start = 0): AsyncGenerator<string[]> {
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
