// JSON values as the files keep them: as bytes of their own form. Those of older stores are JSON text, compressed or as
// it is, until they are written again.
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { pack, unpack } from './pack.ts';
import { readValue } from './read-value.ts';
import { Unwritable, writeValue } from './write-value.ts';

/** A value in a column. */
export type PackedValue = Uint8Array | string;

/** First byte of a value that is no compressed text: no deflate begins with it, its block would be of no known kind. */
const asValue = 7;

/** Used again for each value: room of its own for each would be most of the work for the collector of garbage. */
const writer = new ByteWriter(32 * 1024);

/** The value as bytes. Throws a `TypeError` for what is outside JSON. */
export function packValue(value: JsonValue): Uint8Array {
  try {
    writer.byte(asValue);
    writeValue(writer, value);
    return Buffer.from(writer.bytes());
  } catch (error) {
    if (!(error instanceof Unwritable)) throw error;
    return pack(Buffer.from(jsonText(value)));
  } finally {
    writer.clear();
  }
}

/** The value that `packValue` was given. */
export function unpackValue(packed: PackedValue): JsonValue {
  if (typeof packed === 'string') return JSON.parse(packed) as JsonValue;
  if (packed[0] !== asValue) return JSON.parse(unpack(packed).toString('utf8')) as JsonValue;
  const reader = new ByteReader(Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength));
  reader.byte();
  const value = readValue(reader);
  if (reader.left > 0) throw new RangeError('bytes follow the value');
  return value;
}

/** True where a column has the value whose bytes are `bytes`: an older program wrote others for it. */
export function isPackedAs(packed: PackedValue, value: JsonValue, bytes: Uint8Array): boolean {
  if (typeof packed !== 'string' && packed[0] === bytes[0]) return Buffer.compare(packed, bytes) === 0;
  return jsonText(unpackValue(packed)) === jsonText(value);
}
