// The pipeline's state of each user.
import type { Document } from 'mongodb';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { isAhead } from '../receipts.ts';
import { initialPipelineState, type Marked, type PipelineState, type PipelineStates } from '../store.ts';
import type { Connection } from './connection.ts';
import { receivedOf } from './entries.ts';
import { requireLease } from './leases.ts';
import type { Tx, UserRows } from './user-rows.ts';

const usersAtOnce = 16;

/** The states of users. */
export function pipelineStatesOn(connection: Connection): PipelineStates {
  return {
    get: (userId) => connection.reading(userId, readState),
    merge: (userId, fields, lease) =>
      connection.atomically(userId, async (tx) => {
        await requireLease(tx, lease);
        await mergeState(tx, fields);
      }),
    async withWork(userIds, at, version) {
      const found = new Set<string>();
      const waiting = [...new Set(userIds)];
      const ask = async (): Promise<void> => {
        for (let userId = waiting.pop(); userId !== undefined; userId = waiting.pop()) {
          if (await connection.reading(userId, (from) => hasWork(from, at, version))) found.add(userId);
        }
      };
      await Promise.all(Array.from({ length: usersAtOnce }, ask));
      return found;
    },
  };
}

/** Asks for one row by index: with many entries waiting that costs less than any statement over many users. */
async function hasWork(from: UserRows, at: number, version?: string): Promise<boolean> {
  const usercache = from.rows('usercache');
  const fields = ['write_ts', 'received_ts', 'revision'] as const;
  // Nearly every waiting entry was written before now.
  const [entry] = await usercache.pick({}, fields, { limit: 1 }).toArray();
  const takesPart = (row: NonNullable<typeof entry>): boolean =>
    !isAhead({ write_ts: row.write_ts, received_ts: receivedOf(row) }, at);
  if (entry !== undefined) {
    if (takesPart(entry)) return true;
    for await (const row of usercache.pick({}, fields)) if (takesPart(row)) return true;
  }
  const { changed, documents_due, analysis_version } = await readState(from);
  const isOutdated = version !== undefined && analysis_version !== null && analysis_version !== version;
  return changed !== null || documents_due || isOutdated;
}

/** The state of the user; the initial state if none is stored. */
export async function readState(from: UserRows): Promise<PipelineState> {
  const { _id, user_id, ...kept } = (await from.rows('pipeline').findOne({})) ?? { _id: null, user_id: null };
  const state: PipelineState = { ...initialPipelineState, ...kept };
  return state.last_error === null ? state : { ...state, last_error: unescapeText(state.last_error) };
}

/**
 * Marks a change in the state by one statement: the time that changed grows by that of the change, see `marksOf`. The
 * state is not read for it.
 */
export async function markState(tx: Tx, { changed, documents }: Marked): Promise<void> {
  const marks: Document = { documents_due: documents ? true : { $ifNull: ['$documents_due', false] } };
  if (changed !== null) {
    const both = { from: { $min: ['$changed.from', changed.from] }, to: { $max: ['$changed.to', changed.to] } };
    marks.changed = { $cond: [{ $eq: [{ $ifNull: ['$changed', null] }, null] }, { $literal: changed }, both] };
  }
  await tx.rows('pipeline').updateOne({}, [{ $set: marks }], { upsert: true });
}

/** Sets fields of the state, which is there afterwards even if there are none. */
export async function mergeState(tx: Tx, fields: Partial<PipelineState>): Promise<void> {
  const set: Document = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (typeof set.last_error === 'string') set.last_error = escapeText(set.last_error);
  const change = Object.keys(set).length === 0 ? { $setOnInsert: { documents_due: false } } : { $set: set };
  await tx.rows('pipeline').updateOne({}, change, { upsert: true });
}
