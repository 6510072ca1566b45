// What was said about a trip or a stay in the form that apps read.
import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Said } from './user-labels.ts';

/** What was said, as apps read it: labels as texts, surveys and notes as whole entries. */
export function saidFields(userId: string, { user_input, additions }: Said): JsonObject {
  const whole = ({ metadata, data }: Entry): JsonObject => ({
    _id: oid(entryId(userId, metadata)),
    user_id: uuidValue(userId),
    metadata: metadata as JsonObject,
    data,
  });
  return {
    user_input: Object.fromEntries(
      Object.entries(user_input).map(([name, said]) => [name, typeof said === 'string' ? said : whole(said)]),
    ),
    additions: additions.map(whole),
  };
}
