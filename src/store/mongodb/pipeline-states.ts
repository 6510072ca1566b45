// Where the pipeline stands with each user.
import type { ClientSession, Document } from 'mongodb';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { TimeRange } from '../../model/time.ts';
import { initialPipelineState, type PipelineState, type PipelineStates } from '../store.ts';
import type { Connection } from './connection.ts';
import { requireLease } from './leases.ts';
import { withSession } from './rows.ts';

const usersAtOnce = 16;

export function pipelineStatesOn(connection: Connection): PipelineStates {
  return {
    get: (userId) => connection.once(() => readState(connection, userId)),
    async merge(userId, fields, lease) {
      await connection.atomically(async (session) => {
        await requireLease(connection, userId, lease, session);
        await mergeState(connection, userId, fields, session);
      });
    },
    async withWork(userIds) {
      const found = new Set<string>();
      const waiting = [...new Set(userIds)];
      const ask = async (): Promise<void> => {
        for (let userId = waiting.pop(); userId !== undefined; userId = waiting.pop()) {
          const asked = userId;
          if (await connection.once(() => hasWork(connection, asked))) found.add(asked);
        }
      };
      await Promise.all(Array.from({ length: usersAtOnce }, ask));
      return found;
    },
  };
}

/** Asks for one row by index: with many entries waiting that costs less than any statement over many users. */
async function hasWork(connection: Connection, userId: string): Promise<boolean> {
  const filter = { user_id: userId };
  const entry = await connection.rows('usercache').findOne(filter, { projection: { _id: 0, user_id: 1 } });
  if (entry !== null) return true;
  const { changed, documents_due } = await readState(connection, userId);
  return changed !== null || documents_due;
}

/** The state of the user, the initial one when there is none. */
export async function readState(
  connection: Connection,
  userId: string,
  session?: ClientSession,
): Promise<PipelineState> {
  const row = await connection.rows('pipeline').findOne({ user_id: userId }, withSession(session));
  const state: Document = { ...initialPipelineState };
  for (const name of Object.keys(initialPipelineState)) if (row?.[name] !== undefined) state[name] = row[name];
  if (state.last_error !== null) state.last_error = unescapeText(state.last_error);
  return state as PipelineState;
}

/** Sets fields of the state, which is there afterwards even if there are none. */
export async function mergeState(
  connection: Connection,
  userId: string,
  fields: Partial<PipelineState>,
  session: ClientSession | undefined,
): Promise<void> {
  const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (typeof set.last_error === 'string') set.last_error = escapeText(set.last_error);
  const options = { upsert: true, ...withSession(session) };
  const change = Object.keys(set).length === 0 ? { $setOnInsert: { documents_due: false } } : { $set: set };
  await connection.rows('pipeline').updateOne({ user_id: userId }, change, options);
}

/** The range around both, ends included. */
export function rangeAround(one: TimeRange | null, other: TimeRange | null): TimeRange | null {
  if (one === null || other === null) return one ?? other;
  return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };
}
