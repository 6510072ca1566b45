// Finding the rows of many identities at once, in statements of bounded size.
import type { Document } from 'mongodb';
import type { Entry, Identity } from '../../model/entry.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { justAfter } from '../../model/time.ts';
import { compareEscaped } from '../text-order.ts';
import { inPieces } from './rows.ts';
import type { EntryCollection, RowTypes, UserRows } from './user-rows.ts';

/** An identity in the form of a row. */
export interface RowIdentity {
  key: string;
  write_ts: number;
}

/** The identity as rows have it. */
export function rowIdentity({ key, write_ts }: Identity): RowIdentity {
  return { key: escapeText(key), write_ts };
}

/** Of an entry. */
export function rowIdentityOf(entry: Entry): RowIdentity {
  return rowIdentity(entry.metadata);
}

/** The identity that a row has. */
export function identityOfRow({ key, write_ts }: RowIdentity): Identity {
  return { key: unescapeText(key), write_ts };
}

/** One text per identity, for maps. */
export function textOf({ key, write_ts }: RowIdentity): string {
  return `${write_ts} ${key}`;
}

const longestList = 500;

/** With more keys than this in one batch, which no phone has, several share a statement. */
const keysApart = 20;

function timesByKey(identities: readonly RowIdentity[]): Map<string, Set<number>> {
  const byKey = new Map<string, Set<number>>();
  for (const { key, write_ts } of identities) {
    const times = byKey.get(key);
    if (times === undefined) byKey.set(key, new Set([write_ts]));
    else times.add(write_ts);
  }
  return byKey;
}

/**
 * Filters that together find `identities` and nothing else, one at least for each key: for operations that share a
 * statement.
 */
export function exactFilters(identities: readonly RowIdentity[]): Document[] {
  return [...timesByKey(identities)].flatMap(([key, times]) =>
    inPieces([...times], longestList).map((some) => ({ key, write_ts: { $in: some } })),
  );
}

/** Filters that together find all `identities`, and others too, but not many: keys times times stays bounded. */
export function identityFilters(identities: readonly RowIdentity[]): Document[] {
  const byKey = timesByKey(identities);
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

/**
 * Filters that find all rows from the first to the last of `identities`, in the order of key and `write_ts`: those that
 * a pass over rows in that order has read, and few others. Two at most.
 */
export function spanFilters(identities: readonly RowIdentity[]): Document[] {
  if (identities.length === 0) return [];
  const order = (a: RowIdentity, b: RowIdentity): number => compareEscaped(a.key, b.key) || a.write_ts - b.write_ts;
  const first = identities.reduce((a, b) => (order(b, a) < 0 ? b : a));
  const last = identities.reduce((a, b) => (order(b, a) > 0 ? b : a));
  const end = justAfter(last.write_ts);
  if (first.key === last.key) return [{ key: first.key, write_ts: { $gte: first.write_ts, $lt: end } }];
  return [{ key: { $gte: first.key, $lt: last.key } }, { key: last.key, write_ts: { $lt: end } }];
}

/**
 * Like `findByIdentity`, for identities that were read one after the other: in few statements, where there are not many
 * more rows between them than were read.
 */
export async function findBySpan<Name extends EntryCollection, Field extends keyof RowTypes[Name] & string>(
  from: UserRows,
  collection: Name,
  identities: readonly RowIdentity[],
  fields: readonly Field[],
): Promise<Map<string, Pick<RowTypes[Name], Field>>> {
  const filters = spanFilters(identities);
  if (identityFilters(identities).length <= filters.length) {
    return findByIdentity(from, collection, identities, fields);
  }
  const wanted = new Set(identities.map(textOf));
  const found = new Map<string, Pick<RowTypes[Name], Field>>();
  const limit = 2 * identities.length;
  for (const filter of filters) {
    const rows = await from
      .rows(collection)
      .pick(filter, ['key', 'write_ts', ...fields], { limit })
      .toArray();
    if (rows.length === limit) return findByIdentity(from, collection, identities, fields);
    for (const row of rows) if (wanted.has(textOf(row))) found.set(textOf(row), row);
  }
  return found;
}

/** Some fields of the rows of `identities` in a collection of entries, by `textOf`. */
export async function findByIdentity<Name extends EntryCollection, Field extends keyof RowTypes[Name] & string>(
  from: UserRows,
  collection: Name,
  identities: readonly RowIdentity[],
  fields: readonly Field[],
): Promise<Map<string, Pick<RowTypes[Name], Field>>> {
  const wanted = new Set(identities.map(textOf));
  const found = new Map<string, Pick<RowTypes[Name], Field>>();
  for (const filter of identityFilters(identities)) {
    for (const row of await from
      .rows(collection)
      .pick(filter, ['key', 'write_ts', ...fields])
      .toArray()) {
      if (wanted.has(textOf(row))) found.set(textOf(row), row);
    }
  }
  return found;
}
