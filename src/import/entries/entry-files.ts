// Reads files of entries: exports, answers of `find_entries`, bodies of pushes, and BSON.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { entryOf, isDerived, withoutIds } from '../emission/database.ts';
import { bsonDocuments } from '../emission/dump.ts';
import { uuidOf } from '../emission/values.ts';
import type { FileFormat, Found, SourceReadOptions } from '../import-format.ts';
import { jsonLines, jsonRecords } from '../read/json-records.ts';
import type { SourceFile } from '../source.ts';

export const entryFile: FileFormat = {
  name: 'entries',
  recognises: (file) => (isOfLines(file) || isOfLists(file)) && /"write_ts"\s*:/.test(file.head.toString('utf8')),
  names: ({ head }) => (/"user_id"\s*:/.test(head.toString('utf8')) ? 'uuids' : 'none'),
  read: readEntries,
};

export const bsonFile: FileFormat = {
  name: 'bson',
  names: 'uuids',
  recognises: ({ name, head }) => name.endsWith('.bson') && head.length >= 5 && head.readInt32LE(0) >= 5,
  read: async function* readBson(file, { onBytes }) {
    const collection = file.name.replace(/\.bson$/, '');
    for await (const document of bsonDocuments(file, onBytes))
      yield typeof document === 'string' ? { unread: document } : entryOf(document, collection);
  },
};

const isOfLines = ({ head }: SourceFile): boolean => {
  const text = head.toString('utf8').trimStart();
  return /^\{\s*"(_id|user_id|metadata|data)"\s*:/.test(text) && /^[^\n]*"metadata"\s*:\s*\{/.test(text);
};

const listStart = /^\s*(\[|\{\s*("user"\s*:\s*"[^"]*"\s*,\s*)?"(phone_data|phone_to_server)"\s*:\s*\[)/;
const isOfLists = ({ head }: SourceFile): boolean =>
  listStart.test(head.toString('utf8')) && /"metadata"\s*:\s*\{/.test(head.toString('utf8'));

async function* readEntries(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const record of isOfLines(file) ? jsonLines(file, onBytes) : jsonRecords(file, onBytes)) {
    yield 'unread' in record ? record : entryFound(record.value, record.where);
  }
}

function entryFound(value: JsonValue, where: string): Found {
  if (!isJsonObject(value)) return { owner: null, entry: value };
  const { user_id, received_ts } = value;
  const uuid = user_id === undefined ? null : uuidOf(user_id);
  // Tools of MongoDB write ids, and give names such as `$date` a meaning. In an entry of a phone,
  // such names have no meaning and stay unchanged.
  const isForeign = user_id !== undefined || value._id !== undefined;
  const entry = isForeign ? withoutIds(value) : value;
  if (entry === null) return { unread: `expected an entry at ${where}, found one that is nested too deeply` };
  if (isDerived(value.metadata as JsonObject | undefined))
    return { skipped: String((value.metadata as JsonObject).key) };
  const owner = uuid === null ? null : { uuid };
  return { owner, entry, ...(typeof received_ts === 'number' && { received_ts }) };
}
