// Changes the timeseries: puts entries into the chunks of their day and removes entries from them.
import { addDirty, type Dirty } from '../../model/dirty-range.ts';
import type { Identity } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { zoneNamed } from '../../model/time.ts';
import { addToList } from '../../util/add-to-list.ts';
import { chunkDay, chunkOf, chunkRows, type StoredEntry, spanIndexOf, type WrittenChunk } from '../chunks/chunk.ts';
import type { Where, WritableRows } from '../rows/rows.ts';
import { type ChunkRow, chunks } from '../rows/tables.ts';
import type { Moved } from '../store.ts';
import { type ChunkHead, type Head, headColumns, type UserRows, type WritableUserRows } from './chunk-cache.ts';

export interface ChunkEdit extends Pick<Moved, 'inserted' | 'updated' | 'unchanged' | 'dirty'> {
  /** `write_ts` of entries whose time zone was added, changed or removed. */
  rezoned: number[];
  /** The stored chunks that the fresh chunks replace. */
  gone: ChunkHead[];
  fresh: WrittenChunk[];
}

interface DayChange {
  key: string;
  day: number;
  put: StoredEntry[];
  remove: number[];
}

/** Packs the chunks after a put and a removal, without writing them. `remove` may name unknown entries. */
export async function planEdit(
  own: UserRows,
  put: readonly StoredEntry[],
  remove: readonly Identity[],
): Promise<ChunkEdit> {
  const dirty: Dirty = { changed: null, documents: false };
  const edit: ChunkEdit = { inserted: 0, updated: 0, unchanged: 0, dirty, rezoned: [], gone: [], fresh: [] };
  const changes = changesOf(put, remove);
  const heads = await headsAround(own, changes);
  for (const change of changes) {
    const { replaced, written } = await editDay(own, heads, change, edit);
    edit.gone.push(...replaced);
    edit.fresh.push(...written.flatMap((entries) => chunkRows(own.user, change.key, entries)));
  }
  return edit;
}

/** Finds the chunks of the changed keys from the first to the last changed day. */
async function headsAround({ rows, user }: UserRows, changes: readonly DayChange[]): Promise<Head[]> {
  if (changes.length === 0) return [];
  const days = changes.map(({ day }) => day).sort((a, b) => a - b);
  const key = { in: [...new Set(changes.map((change) => change.key))] };
  const where = { user, first: { gte: days[0]! * chunkDay, lt: (days.at(-1)! + 1) * chunkDay }, key };
  return rows.find(chunks, { where }, headColumns);
}

function changesOf(put: readonly StoredEntry[], remove: readonly Identity[]): DayChange[] {
  const byName = new Map<string, DayChange>();
  const changeOf = (key: string, writeTs: number): DayChange => {
    const day = Math.floor(writeTs / chunkDay);
    const name = `${day} ${key}`;
    const change = byName.get(name) ?? { key, day, put: [], remove: [] };
    byName.set(name, change);
    return change;
  };
  for (const one of put) changeOf(one.entry.metadata.key, one.write_ts).put.push(one);
  for (const { key, write_ts } of remove) changeOf(key, write_ts).remove.push(write_ts);
  return [...byName.values()];
}

/** Decides which chunks of a day a change replaces, and the entries of the new chunks. */
async function editDay(own: UserRows, heads: readonly Head[], day: DayChange, edit: ChunkEdit) {
  const opened = await openTouched(own, heads, day);
  const entries = new Map(opened.flatMap(({ list }) => list.map((one) => [one.write_ts, one])));
  const changed = new Set<string>();
  const change = (writeTs: number, after: StoredEntry | undefined): void => {
    const before = entries.get(writeTs);
    if (before === after) return;
    if (before !== undefined && after !== undefined && isSameContent(before, after)) {
      edit.unchanged += 1;
      if (before.received_ts === after.received_ts) return;
    } else countChange(edit, day.key, before, after);
    for (const one of [before, after]) if (one !== undefined) changed.add(chunkOf(one));
    if (after === undefined) entries.delete(writeTs);
    else entries.set(writeTs, after);
  };
  for (const writeTs of day.remove) change(writeTs, undefined);
  for (const one of day.put) change(one.write_ts, one);
  const lists = new Map<string, StoredEntry[]>();
  for (const one of entries.values()) addToList(lists, chunkOf(one), one);
  return {
    replaced: opened.filter(({ list }) => changed.has(chunkOf(list[0]!))).map(({ head }) => head),
    written: [...changed].map((name) => (lists.get(name) ?? []).sort((a, b) => a.write_ts - b.write_ts)),
  };
}

