// Writes archives of users, which `mobility import` reads.
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../model/json.ts';
import { jsonText } from '../model/json-text.ts';
import { isMobilityError, type MobilityError } from '../model/mobility-error.ts';
import type { UserRecord } from '../model/user.ts';
import { everyError } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { type Files, makeFolder, type TextWriter } from '../util/file-access.ts';
import { type Days, entryRows, tripsGeoJson } from './entry-rows.ts';

export interface Archive {
  user: UserRecord;
  out: string;
  counts: Record<string, number>;
}

export interface LeftOut {
  user_id: string;
  user_email: string;
  message: string;
}

export const leftOutOf = ({ uuid, user_email }: UserRecord, { message }: MobilityError): LeftOut => {
  return { user_id: uuid, user_email, message };
};

export interface ArchiveSource {
  store: Store;
  days: (user: UserRecord) => Promise<Days>;
  keys: readonly string[] | undefined;
  signal: AbortSignal;
  progress: { update(text: string): void };
}

/** Writes a folder for each user. If all users have damaged rows, throws the first error. */
export async function writeArchives(
  source: ArchiveSource,
  users: AsyncIterable<UserRecord>,
  out: string,
  files: Files,
): Promise<{ archives: Archive[]; leftOut: LeftOut[] }> {
  makeFolder(out);
  const archives: Archive[] = [];
  const leftOut: LeftOut[] = [];
  let first: MobilityError | null = null;
  for await (const user of users) {
    const folder = join(out, user.uuid);
    try {
      archives.push(await files.attempt(() => writeArchive(source, user, folder, files)));
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      first ??= error;
      leftOut.push(leftOutOf(user, error));
      await rmdir(folder).catch(() => {}); // the folder stays if something else is in it
    }
  }
  source.signal.throwIfAborted();
  if (first !== null && archives.length === 0) throw first;
  return { archives, leftOut };
}

export async function writeArchive(
  { store, days, keys, signal, progress }: ArchiveSource,
  user: UserRecord,
  out: string,
  { write }: Files,
): Promise<Archive> {
  const { uuid, user_email } = user;
  const own = await days(user);
  const counts: Record<string, number> = {};
  const file = async (name: string, fill: (writer: TextWriter) => Promise<number>): Promise<void> => {
    progress.update(`${user_email}: ${name}`);
    await write(join(out, name), async (writer) => {
      const stoppable = async (text: string): Promise<void> => {
        signal.throwIfAborted();
        await writer.write(text);
      };
      counts[name] = await fill({ write: stoppable });
    });
  };
  makeFolder(out);
  await file('entries.jsonl', (writer) => writeLines(writer, entryRows(store, uuid, own, keys)));
  await file('errors.jsonl', (writer) => writeLines(writer, everyError(store, uuid)));
  await file('documents.jsonl', async (writer) => writeLines(writer, await store.documents.list(uuid)));
  await file('trips.geojson', (writer) => writeTrips(writer, store, uuid, own));
  await file('user.json', async (writer) => {
    const { sent_ts: _, ...record } = user; // the store that imports the archive sets `sent_ts` itself
    await writer.write(`${JSON.stringify({ ...record, profile: await store.profiles.get(uuid) }, null, 2)}\n`);
    return 1;
  });
  return { user, out, counts };
}

export async function writeLines(writer: TextWriter, rows: AsyncIterable<object> | Iterable<object>): Promise<number> {
  let count = 0;
  for await (const row of rows) {
    await writer.write(`${jsonText(row as JsonValue)}\n`);
    count += 1;
  }
  return count;
}

export async function writeTrips(writer: TextWriter, store: Store, userId: string, days: Days): Promise<number> {
  const counts: number[] = [];
  for await (const text of tripsGeoJson(store, userId, days, (trips) => counts.push(trips))) await writer.write(text);
  return counts.reduce((sum, count) => sum + count, 0);
}
