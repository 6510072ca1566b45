// Finding the rows of many identities at once, in statements of bounded size.
import type { ClientSession, Document } from 'mongodb';
import type { Entry, Identity } from '../../model/entry.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { Connection } from './connection.ts';
import { withSession } from './rows.ts';

/** An identity as it stands in a row. */
export interface RowIdentity {
  key: string;
  write_ts: number;
}

export function rowIdentity({ key, write_ts }: Identity): RowIdentity {
  return { key: escapeText(key), write_ts };
}

export function rowIdentityOf(entry: Entry): RowIdentity {
  return rowIdentity(entry.metadata);
}

export function identityOfRow(row: Document): Identity {
  return { key: unescapeText(row.key), write_ts: row.write_ts };
}

/** One text per identity, for maps. */
export function textOf({ key, write_ts }: RowIdentity | Document): string {
  return `${write_ts} ${key}`;
}

const longestList = 500;

/** With more keys than this in one batch, which no phone has, several share a statement. */
const keysApart = 20;

/** Filters that together find all `identities`, and others too, but not many: keys times times stays bounded. */
export function identityFilters(identities: readonly RowIdentity[]): Document[] {
  const byKey = new Map<string, Set<number>>();
  for (const { key, write_ts } of identities) {
    const times = byKey.get(key);
    if (times === undefined) byKey.set(key, new Set([write_ts]));
    else times.add(write_ts);
  }
  const filters: Document[] = [];
  let keys: string[] = [];
  let times: number[] = [];
  const flush = (): void => {
    if (keys.length > 0) filters.push({ key: keys.length === 1 ? keys[0] : { $in: keys }, write_ts: { $in: times } });
    keys = [];
    times = [];
  };
  for (const [key, ofKey] of byKey) {
    for (const some of inPieces([...ofKey], longestList)) {
      const tooLong = (keys.length + 1) * (times.length + some.length) > longestList;
      if (tooLong || byKey.size <= keysApart) flush();
      keys.push(key);
      times.push(...some);
    }
  }
  flush();
  return filters;
}

/** The rows of `identities` in a collection of entries, by `textOf`; with `fields` beside their identity, or null: whole. */
export async function findByIdentity(
  connection: Connection,
  collection: 'usercache' | 'timeseries',
  userId: string,
  identities: readonly RowIdentity[],
  fields: Document | null,
  session: ClientSession | undefined,
): Promise<Map<string, Document>> {
  const wanted = new Set(identities.map(textOf));
  const found = new Map<string, Document>();
  for (const filter of identityFilters(identities)) {
    const projection = fields === null ? {} : { projection: { ...fields, key: 1, write_ts: 1 } };
    const options = { ...projection, ...withSession(session) };
    const cursor = connection.rows(collection).find({ user_id: userId, ...filter }, options);
    for (const row of await cursor.toArray()) if (wanted.has(textOf(row))) found.set(textOf(row), row);
  }
  return found;
}

/**
 * Removes rows that were read, and only these. In a transaction they are still as they were read; elsewhere one may have been
 * written again since: it stays. Returns how many went.
 */
export async function deleteEntries(
  connection: Connection,
  collection: 'usercache' | 'timeseries',
  userId: string,
  rows: readonly Document[],
  session: ClientSession | undefined,
): Promise<number> {
  let deleted = 0;
  const byKey = new Map<string, Document[]>();
  for (const row of rows) {
    const ofKey = byKey.get(row.key);
    if (ofKey === undefined) byKey.set(row.key, [row]);
    else ofKey.push(row);
  }
  for (const ofKey of byKey.values()) {
    for (const some of inPieces(ofKey, longestList)) {
      const unchanged = session === undefined ? { revision: { $in: some.map((row) => row.revision) } } : {};
      const write_ts = { $in: some.map((row) => row.write_ts) };
      const filter = { user_id: userId, key: some[0]!.key, write_ts, ...unchanged };
      const { deletedCount } = await connection.rows(collection).deleteMany(filter, withSession(session));
      deleted += deletedCount;
    }
  }
  return deleted;
}

/** `list` in pieces of at most `length`. */
export function inPieces<T>(list: readonly T[], length: number): T[][] {
  const pieces: T[][] = [];
  for (let from = 0; from < list.length; from += length) pieces.push(list.slice(from, from + length));
  return pieces;
}
