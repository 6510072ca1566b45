// A change of the timeseries, and what it marks in the pipeline state.
import { createHash } from 'node:crypto';
import type { Entry } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { affectsOf } from '../../model/keys.ts';
import { isTimeZone } from '../../model/time.ts';
import { keptEntry } from '../kept-entry.ts';
import { isTouched, marksOf, touch, united } from '../marks.ts';
import type { Lease, Marked, Timeseries, TimeseriesChange } from '../store.ts';
import type { Connection } from './connection.ts';
import { entryRow, receivedOf } from './entries.ts';
import {
  exactFilters,
  findByIdentity,
  identityOfRow,
  type RowIdentity,
  rowIdentity,
  rowIdentityOf,
  textOf,
} from './identities.ts';
import { requireLease } from './leases.ts';
import { mergeState, readState } from './pipeline-states.ts';
import { groupsOf, type KnownRow, knownFields, type NewRow, removeRows, writeRows } from './rows.ts';
import type { MovedRow, Tx } from './user-rows.ts';

/** One entry to put, or one identity to remove (`entry` null). */
interface Step {
  identity: RowIdentity;
  entry: Entry | null;
  /** See `KeptEntry.ts`. */
  ts: number | null;
  /** See `KeptEntry.ts`. */
  received_ts: number | undefined;
  /** Hash of the content, to compare it with the stored content. */
  hash: string | null;
  bytes: number;
  /** Made when it is needed, once. */
  row?: NewRow;
}

type Counts = Omit<Awaited<ReturnType<Timeseries['apply']>>, 'marked'>;

/** What is read of a row that a step may change. */
type OldRow = KnownRow & Pick<MovedRow, 'key' | 'write_ts' | 'hash' | 'ts' | 'received_ts'>;

/** What steps come to: rows to write and to remove, and what they touch. */
interface Outcome {
  counts: Counts;
  put: Map<string, Step>;
  remove: Map<string, OldRow>;
  touched: Marked;
}

/** Applies a change, see the contract. */
export function applyOn(connection: Connection): Timeseries['apply'] {
  return async (userId, change, lease) => {
    const total: Counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
    const marked: Marked = { changed: null, documents: false };
    const groups = groupsOf(stepsOf(change));
    if (groups.length === 0) groups.push([]);
    for (const [i, steps] of groups.entries()) {
      const changed = i === 0 ? (change.alsoChanged ?? null) : null;
      const { counts, touched } = await connection.atomically(userId, (tx, tries) =>
        applySteps(tx, steps, { changed, documents: false }, lease, tries === 1, Date.now() / 1000),
      );
      marked.changed = united(marked.changed, touched.changed);
      marked.documents ||= touched.documents;
      for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
    }
    return { ...total, marked };
  };
}

/** What is removed goes first. */
function stepsOf({ put, remove }: TimeseriesChange): Step[] {
  const steps = remove.map(
    (gone): Step => ({
      identity: rowIdentity(gone),
      entry: null,
      ts: null,
      received_ts: undefined,
      hash: null,
      bytes: 100,
    }),
  );
  for (const one of put) {
    const { entry, ts, received_ts } = keptEntry(one);
    const text = jsonText([entry.metadata as JsonValue, entry.data]);
    const hash = createHash('sha256').update(text).digest('base64url');
    steps.push({ identity: rowIdentityOf(entry), entry, ts, received_ts, hash, bytes: text.length });
  }
  return steps;
}

/** `hopeful`: what is put is taken for new and not looked for; if it is there, the transaction fails as a whole. */
async function applySteps(
  tx: Tx,
  steps: readonly Step[],
  touched: Marked,
  lease: Lease,
  hopeful: boolean,
  now: number,
): Promise<Outcome> {
  await requireLease(tx, lease);
  const sought = hopeful ? steps.filter(({ entry }) => entry === null) : steps;
  const identities = sought.map(({ identity }) => identity);
  const fields = [...knownFields, 'key', 'write_ts', 'hash', 'ts', 'received_ts'] as const;
  const known = await findByIdentity(tx, 'timeseries', identities, fields);
  const outcome = outcomeOf(steps, known, touched);
  const rows = [...outcome.put].map(([text, step]): NewRow => {
    step.row ??= timeseriesRow(tx.userId, step);
    const made = step.row;
    const old = known.get(text);
    const received_ts = step.received_ts ?? (old === undefined ? now : receivedOf(old));
    return { ...made, row: { ...made.row, received_ts } };
  });
  await writeRows(tx, rows, ({ at }) => known.get(textOf(at as RowIdentity)));
  const gone = [...outcome.remove.values()];
  await removeRows(tx, 'timeseries', gone, exactFilters(gone));
  if (isTouched(touched)) await mergeState(tx, marksOf(await readState(tx), touched));
  return outcome;
}

/** Goes through the steps in order, as if each were done alone. Adds to `touched`. */
function outcomeOf(steps: readonly Step[], known: ReadonlyMap<string, OldRow>, touched: Marked): Outcome {
  const counts: Counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
  const outcome: Outcome = { counts, put: new Map(), remove: new Map(), touched };
  const now = new Map<string, { hash: string; ts: number | null }>();
  for (const [text, { hash, ts = null }] of known) now.set(text, { hash, ts });
  for (const step of steps) {
    const text = textOf(step.identity);
    const { key } = identityOfRow(step.identity);
    const old = now.get(text);
    if (old?.hash === step.hash || (old === undefined && step.entry === null)) {
      if (step.entry !== null) counts.unchanged += 1;
      const row = known.get(text);
      const isNews = step.received_ts !== undefined && row !== undefined && step.received_ts !== receivedOf(row);
      if (step.entry !== null && isNews && !outcome.put.has(text)) outcome.put.set(text, step);
      continue;
    }
    if (step.entry === null) {
      counts.removed += 1;
      now.delete(text);
      outcome.put.delete(text);
      const row = known.get(text);
      if (row !== undefined) outcome.remove.set(text, row);
      touch(touched, key, old!.ts);
      continue;
    }
    counts[old === undefined ? 'inserted' : 'updated'] += 1;
    const { ts } = step;
    now.set(text, { hash: step.hash!, ts });
    outcome.put.set(text, step);
    outcome.remove.delete(text);
    touch(touched, key, old?.ts ?? null, ts);
  }
  return outcome;
}

/** `zoned`: whether the entry names a valid zone; left out where it names none and does not affect trips. */
function timeseriesRow(userId: string, { entry, ts, hash }: Step): NewRow {
  const { key, time_zone } = entry!.metadata;
  const zoneless = affectsOf(key) === 'trips' ? { zoned: false } : {};
  const zone = isTimeZone(time_zone) ? { zoned: true, zone: time_zone } : zoneless;
  return entryRow('timeseries', userId, entry!, { ...zone, hash }, ts);
}
