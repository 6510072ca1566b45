import { dataTime, type Identity, identityText } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { isMobilityError, type MobilityError } from '../../model/mobility-error.ts';
import { compareTexts } from '../../model/text-order.ts';
import { batchRows, type PendingEntry, readBatch, readHeader, replaceBatch } from '../chunks/batch.ts';
import type { StoredEntries } from '../chunks/chunk.ts';
import type { Engine, Rows, WritableRows } from '../rows/rows.ts';
import { type AccountRow, batches, errors } from '../rows/tables.ts';
import type { EntryQuery, ProfileNote, PutContent, PutResult, UnusableEntry, Usercache } from '../store.ts';
import { stateIn, writeAdmitted } from './accounts.ts';
import type { ChunkCache, WritableUserRows } from './chunk-cache.ts';
import { errorId, failedRow } from './error-rows.ts';
import { type PagePart, pageFor, rangeOf, readPage, spanColumns } from './find.ts';
import { type Known, loadKnown } from './identities.ts';
import { move } from './move.ts';
import { recordFirstEntries } from './people.ts';
import { mergeProfile } from './profiles.ts';

export function usercache(engine: Engine, cache: ChunkCache): Usercache {
  return {
    put: async (userId, content, now) => {
      const { entries, unusable, note } = content;
      if (entries.length + unusable.length === 0 && note === undefined) return { results: [], noteError: null };
      const odd = entries.find(({ metadata }) => !Number.isFinite(metadata.write_ts));
      if (odd !== undefined) throw new TypeError(`expected a finite write_ts, found ${odd.metadata.write_ts}`);
      return writeAdmitted(engine, userId, async (rows, account) => {
        if (account.sent === 0 && entries.length + unusable.length > 0) await recordFirstEntries(rows, account, now);
        const own = { rows, cache, user: userId };
        await rejectEntries(own, unusable, now);
        const results = await putEntries(own, content, now);
        return { results, noteError: note === undefined ? null : await writeNote(rows, account, note) };
      });
    },
    move: (...call) => move(engine, cache, ...call),
    find: async (userId, query) =>
      pageFor(await engine.read((rows) => readPage(batchParts(rows, userId, query), query))),
    count: (userId) => engine.read((rows) => rows.total(batches, { user: userId }, 'count')),
    keys: async (userId) => {
      const columns = ['user', 'id', 'waiting'] as const;
      const found = await engine.read((rows) => rows.find(batches, { where: { user: userId } }, columns));
      return [...new Set(found.flatMap((row) => readHeader(row).keys.map(([key]) => key)))];
    },
  };
}

/** An entry replaces an earlier entry of the same identity that is pending or in the same put. */
async function putEntries(own: WritableUserRows, content: PutContent, now: number): Promise<PutResult[]> {
  const { entries, received_ts = [] } = content;
  const identities = entries.map(({ metadata }): Identity => metadata);
  const known = await loadKnown(own, identities);
  const results = new Array<PutResult>(entries.length);
  const pending: PendingEntry[] = [];
  for (const at of inOrder(identities)) {
    const entry = entries[at]!;
    const before = known.size === 0 ? undefined : known.get(identityText(entry.metadata));
    const again = pending.length > 0 && isSame(pending.at(-1)!.entry.metadata, entry.metadata) ? pending.pop()! : null;
    const received = received_ts[at] ?? again?.received_ts ?? before?.received_ts ?? now;
    pending.push({ entry, received_ts: received, failed: before?.failed ?? null });
    results[at] = before !== undefined || again !== null ? 'updated' : 'inserted';
  }
  await removePending(own, known, identities);
  await addPending(own, pending);
  return results;
}

const isSame = (a: Identity, b: Identity): boolean => a.key === b.key && a.write_ts === b.write_ts;

/** The indexes of `identities`, sorted by key and `write_ts`. Equal identities keep their order. */
function inOrder(identities: readonly Identity[]): number[] {
  const places = new Map<string, number[]>();
  for (const [at, { key }] of identities.entries()) if (!places.get(key)?.push(at)) places.set(key, [at]);
  const byTime = (a: number, b: number): number => identities[a]!.write_ts - identities[b]!.write_ts;
  return [...places.keys()].sort(compareTexts).flatMap((key) => places.get(key)!.sort(byTime));
}

