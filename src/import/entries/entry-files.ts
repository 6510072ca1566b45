// Files of entries: JSON lines of `mobility export`, the JSON of `find_entries` and of e-mission's scripts, bodies of
// pushes, BSON.
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { isJsonObject } from '../../model/json.ts';
import { entryOf, isDerived, withoutIds } from '../emission/database.ts';
import { bsonDocuments } from '../emission/dump.ts';
import { uuidOf } from '../emission/values.ts';
import type { FileFormat, Found, Naming, SourceReadOptions } from '../format.ts';
import { jsonElements } from '../read/json-elements.ts';
import { fileLines } from '../read/lines.ts';
import type { SourceFile } from '../source.ts';

/** One entry on each line, as `mobility export --entries` and `mongoexport` write them. */
export const entryLines: FileFormat = {
  name: 'entries-lines',
  title: 'entries as JSON lines',
  recognises: ({ head }) =>
    /^\s*\{\s*"(_id|user_id|metadata|data)"\s*:/.test(head.toString('utf8')) &&
    /^[^\n]*"metadata"\s*:\s*\{/.test(head.toString('utf8').trimStart()),
  names: namingOf,
  read: readLines,
};

/** A list of entries, or an object with such a list in it. */
export const entryList: FileFormat = {
  name: 'entries-json',
  title: 'entries as a JSON list, as find_entries, pushes and scripts of e-mission have them',
  recognises: ({ head }) => {
    const text = head.toString('utf8');
    return (
      /^\s*(\[|\{\s*("user"\s*:\s*"[^"]*"\s*,\s*)?"(phone_data|phone_to_server)"\s*:\s*\[)/.test(text) &&
      /"metadata"\s*:\s*\{/.test(text)
    );
  },
  names: namingOf,
  read: readList,
};

/** One collection of a dump on its own. */
export const bsonFile: FileFormat = {
  name: 'bson',
  title: 'one collection of e-mission as BSON',
  names: 'uuids',
  recognises: ({ name, head }) => name.endsWith('.bson') && head.length >= 5 && head.readInt32LE(0) >= 5,
  read: readBson,
};

function namingOf({ head }: SourceFile): Naming {
  return /"user_id"\s*:/.test(head.toString('utf8')) ? 'uuids' : 'nobody';
}

async function* readLines(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { text, number } of fileLines(file.bytes(onBytes))) {
    if (text.trim() !== '') yield found(text, `line ${number}`);
  }
}

async function* readList(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { text, reason, listed, offset } of jsonElements(file.bytes(onBytes))) {
    if (!listed) continue; // a value beside the list, such as the name of a user
    yield text === null ? { unread: `the entry at byte ${offset} is ${reason}` } : found(text, `byte ${offset}`);
  }
}

async function* readBson(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  const collection = file.name.replace(/\.bson$/, '');
  for await (const document of bsonDocuments(file, onBytes)) {
    yield typeof document === 'string' ? { unread: document } : entryOf(document, collection);
  }
}

/** What the text of an entry holds. A text that is no JSON belongs to nobody. */
function found(text: string, where: string): Found {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return { unread: `expected a JSON object at ${where}, found something else` };
  }
  if (!isJsonObject(value)) return { of: null, entry: value };
  const { user_id, received_ts } = value;
  const uuid = user_id === undefined ? null : uuidOf(user_id);
  // Only what tools of MongoDB write has dollar names that stand for something; a payload of a phone stays as it is.
  const isForeign = user_id !== undefined || value._id !== undefined;
  const entry = isForeign ? withoutIds(value) : text;
  if (entry === null) return { unread: `the entry at ${where} is nested too deep` };
  if (isDerived(value.metadata as JsonObject | undefined)) return { left: String((value.metadata as JsonObject).key) };
  return {
    of: uuid === null ? null : { uuid },
    entry,
    ...(typeof received_ts === 'number' && { received_ts }),
  };
}
