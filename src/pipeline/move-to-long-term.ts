// Stage "move to long term": usercache -> timeseries where the converters accept an entry, or error timeseries.
import { ConversionError, fieldsJudged, meaningOf, timeMeant } from '../converters/convert.ts';
import { line } from '../log/messages.ts';
import { dataTime, type Identity, identityOf, identityText } from '../model/entry.ts';
import { errorText } from '../model/errors.ts';
import { keyRow } from '../model/keys.ts';
import { justBefore, type TimeRange, zoneNamed } from '../model/time.ts';
import type { FailedEntry, KeptEntry, Marked, WaitingEntry, WaitingRef } from '../store/store.ts';
import type { RunContext, Stage } from './stage.ts';

/** Entries moved at a time: bounds memory, and what a crash makes the next run repeat. */
const batchSize = 2048;

/** An entry that was looked at. */
interface Seen extends Identity {
  /** A valid time zone; null if it names none. */
  zone: string | null;
}

/** What a page of waiting entries comes to: kept, moved away, or set aside with a reason. */
export interface MoveOutcome {
  kept: KeptEntry[];
  moved: WaitingRef[];
  failed: FailedEntry[];
  /** Every entry of the page, with the zone that it names. */
  seen: Seen[];
}

/**
 * Checks waiting entries by their converters. What a converter accepts is kept as it came, found by the time that the
 * converter reads; an entry that fails is set aside with reason and text, and never stops the others.
 */
export function checkAll(waiting: readonly WaitingEntry[]): MoveOutcome {
  const outcome: MoveOutcome = { kept: [], moved: [], failed: [], seen: [] };
  for (const one of waiting) {
    if (keptBySource(one, outcome)) continue;
    const { entry, text, revision, received_ts, kept } = one;
    const { key, write_ts } = entry.metadata;
    outcome.seen.push({ key, write_ts, zone: zoneNamed(entry) });
    const ref: WaitingRef = { key, write_ts, revision };
    try {
      const ts = kept ? dataTime(meaningOf(entry).data) : timeMeant(entry);
      outcome.kept.push(text === undefined ? { entry, ts, received_ts } : { entry, ts, received_ts, text });
      outcome.moved.push(ref);
    } catch (error) {
      const reason = error instanceof ConversionError ? error.reason : 'conversion_failed';
      outcome.failed.push({ ...ref, reason, message: errorText(error) });
    }
  }
  return outcome;
}

/** True for an entry that is kept by fields that its source tells. What they do not settle the whole entry does. */
function keptBySource({ source, kept: isKept }: WaitingEntry, { kept, moved, seen }: MoveOutcome): boolean {
  if (source === undefined || isKept) return false;
  const part = source.glance(fieldsJudged(source.key));
  if (part === null) return false;
  let ts: number | null;
  try {
    ts = timeMeant(part);
  } catch {
    return false;
  }
  const judged = source.judged(ts, zoneNamed(part));
  kept.push(judged);
  seen.push(judged);
  moved.push(source);
  return true;
}

/**
 * Moves what waits, in one pass over the identities: what is pushed meanwhile behind the pass waits for the next run.
 * First the timeseries has an entry, then the usercache lets it go, unless it was pushed again since: a crash in
 * between repeats a move that changes nothing.
 */
export const moveToLongTerm: Stage = {
  name: 'move to long term',
  async run(context) {
    const { store, userId, now } = context;
    const counts = { moved: 0, inserted: 0, updated: 0, unchanged: 0, unknown_keys: 0, set_aside: 0 };
    let after: Identity | undefined;
    const at = now();
    if (!context.state.receipts) await holdBack(context, at);
    for (;;) {
      const waiting = await store.usercache.read(userId, {
        limit: batchSize,
        at,
        lazily: true,
        ...(after && { after }),
      });
      if (waiting.length === 0) return { counts };
      const { kept, moved, failed, seen } = checkAll(waiting);
      const result = await store.timeseries.apply(
        userId,
        { put: kept, remove: failed, alsoChanged: await zoneChange(context, seen, failed) },
        context.lease(),
      );
      await store.usercache.settle(userId, { moved, failed }, now());
      logFailures(context, failed);
      noteMarks(context, result.marked);
      counts.moved += moved.length;
      counts.inserted += result.inserted;
      counts.updated += result.updated;
      counts.unchanged += result.unchanged;
      counts.unknown_keys += unknownKeys(moved);
      counts.set_aside += failed.length;
      const { key, write_ts } = seen.at(-1)!;
      after = { key, write_ts };
    }
  },
};

