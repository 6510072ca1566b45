// A change of the timeseries, and what it marks in the pipeline state.
import { createHash } from 'node:crypto';
import type { ClientSession, Document } from 'mongodb';
import type { Entry } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { affectsOf } from '../../model/keys.ts';
import { isTimeZone, type TimeRange } from '../../model/time.ts';
import { keptEntry } from '../kept-entry.ts';
import type { Lease, PipelineState, Timeseries, TimeseriesChange } from '../store.ts';
import type { Connection } from './connection.ts';
import { entryRow } from './entries.ts';
import {
  deleteEntries,
  findByIdentity,
  identityOfRow,
  type RowIdentity,
  rowIdentity,
  rowIdentityOf,
  textOf,
} from './identities.ts';
import { requireLease } from './leases.ts';
import { mergeState, rangeAround, readState } from './pipeline-states.ts';
import { groupsOf, type KnownRow, knownFields, type NewRow, removeParts, writeParts, writeRows } from './rows.ts';

/** One entry to put, or one identity to remove (`entry` null). */
interface Step {
  identity: RowIdentity;
  entry: Entry | null;
  /** See `KeptEntry.ts`. */
  ts: number | null;
  /** Of the content; tells whether it differs from what is stored. */
  hash: string | null;
  bytes: number;
  /** Made when it is needed, once. */
  row?: NewRow;
}

interface Counts {
  inserted: number;
  updated: number;
  unchanged: number;
  removed: number;
}

/** What steps come to: rows to write and to remove, and what they touch. */
interface Outcome {
  counts: Counts;
  put: Map<string, Step>;
  remove: Map<string, Document>;
  changed: TimeRange | null;
  documentsDue: boolean;
}

/** Without transactions: the marks first, then the rows; a run that finds marks without a change derives the same again. */
export function applyOn(connection: Connection): Timeseries['apply'] {
  return async (userId, change, lease) => {
    const total: Counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
    const groups = groupsOf(stepsOf(change));
    if (groups.length === 0) groups.push([]);
    for (const [i, steps] of groups.entries()) {
      const alsoChanged = i === 0 ? (change.alsoChanged ?? null) : null;
      const counts = await connection.atomically((session) =>
        applySteps(connection, userId, steps, alsoChanged, lease, session),
      );
      for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
    }
    return total;
  };
}

/** What is removed goes first. */
function stepsOf({ put, remove }: TimeseriesChange): Step[] {
  const steps = remove.map(
    (gone): Step => ({ identity: rowIdentity(gone), entry: null, ts: null, hash: null, bytes: 100 }),
  );
  for (const one of put) {
    const { entry, ts } = keptEntry(one);
    const text = jsonText([entry.metadata as unknown as JsonValue, entry.data]);
    const hash = createHash('sha256').update(text).digest('base64url');
    steps.push({ identity: rowIdentityOf(entry), entry, ts, hash, bytes: text.length });
  }
  return steps;
}

async function applySteps(
  connection: Connection,
  userId: string,
  steps: readonly Step[],
  alsoChanged: TimeRange | null,
  lease: Lease,
  session: ClientSession | undefined,
): Promise<Counts> {
  await requireLease(connection, userId, lease, session);
  const identities = steps.map(({ identity }) => identity);
  const fields = { ...knownFields, hash: 1, ts: 1 };
  const known = await findByIdentity(connection, 'timeseries', userId, identities, fields, session);
  const outcome = outcomeOf(steps, known);
  await mark(connection, userId, rangeAround(outcome.changed, alsoChanged), outcome.documentsDue, session);
  const rows: NewRow[] = [];
  for (const step of outcome.put.values()) {
    step.row ??= timeseriesRow(userId, step);
    rows.push(step.row);
  }
  await writeParts(connection, rows);
  await writeRows(connection, rows, ({ place }) => known.get(textOf(place.at)) as KnownRow | undefined, session);
  const gone = [...outcome.remove.values()];
  await deleteEntries(connection, 'timeseries', userId, gone, session);
  await removeParts(connection, userId, gone as unknown as KnownRow[], session);
  return outcome.counts;
}

/** Goes through the steps in order, as if each were done alone. */
function outcomeOf(steps: readonly Step[], known: ReadonlyMap<string, Document>): Outcome {
  const counts: Counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
  const outcome: Outcome = { counts, put: new Map(), remove: new Map(), changed: null, documentsDue: false };
  const now = new Map<string, { hash: string; ts: number | null }>();
  for (const [text, row] of known) now.set(text, { hash: row.hash, ts: row.ts ?? null });
  for (const step of steps) {
    const text = textOf(step.identity);
    const old = now.get(text);
    if (old?.hash === step.hash || (old === undefined && step.entry === null)) {
      if (step.entry !== null) counts.unchanged += 1;
      continue;
    }
    if (step.entry === null) {
      counts.removed += 1;
      now.delete(text);
      outcome.put.delete(text);
      const row = known.get(text);
      if (row !== undefined) outcome.remove.set(text, row);
      touch(outcome, step.identity, old!.ts, null);
      continue;
    }
    counts[old === undefined ? 'inserted' : 'updated'] += 1;
    const { ts } = step;
    now.set(text, { hash: step.hash!, ts });
    outcome.put.set(text, step);
    outcome.remove.delete(text);
    touch(outcome, step.identity, old?.ts ?? null, ts);
  }
  return outcome;
}

function touch(outcome: Outcome, identity: RowIdentity, oldTime: number | null, newTime: number | null): void {
  const affects = affectsOf(identityOfRow(identity).key);
  if (affects === 'documents') outcome.documentsDue = true;
  if (affects !== 'trips') return;
  for (const ts of [oldTime, newTime]) {
    if (ts !== null) outcome.changed = rangeAround(outcome.changed, { from: ts, to: ts });
  }
}

async function mark(
  connection: Connection,
  userId: string,
  changed: TimeRange | null,
  documentsDue: boolean,
  session: ClientSession | undefined,
): Promise<void> {
  if (changed === null && !documentsDue) return;
  const state = await readState(connection, userId, session);
  const fields: Partial<PipelineState> = { changed: rangeAround(state.changed, changed) };
  if (documentsDue) fields.documents_due = true;
  await mergeState(connection, userId, fields, session);
}

/** `zoned`: whether the entry names a valid zone; left out where it names none and does not affect trips. */
function timeseriesRow(userId: string, { entry, ts, hash }: Step): NewRow {
  const { key, time_zone } = entry!.metadata;
  const zoneless = affectsOf(key) === 'trips' ? { zoned: false } : {};
  const zone = isTimeZone(time_zone) ? { zoned: true, zone: time_zone } : zoneless;
  return entryRow('timeseries', userId, entry!, { ...zone, hash }, ts);
}
