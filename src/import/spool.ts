// Keeps files of archives that can only be read sequentially in one temporary file. Its name is
// removed at once, so that the system deletes the file however the program ends.
import { randomUUID } from 'node:crypto';
import { openSync, read, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Bytes, chunkBytes, type OnBytes } from './read/bytes.ts';
import { refuseBeyond } from './source-error.ts';

const readAt = promisify(read);

export type FilePart = { file: number; start: number; size: number };

export class Spool {
  readonly #most: number; // bytes
  #file: number | null = null;
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `SourceBroken` if the file would exceed its maximum size. */
  async append(chunks: Bytes): Promise<FilePart> {
    if (this.#file === null) {
      const path = join(tmpdir(), `mobility-import-${randomUUID()}`);
      this.#file = openSync(path, 'wx+', 0o600);
      unlinkSync(path);
    }
    const start = this.#size;
    for await (const chunk of chunks) {
      refuseBeyond(this.#size + chunk.length > this.#most, `archives that unpack to at most ${this.#most} bytes`);
      for (let at = 0; at < chunk.length; ) at += writeSync(this.#file, chunk, at, chunk.length - at, this.#size + at);
      this.#size += chunk.length;
    }
    return { file: this.#file, start, size: this.#size - start };
  }
}

/** Uses no stream of Node, which would close the shared file if its reader stops early. */
export async function* partBytes({ file, start, size }: FilePart, onBytes: OnBytes = () => {}): Bytes {
  for (let at = 0; at < size; ) {
    const length = Math.min(chunkBytes, size - at);
    const { bytesRead, buffer } = await readAt(file, Buffer.allocUnsafe(length), 0, length, start + at);
    if (bytesRead === 0) return;
    at += bytesRead;
    onBytes(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
}
