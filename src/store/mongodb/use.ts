// What callers used of their limits, added up over all servers: a row for each caller of the last days.
import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { useWindows } from '../../model/use-windows.ts';
import type { CallerUse } from '../store.ts';
import type { Connection } from './connection.ts';
import { inPieces } from './rows.ts';
import type { MemberRow } from './user-rows.ts';

interface Used {
  /** Number of the window since the epoch. */
  window: number;
  calls: number;
  bytes: number;
}

interface UseRow {
  /** The UUID. */
  _id: string;
  minute: Used;
  day: Used;
  /** The server removes the row then. */
  until: Date;
}

const usersAtOnce = 500;
const remembered = 2; // days
const daySeconds = 86_400;

/** Counters need not survive the loss of a member: no put waits for them, and limits are wide. */
const quickly = { writeConcern: { w: 1 } } as const;

/** The use by callers. */
export function callerUseOn({ db }: Connection): CallerUse {
  const rows = db.collection<UseRow>('use');
  const members = db.collection<MemberRow>('members');
  return {
    async add(used, now) {
      const totals: Awaited<ReturnType<CallerUse['add']>> = new Map();
      for (const ids of inPieces([...used.keys()], usersAtOnce)) {
        const operations = ids.map((id): AnyBulkWriteOperation<UseRow> => {
          const update = [{ $set: added(used.get(id)!, now) }];
          return { updateOne: { filter: { _id: id }, update, upsert: true } };
        });
        await rows.bulkWrite(operations, { ordered: false, ...quickly });
        const [found, admitted] = await Promise.all([
          rows.find({ _id: { $in: ids } }, { readConcern: { level: 'local' } }).toArray(),
          members.distinct('user_id', { user_id: { $in: ids } }),
        ]);
        for (const { _id, minute, day } of found) totals.set(_id, { minute, day });
        // Looked at after writing: an erasure that has removed the row before has ended the admission before that.
        const isAdmitted = new Set(admitted);
        const erased = ids.filter((id) => !isAdmitted.has(id));
        if (erased.length > 0) await rows.deleteMany({ _id: { $in: erased } });
      }
      return totals;
    },
  };
}

/** The fields of a row after these calls and bytes. A window that has begun on another server's clock goes on. */
function added({ calls, bytes }: { calls: number; bytes: number }, now: number): Document {
  const of = (name: keyof typeof useWindows): Document => {
    const window = Math.floor(now / useWindows[name]);
    const isCurrent = { $gte: [`$${name}.window`, window] };
    const before = (field: string): Document => ({ $cond: [isCurrent, `$${name}.${field}`, 0] });
    return {
      window: { $max: [`$${name}.window`, window] },
      calls: { $add: [before('calls'), calls] },
      bytes: { $add: [before('bytes'), bytes] },
    };
  };
  return {
    minute: of('minute'),
    day: of('day'),
    until: new Date((Math.floor(now / daySeconds) + remembered) * daySeconds * 1000),
  };
}

/** Removes what a user used; after nobody may write about them any more. */
export async function forgetUse({ db, once }: Connection, userId: string): Promise<void> {
  await once(() => db.collection<UseRow>('use').deleteOne({ _id: userId }));
}
