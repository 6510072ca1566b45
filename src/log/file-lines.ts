// The lines of one log file, plain or compressed, as bytes: for reading it, and for changing it in place.
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * The lines from a byte on, with their line breaks, many at a time. Each character is a byte, so that a line can be
 * written back unchanged. The last line may lack its line break.
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
