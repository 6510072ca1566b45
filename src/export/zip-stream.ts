// Makes a ZIP archive while it is sent: sizes and checksums follow each file (APPNOTE 6.3.10).
//
//   header, packed bytes, crc and sizes  |  header, packed bytes, crc and sizes  |  directory of both
import { PassThrough, type Writable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import type { Writer } from './columns.ts';
import type { ExportFile } from './export-tables.ts';

/** Writing stops when the reader stops. */
export const zipStream = (make: (file: ExportFile) => Promise<unknown>): AsyncGenerator<Uint8Array> =>
  streamOf(async (writer) => {
    const archive = new Archive(writer);
    await make((name, fill) => archive.file(name, fill));
    await archive.end();
  });

/** The bytes that `fill` writes, as they become ready. `fill` fails when the reader stops. */
export async function* streamOf(fill: (writer: Writer) => Promise<unknown>): AsyncGenerator<Uint8Array> {
  const out = new PassThrough();
  const made = fill({ write: (piece) => send(out, Buffer.from(piece as string)) }).then(
    () => out.end(),
    (error: Error) => out.destroy(error),
  );
  try {
    for await (const piece of out) yield piece as Uint8Array;
  } finally {
    out.destroy();
    await made;
  }
}

const send = (stream: Writable, piece: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(piece, (error) => (error ? reject(error) : resolve()));
  });

/** Flags: sizes follow the file, and names are UTF-8. Method: deflate. Date: 1980-01-01. */
const fixed = { version: 20, flags: 0x0808, method: 8, time: 0, date: 0x21 };
const mostBytes = 0xffff_ffff;

class Archive {
  readonly #out: Writer;
  readonly #directory: Buffer[] = [];
  #offset = 0;

  constructor(out: Writer) {
    this.#out = out;
  }

  async file(name: string, fill: (writer: Writer) => Promise<void>): Promise<void> {
    const at = this.#offset;
    const label = Buffer.from(name);
    await this.#send(Buffer.concat([header(0x04034b50, [], [0, 0, 0], label.length), label]));
    const began = this.#offset;
    const deflate = createDeflateRaw();
    let [crc, size] = [0, 0];
    const sent = (async () => {
      for await (const piece of deflate) await this.#send(piece as Buffer);
    })();
    const filled = fill({
      write: (piece) => {
        const bytes = Buffer.from(piece as string);
        crc = crc32(bytes, crc);
        size += bytes.length;
        return send(deflate, bytes);
      },
    }).then(
      () => deflate.end(),
      (error: Error) => deflate.destroy(error),
    );
    await Promise.all([sent, filled]);
    const sums = [crc, this.#offset - began, size];
    if (Math.max(...sums, this.#offset) >= mostBytes) throw new Error('expected an archive below 4 GiB, found more');
    const follows = Buffer.alloc(16);
    for (const [i, value] of [0x08074b50, ...sums].entries()) follows.writeUInt32LE(value, i * 4);
    await this.#send(follows);
    const last = Buffer.alloc(14); // no comment, no attributes
    last.writeUInt32LE(at, 10);
    this.#directory.push(header(0x02014b50, [fixed.version], sums, label.length), last, label);
  }

  async end(): Promise<void> {
    const [list, count] = [Buffer.concat(this.#directory), this.#directory.length / 3];
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50);
    end.writeUInt16LE(count, 8);
    end.writeUInt16LE(count, 10);
    end.writeUInt32LE(list.length, 12);
    end.writeUInt32LE(this.#offset, 16);
    await this.#send(Buffer.concat([list, end]));
  }

  async #send(piece: Buffer): Promise<void> {
    this.#offset += piece.length;
    await this.#out.write(piece);
  }
}

function header(signature: number, before: readonly number[], sums: readonly number[], name: number): Buffer {
  const shorts = [...before, ...Object.values(fixed)];
  const buffer = Buffer.alloc(4 + shorts.length * 2 + 16);
  buffer.writeUInt32LE(signature);
  for (const [i, value] of shorts.entries()) buffer.writeUInt16LE(value, 4 + i * 2);
  const at = 4 + shorts.length * 2;
  for (const [i, value] of sums.entries()) buffer.writeUInt32LE(value, at + i * 4);
  buffer.writeUInt16LE(name, at + 12);
  return buffer;
}
