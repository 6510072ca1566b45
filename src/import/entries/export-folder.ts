// The folder that `mobility export --out` wrote of one user: everything as it was, first receipts and errors included.
import { join } from 'node:path';
import { isUuid } from '../../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from '../../model/json.ts';
import type { ErrorRow } from '../../store/store.ts';
import type { FolderFormat, Found, Owner, SourceReadOptions } from '../format.ts';
import { fileLines } from '../read/lines.ts';
import { openSourceFile, type SourceFolder } from '../source.ts';
import { SourceBroken } from '../source-broken.ts';

/** What `export` wrote. Trips are not read: the pipeline makes the same ones. */
export const exportFolder: FolderFormat = {
  name: 'export',
  title: 'a folder of `mobility export`',
  names: 'people',
  recognises: ({ names }) => names.includes('user.json') && names.includes('entries.jsonl'),
  files: ({ names }) => ['entries.jsonl', 'errors.jsonl', 'documents.jsonl'].filter((name) => names.includes(name)),
  read: readExport,
};

async function* readExport(folder: SourceFolder, options: SourceReadOptions): AsyncGenerator<Found> {
  const { of, profile } = await readUser(folder);
  yield { of, person: true };
  if (profile !== null) yield { of, profile };
  for await (const line of jsonLines(folder, 'entries.jsonl', options)) yield entryOf(line, of);
  for await (const { value, where } of jsonLines(folder, 'errors.jsonl', options)) {
    const row = errorRowOf(value);
    yield row === null ? { unread: `expected an error as export writes it at ${where}` } : { of, error: row };
  }
  for await (const { value } of jsonLines(folder, 'documents.jsonl', options)) {
    const { key, write_ts, data } = isJsonObject(value) ? value : {};
    if (typeof key === 'string' && typeof write_ts === 'number' && data !== undefined)
      yield { of, document: { key, write_ts, data } };
  }
}

async function readUser(folder: SourceFolder): Promise<{ of: Exclude<Owner, null>; profile: JsonObject | null }> {
  const { path, size, head } = await openSourceFile(folder.path, 'user.json');
  const { uuid, user_email, update_ts, profile } = parseJsonObject(head.toString('utf8')) ?? {};
  if (typeof uuid !== 'string' || !isUuid(uuid) || typeof user_email !== 'string') {
    const found = size > head.length ? `${size} bytes` : 'something else';
    throw new SourceBroken(`expected a user with uuid and user_email in ${path}, found ${found}`);
  }
  return {
    of: { uuid, user_email, ...(typeof update_ts === 'number' && { update_ts }) },
    profile: isJsonObject(profile) ? profile : null,
  };
}

interface JsonLine {
  text: string;
  value: JsonValue | undefined;
  where: string;
}

/** Lines of a file of the folder; none if it does not exist. */
async function* jsonLines(
  folder: SourceFolder,
  name: string,
  { onBytes }: SourceReadOptions,
): AsyncGenerator<JsonLine> {
  if (!folder.names.includes(name)) return;
  const file = await openSourceFile(folder.path, name);
  for await (const { text, number } of fileLines(file.bytes(onBytes))) {
    if (text === '') continue;
    let value: JsonValue | undefined;
    try {
      value = JSON.parse(text) as JsonValue;
    } catch {
      value = undefined;
    }
    yield { text, value, where: `${join(folder.path, name)}, line ${number}` };
  }
}

function entryOf({ text, value, where }: JsonLine, of: Owner): Found {
  if (value === undefined) return { unread: `expected a JSON object at ${where}, found something else` };
  const { received_ts } = isJsonObject(value) ? value : {};
  return { of, entry: text, ...(typeof received_ts === 'number' && { received_ts }) };
}

function errorRowOf(value: JsonValue | undefined): ErrorRow | null {
  if (!isJsonObject(value)) return null;
  const { id, entry, identity, reason, message, first_ts, last_ts, tries, received_ts = first_ts } = value;
  const isRow =
    typeof id === 'string' &&
    /^[0-9a-f]{24}$/.test(id) &&
    entry !== undefined &&
    (identity === null || isIdentity(identity)) &&
    typeof reason === 'string' &&
    typeof message === 'string' &&
    typeof first_ts === 'number' &&
    typeof last_ts === 'number' &&
    typeof tries === 'number' &&
    typeof received_ts === 'number';
  return isRow ? ({ ...value, received_ts } as unknown as ErrorRow) : null;
}

function isIdentity(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && typeof value.key === 'string' && typeof value.write_ts === 'number';
}
