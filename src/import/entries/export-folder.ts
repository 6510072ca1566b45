// Reads the folder of a user that `mobility export --out` wrote, with rejected entries and the times
// when a service first received each entry.
import { join } from 'node:path';
import { isUuid } from '../../model/ids.ts';
import { isJsonObject, type JsonValue, parseJsonObject } from '../../model/json.ts';
import type { ErrorRow } from '../../store/store.ts';
import type { FolderFormat, Found, Owner, SourceReadOptions } from '../import-format.ts';
import { jsonLines } from '../read/json-records.ts';
import { openSourceFile, type SourceFolder } from '../source.ts';
import { SourceBroken } from '../source-error.ts';

/** Converts a value of each file; null: `export` cannot have written the value. */
const valueIn: Record<string, (value: JsonValue, owner: Owner) => Found | null> = {
  'entries.jsonl': (entry, owner) => {
    const { received_ts } = isJsonObject(entry) ? entry : {};
    return { owner, entry, ...(typeof received_ts === 'number' && { received_ts }) };
  },
  'errors.jsonl': (value, owner) => {
    const error = errorRowOf(value);
    return error && { owner, error };
  },
  'documents.jsonl': (value, owner) => {
    const { key, write_ts, data } = isJsonObject(value) ? value : {};
    const isDocument = typeof key === 'string' && typeof write_ts === 'number' && data !== undefined;
    return isDocument ? { owner, document: { key, write_ts, data } } : null;
  },
};

/** Trips are not read, since the pipeline derives them from the entries. */
export const exportFolder: FolderFormat = {
  name: 'export',
  names: 'people',
  recognises: ({ names }) => names.includes('user.json') && names.includes('entries.jsonl'),
  files: ({ names }) => Object.keys(valueIn).filter((name) => names.includes(name)),
  read: readExport,
};

async function* readExport(folder: SourceFolder, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  const { owner, profile } = await readUser(folder);
  yield { owner, person: true };
  if (profile !== null) yield { owner, profile };
  for (const name of exportFolder.files(folder)) {
    const path = join(folder.path, name);
    for await (const record of jsonLines(await openSourceFile(path), onBytes)) {
      if ('unread' in record) yield { unread: `${path}: ${record.unread}` };
      else {
        const unread = `expected a line that export wrote in ${path}, ${record.where}, found another value`;
        yield valueIn[name]!(record.value, owner) ?? { unread };
      }
    }
  }
}

async function readUser(folder: SourceFolder) {
  const { path, size, head } = await openSourceFile(join(folder.path, 'user.json'));
  const { uuid, user_email, update_ts, profile } = parseJsonObject(head.toString('utf8')) ?? {};
  if (typeof uuid !== 'string' || !isUuid(uuid) || typeof user_email !== 'string') {
    const found = size > head.length ? `${size} bytes` : 'something else';
    throw new SourceBroken(`expected a user with uuid and user_email in ${path}, found ${found}`);
  }
  return {
    owner: { uuid, user_email, ...(typeof update_ts === 'number' && { update_ts }) },
    profile: isJsonObject(profile) ? profile : null,
  };
}

function errorRowOf(value: JsonValue): ErrorRow | null {
  if (!isJsonObject(value)) return null;
  const { id, entry, identity, reason, message, first_ts, last_ts, tries, received_ts = first_ts } = value;
  const isIdentity =
    isJsonObject(identity) && typeof identity.key === 'string' && typeof identity.write_ts === 'number';
  const isRow =
    /^[0-9a-f]{24}$/.test(String(id)) &&
    entry !== undefined &&
    (identity === null || isIdentity) &&
    [reason, message].every((text) => typeof text === 'string') &&
    [first_ts, last_ts, tries, received_ts].every((number) => typeof number === 'number');
  return isRow ? ({ ...value, received_ts } as unknown as ErrorRow) : null;
}
