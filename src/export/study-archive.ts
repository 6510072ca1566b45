// Makes the archive that a manager downloads: the tables of people of a study as a ZIP.
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import type { Kind } from './columns.ts';
import { exportTables } from './export-tables.ts';
import { zipStream } from './zip-stream.ts';

/** Can be sent to another process as JSON. */
export interface ArchiveRequest {
  people: readonly string[];
  from: string; // local days, both included
  to: string;
  now: number; // seconds since the epoch
  coarse?: number; // m, size of the cells that hide exact places; absent: exact places
  pseudonymKey?: string; // the secret of the pseudonyms; absent: the archive shows names
}

/** The tables of an archive: without texts that people wrote, and without guessed homes. */
const kinds: readonly Kind[] = ['days', 'trips', 'sections', 'places', 'points'];

export function studyArchive(store: Store, request: ArchiveRequest): AsyncGenerator<Uint8Array> {
  const { people, from, to, ...treatment } = request;
  async function* users(): AsyncGenerator<UserRecord> {
    for (const uuid of people) {
      const user = await store.users.byUuid(uuid);
      if (user !== null) yield user;
    }
  }
  const days = { from, to };
  return zipStream((file) => exportTables({ store, people: users, kinds, format: 'csv', days, file, ...treatment }));
}