function unknownKeys(entries: readonly Identity[]): number {
  let count = 0;
  for (const { key } of entries) if (keyRow(key) === null) count += 1;
  return count;
}

/**
 * Entries that were moved before receipts were noted, and whose time has not come, go back to the usercache until it
 * has. Once for each user: what is moved since then was looked at before. First the usercache has them, then the
 * timeseries lets them go.
 */
async function holdBack(context: RunContext, at: number): Promise<void> {
  const { store, userId, lease, now, state } = context;
  for (;;) {
    const ahead = await store.timeseries.ahead(userId, { at, limit: batchSize });
    if (ahead.length === 0) break;
    const entries = ahead.map(({ entry }) => entry);
    const received_ts = ahead.map((one) => one.received_ts);
    await store.usercache.put(userId, { entries, unusable: [], received_ts, kept: true }, now());
    const { marked } = await store.timeseries.apply(userId, { put: [], remove: entries.map(identityOf) }, lease());
    noteMarks(context, marked);
  }
  state.receipts = true;
}

/** What was marked, in the state that the run knows. Incidents are shown in documents whose trips do not change. */
function noteMarks(context: RunContext, { changed, documents }: Marked): void {
  const { state } = context;
  state.changed = rangeAround(state.changed, changed);
  if (!documents) return;
  state.documents_due = true;
  context.changedTrips = null;
}

function rangeAround(a: TimeRange | null, b: TimeRange | null): TimeRange | null {
  return a === null || b === null ? (a ?? b) : { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

function logFailures({ log, userId }: RunContext, failed: readonly FailedEntry[]): void {
  if (failed.length === 0) return;
  log.writeAll(
    'WARNING',
    failed.map((f) => line.entryFailed(userId, f.message, f.key, f.write_ts, f.reason)),
  );
  log.writeAll(
    'DEBUG',
    failed.map((f) => line.insertingError(userId, f.key, f.write_ts)),
  );
}

/**
 * An entry that names its zone also decides the zone of entries near it that name none. Returns the data time of those
 * whose zone may change with this batch, so that they are analysed again: the diary must not hang on which of them came
 * first.
 */
async function zoneChange(
  context: RunContext,
  entries: readonly Seen[],
  failed: readonly FailedEntry[],
): Promise<TimeRange | null> {
  const { store, userId } = context;
  if ((await zonelessAround(context, entries)) === null) return null; // nearly always
  const lost = new Set(failed.map(identityText));
  const turning: Seen[] = [];
  for (const entry of entries) {
    const stored = await store.timeseries.get(userId, entry);
    const zone = lost.has(identityText(entry)) ? null : entry.zone;
    if (zone !== (stored && zoneNamed(stored))) turning.push(entry);
  }
  return zonelessAround(context, turning);
}

/** Data time of entries without a zone whose nearest with one is, or was, among `entries`; null if none. */
async function zonelessAround(
  { store: { timeseries }, userId }: RunContext,
  entries: readonly Seen[],
): Promise<TimeRange | null> {
  if (entries.length === 0) return null;
  let [first, last, namesZone] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, false];
  for (const { write_ts, zone } of entries) {
    first = Math.min(first, write_ts);
    last = Math.max(last, write_ts);
    namesZone ||= zone !== null;
  }
  const { before, after: next } = await timeseries.zonesAround(userId, justBefore(first));
  const named = next !== null && next.write_ts <= last;
  if (!named && !namesZone) return null;
  // Without one among these times, the next is the same from either end of them.
  const { after } = named ? await timeseries.zonesAround(userId, last) : { after: next };
  return timeseries.zonelessSpan(userId, {
    from: before?.write_ts ?? -Number.MAX_VALUE,
    to: after?.write_ts ?? Number.MAX_VALUE,
  });
}