export async function addPending({ rows, user }: WritableUserRows, pending: readonly PendingEntry[]): Promise<void> {
  if (pending.length === 0) return;
  const [last] = await rows.find(batches, { where: { user }, order: ['-id'], limit: 1 }, ['id']);
  await rows.put(batches, batchRows(user, (last?.id ?? 0) + 1, pending));
}

async function removePending(
  { rows, user }: WritableUserRows,
  known: ReadonlyMap<string, Known>,
  identities: readonly Identity[],
): Promise<void> {
  const places = new Map<number, Set<number>>();
  for (const identity of known.size === 0 ? [] : identities) {
    const pending = known.get(identityText(identity))?.pending;
    if (!pending) continue;
    const leaving = places.get(pending.batch) ?? new Set();
    places.set(pending.batch, leaving.add(pending.place));
  }
  if (places.size === 0) return;
  for (const row of await rows.find(batches, { where: { user, id: { in: [...places.keys()] } } })) {
    await replaceBatch(rows, row, (place) => !places.get(row.id)!.has(place));
  }
}

/** Replaces pending and rejected entries of the same identities. Stores equal content once. */
async function rejectEntries(own: WritableUserRows, unusable: readonly UnusableEntry[], now: number): Promise<void> {
  if (unusable.length === 0) return;
  const { rows, user } = own;
  const identities = unusable.flatMap(({ identity }) => identity ?? []);
  const known = await loadKnown(own, identities);
  const unnamed = unusable.filter(({ identity }) => identity === undefined).map(errorId);
  const where = { user, id: { in: unnamed } };
  const failed = new Map((await rows.find(errors, { where })).map((row) => [row.id, row]));
  for (const one of unusable) {
    const id = errorId(one);
    const before = failed.get(id);
    const history = before
      ? { received_ts: before.received_ts, failed: before }
      : one.identity && known.get(identityText(one.identity));
    failed.set(id, failedRow(user, one, history, now));
  }
  await removePending(own, known, identities);
  await rows.put(errors, [...failed.values()]);
}

/** Returns the error of a damaged profile instead of throwing it: the put continues. */
async function writeNote(rows: WritableRows, account: AccountRow, note: ProfileNote): Promise<MobilityError | null> {
  const { set, raise = {}, sinceRun = {} } = note;
  const isOver = (value: JsonValue | undefined, bound: number): boolean => typeof value === 'number' && value > bound;
  try {
    const lastRun = stateIn(account).last_run_ts ?? Number.NEGATIVE_INFINITY;
    await mergeProfile(rows, account.user, (profile) => ({
      ...set,
      ...Object.fromEntries(Object.entries(raise).filter(([name, value]) => !isOver(profile[name], value))),
      ...Object.fromEntries(Object.entries(sinceRun).filter(([name]) => !isOver(profile[name], lastRun))),
    }));
    return null;
  } catch (error) {
    if (isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) return error;
    throw error;
  }
}

async function* batchParts(rows: Rows, user: string, query: EntryQuery): AsyncGenerator<PagePart> {
  const [low, high] = spanColumns[query.time];
  const { from, to } = rangeOf(query);
  const where = { user, [low]: { lte: to }, [high]: { gte: from } };
  const found = await rows.find(batches, { where }, ['id', low, high, 'waiting']);
  const heads = found.filter(({ waiting }) => query.keys === undefined || hasAny(query.keys, waiting));
  heads.sort((a, b) => (query.descending ? b[high]! - a[high]! : a[low]! - b[low]!));
  for (const head of heads) {
    yield { from: head[low]!, to: head[high]!, load: () => loadBatch(rows, user, head.id) };
  }
}

/** True if a batch may have a key of `keys`. Searches its header as text: parsing is slower. */
export const hasAny = (keys: readonly string[], waiting: string): boolean =>
  keys.some((key) => waiting.includes(JSON.stringify(key)));

async function loadBatch(rows: Rows, user: string, id: number): Promise<StoredEntries> {
  const [row] = await rows.find(batches, { where: { user, id } });
  const { list, size } = readBatch(row!);
  const stored = list.map(({ entry, received_ts }) => {
    return { entry, write_ts: entry.metadata.write_ts, ts: dataTime(entry.data), received_ts };
  });
  return { list: stored, size };
}
