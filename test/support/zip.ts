// ZIP archives, good and hostile.
import { crc32, deflateRawSync } from 'node:zlib';

interface Packed {
  name: string;
  content: Buffer;
  /** Overrides its entry in the directory. */
  says?: { size?: number; offset?: number; flags?: number; method?: number; crc?: number };
  zip64?: boolean;
}

/** An archive, written by hand so that it can lie. */
export function zip(...files: Packed[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, says = {}, zip64 = false } of files) {
    const data = deflateRawSync(content);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(says.flags ?? 0, 8);
    entry.writeUInt16LE(says.method ?? 8, 10);
    entry.writeUInt32LE(says.crc ?? crc32(content), 16);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt32LE(zip64 ? 0xffffffff : (says.size ?? content.length), 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(zip64 ? 12 : 0, 30);
    entry.writeUInt32LE(says.offset ?? offset, 42);
    const extra = Buffer.alloc(zip64 ? 12 : 0);
    if (zip64) {
      extra.writeUInt16LE(1, 0);
      extra.writeUInt16LE(8, 2);
      extra.writeBigUInt64LE(BigInt(content.length), 4);
    }
    parts.push(local, Buffer.from(name), data);
    directory.push(entry, Buffer.from(name), extra);
    offset += 30 + name.length + data.length;
  }
  const size = Buffer.concat(directory).length;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}