function isSameContent(a: StoredEntry, b: StoredEntry): boolean {
  const textOf = ({ entry }: StoredEntry): string => jsonText(entry as unknown as JsonValue);
  return a.ts === b.ts && textOf(a) === textOf(b);
}

function countChange(edit: ChunkEdit, key: string, before?: StoredEntry, after?: StoredEntry): void {
  if (after !== undefined) edit[before === undefined ? 'inserted' : 'updated'] += 1;
  addDirty(edit.dirty, key, before?.ts ?? null, after?.ts ?? null);
  const [zone, nextZone] = [before, after].map((one) => (one === undefined ? null : zoneNamed(one.entry)));
  if (zone !== nextZone) edit.rezoned.push((after ?? before)!.write_ts);
}

/** Opens the chunks that may contain an entry of the change, and the chunks that get new entries. */
async function openTouched(
  { rows, cache }: UserRows,
  heads: readonly Head[],
  { key, day, put, remove }: DayChange,
): Promise<{ head: ChunkHead; list: readonly StoredEntry[] }[]> {
  const ofDay = heads
    .filter((head) => head.key === key && Math.floor(head.first / chunkDay) === day)
    .sort((a, b) => a.first - b.first);
  const times = [...put.map((one) => one.write_ts), ...remove];
  const homes = new Set(put.map((one) => homeOf(ofDay, one)));
  const touched = ofDay.filter((head) => homes.has(head) || times.some((ts) => ts >= head.first && ts <= head.last));
  const opened = await cache.open(rows, touched);
  return touched.map((head, i) => ({ head, list: opened[i]!.list }));
}

/**
 * Chooses a chunk for a new entry from the chunks with its span of data times: the last chunk that
 * begins at or before its `write_ts`, or the first chunk if all begin later.
 */
function homeOf(heads: readonly Head[], { ts, write_ts }: StoredEntry): Head | undefined {
  const fitting = heads.filter((head) => spanIndexOf(head.first_ts) === spanIndexOf(ts));
  return fitting.findLast(({ first }) => first <= write_ts) ?? fitting[0];
}

/** Returns the fresh chunks for the cache, which gets them after the transaction has committed. */
export async function replaceChunks(
  rows: WritableRows,
  { gone, fresh }: Pick<ChunkEdit, 'gone' | 'fresh'>,
): Promise<(WrittenChunk & { sum: string })[]> {
  const staying = new Set(fresh.map(({ row }) => `${row.first} ${row.key}`));
  for (const { user, first, key } of gone) {
    if (!staying.has(`${first} ${key}`)) await rows.remove(chunks, { user, first, key });
  }
  const made = fresh.map(({ row }) => row);
  const sums = await rows.put(chunks, made);
  return fresh.map((written, i) => ({ ...written, sum: sums[i]! }));
}

const chunksAtOnce = 50; // per transaction

/** Removes old entries of some chunks, see `Timeseries.remove`. Returns 0 if none is left. */
export async function removeOld(
  { rows, cache, user }: WritableUserRows,
  { keys, before }: { keys: readonly string[]; before: number },
): Promise<number> {
  const old = async (where: Where<ChunkRow>): Promise<ChunkHead[]> =>
    rows.find(chunks, { where: { user, key: { in: keys }, ...where }, limit: chunksAtOnce }, headColumns);
  const found = await old({ first_ts: { lt: before } });
  const heads = found.length > 0 ? found : await old({ first_ts: null, first: { lt: before } });
  const fresh: WrittenChunk[] = [];
  let removed = 0;
  for (const [i, { list }] of (await cache.open(rows, heads)).entries()) {
    const kept = list.filter(({ ts, write_ts }) => (ts ?? write_ts) >= before);
    removed += list.length - kept.length;
    if (kept.length > 0) fresh.push(...chunkRows(user, heads[i]!.key, kept));
  }
  await replaceChunks(rows, { gone: heads, fresh });
  return removed;
}
