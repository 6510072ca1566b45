// Converts values of MongoDB, in BSON or one of its dialects of JSON, to plain JSON.
import { BSON } from 'mongodb';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';

/** Reads 16 bytes or 32 hex characters. null: the value is not a UUID. */
export function uuidOf(value: unknown): string | null {
  if (value instanceof BSON.Binary) {
    // Languages order the bytes of subtype 3 differently: Python (e-mission) as in subtype 4.
    const isUuid = (value.sub_type === 3 || value.sub_type === 4) && value.position === 16;
    return isUuid ? dashed(Buffer.from(value.buffer.subarray(0, 16)).toString('hex')) : null;
  }
  if (typeof value === 'string') return dashed(value.replaceAll('-', '').toLowerCase());
  if (!isJsonObject(value)) return null;
  if (value.$uuid !== undefined) return uuidOf(value.$uuid);
  const bytes = isJsonObject(value.$binary) ? value.$binary.base64 : value.$binary;
  return typeof bytes === 'string' ? dashed(Buffer.from(bytes, 'base64').toString('hex')) : null;
}

function dashed(hex: string): string | null {
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(hex);
  return parts === null ? null : parts.slice(1).join('-');
}

/** The time in an object id, seconds since the epoch. null: the value is not an object id. */
export function idTime(value: unknown): number | null {
  const hex = value instanceof BSON.ObjectId ? value.toHexString() : isJsonObject(value) ? value.$oid : null;
  return typeof hex === 'string' && /^[0-9a-f]{24}$/i.test(hex) ? Number.parseInt(hex.slice(0, 8), 16) : null;
}

export function plainDocument(document: object): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, plainValue(value)]));
}

/** Dates become seconds since the epoch. Ids, UUIDs, NaN and infinities become texts. */
export function plainValue(value: unknown): JsonValue {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.getTime() / 1000;
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== 'object') return null;
  if ('_bsontype' in value) return plainBson(value);
  return plainExtended(value as JsonObject) ?? plainDocument(value);
}

function plainBson(value: object): JsonValue {
  if (value instanceof BSON.ObjectId) return value.toHexString();
  if (value instanceof BSON.Binary) return uuidOf(value) ?? Buffer.from(value.value()).toString('base64');
  if (value instanceof BSON.Long || value instanceof BSON.Int32 || value instanceof BSON.Double)
    return plainValue(Number(value));
  if (value instanceof BSON.Decimal128) return plainValue(Number(value.toString()));
  if (value instanceof BSON.BSONSymbol) return value.value;
  return String(value); // code, regular expressions and other types that entries do not have
}

/** Converts Extended JSON such as `{"$oid": "65f0…"}`. undefined: `value` is another object. */
function plainExtended(value: JsonObject): JsonValue | undefined {
  const name = Object.keys(value)[0];
  if (name === undefined || !name.startsWith('$')) return undefined;
  const inner = value[name];
  if (name === '$oid') return String(inner);
  if (name === '$uuid' || name === '$binary')
    return uuidOf(value) ?? String(isJsonObject(inner) ? inner.base64 : inner);
  if (/^\$number(Int|Long|Double|Decimal)$/.test(name)) return plainValue(Number(inner));
  if (name !== '$date') return undefined;
  const ms = typeof inner === 'string' ? Date.parse(inner) : Number(plainValue(inner));
  return plainValue(ms / 1000);
}
