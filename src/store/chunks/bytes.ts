// Numbers and texts as bytes, one after the other: written here, read here.

const longestVarint = 8; // bytes
const usualRoom = 4096; // bytes

/** Bytes that grow as they are written. */
export class ByteWriter {
  private readonly usual: number;
  private buffer: Buffer;
  private length = 0;

  /** `usual`: bytes for which there is room at first. */
  constructor(usual = usualRoom) {
    this.usual = usual;
    this.buffer = Buffer.allocUnsafe(usual);
  }

  private room(bytes: number): number {
    if (this.length + bytes > this.buffer.length) this.grow(bytes);
    const at = this.length;
    this.length += bytes;
    return at;
  }

  private grow(bytes: number): void {
    const larger = Buffer.allocUnsafe(2 * this.buffer.length + bytes);
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }

  byte(value: number): void {
    if (this.length === this.buffer.length) this.grow(1);
    this.buffer[this.length++] = value;
  }

  double(value: number): void {
    const at = this.room(8);
    this.buffer.writeDoubleLE(value, at);
  }

  /** A whole number from 0 to 2^53 in one to eight bytes, the lowest seven bits first. */
  varint(value: number): void {
    if (this.length + longestVarint > this.buffer.length) this.grow(longestVarint);
    const { buffer } = this;
    let at = this.length;
    let large = value;
    while (large > 0x7fffffff) {
      buffer[at++] = (large % 0x80) | 0x80;
      large = Math.floor(large / 0x80);
    }
    let rest = large | 0; // whole numbers of 31 bits take half the time
    while (rest >= 0x80) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>= 7;
    }
    buffer[at++] = rest;
    this.length = at;
  }

  /** A whole number of either sign, at most 2^52 from zero. */
  signed(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(value: string): void {
    const bytes = Buffer.from(value);
    this.varint(bytes.length);
    const at = this.room(bytes.length);
    bytes.copy(this.buffer, at);
  }

  /** Room for so many bytes, which the caller fills before it writes on. */
  reserve(count: number): Uint8Array {
    const at = this.room(count);
    return new Uint8Array(this.buffer.buffer, this.buffer.byteOffset + at, count);
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): void {
    const at = this.room(bytes.length);
    this.buffer.set(bytes, at);
  }

  /** Bytes, behind their number. */
  block(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** What was written. */
  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Makes the writer empty; nothing of what was written stays behind. */
  clear(): void {
    if (this.buffer.length > this.usual) this.buffer = Buffer.allocUnsafe(this.usual);
    else this.buffer.fill(0, 0, this.length);
    this.length = 0;
  }
}

/** Reads what a `ByteWriter` wrote, in the same order. Throws a `RangeError` beyond the end. */
export class ByteReader {
  private readonly buffer: Buffer;
  private at = 0;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  byte(): number {
    const byte = this.buffer[this.at];
    if (byte === undefined) throw new RangeError('the bytes end too early');
    this.at += 1;
    return byte;
  }

  double(): number {
    this.at += 8;
    return this.buffer.readDoubleLE(this.at - 8);
  }

  varint(): number {
    const { buffer } = this;
    const end = Math.min(this.at + longestVarint, buffer.length);
    let value = 0;
    let unit = 1;
    for (let at = this.at; at < end; at += 1) {
      const byte = buffer[at]!;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) {
        this.at = at + 1;
        return value;
      }
      unit *= 0x80;
    }
    throw new RangeError(`expected a number of at most ${longestVarint} bytes within what there is`);
  }

  signed(): number {
    const value = this.varint();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  text(): string {
    return this.block().toString('utf8');
  }

  /** So many bytes as a string. */
  string(encoding: 'hex' | 'latin1', count: number): string {
    const from = this.skip(count);
    return this.buffer.toString(encoding, from, from + count);
  }

  /** What `ByteWriter.block` wrote. */
  block(): Buffer {
    const length = this.varint();
    this.at += length;
    if (this.at > this.buffer.length) throw new RangeError('the bytes end too early');
    return this.buffer.subarray(this.at - length, this.at);
  }

  /** Bytes that are not read yet. */
  get left(): number {
    return this.buffer.length - this.at;
  }

  /** Where the next byte lies. */
  get place(): number {
    return this.at;
  }

  /** Leaves out so many bytes. Returns where they begin. */
  skip(count: number): number {
    this.at += count;
    if (this.at > this.buffer.length) throw new RangeError('the bytes end too early');
    return this.at - count;
  }
}
