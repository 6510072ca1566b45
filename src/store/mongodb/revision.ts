// The revision of a waiting entry as callers hold it: enough to remove its row without looking for it first.
import { ObjectId } from 'mongodb';
import type { WaitingRow } from './user-rows.ts';

/** The revision, and where the row can be removed by itself, its `_id`. */
export function revisionText({ revision, _id, in_parts }: Pick<WaitingRow, 'revision' | '_id' | 'in_parts'>): string {
  return in_parts ? revision.toHexString() : `${revision.toHexString()}.${_id.toHexString()}`;
}

/** The revision in a text. */
export function revisionIn(text: string): string {
  return text.split('.', 1)[0]!;
}

/** Revision and `_id` of a row without parts; null for others. */
export function rowIn(text: string): { revision: ObjectId; _id: ObjectId } | null {
  const [revision, _id] = text.split('.');
  if (revision === undefined || _id === undefined || !ObjectId.isValid(revision) || !ObjectId.isValid(_id)) return null;
  return { revision: new ObjectId(revision), _id: new ObjectId(_id) };
}
