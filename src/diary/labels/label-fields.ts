// Converts user input about a trip or a stay to the form that apps read.
import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { UserInput } from './user-labels.ts';

/** User input as apps read it: labels as texts, surveys and notes as whole entries. */
export function inputFields(userId: string, { user_input, additions }: UserInput): JsonObject {
  const whole = ({ metadata, data }: Entry): JsonObject => ({
    _id: oid(entryId(userId, metadata)),
    user_id: uuidValue(userId),
    metadata: metadata as JsonObject,
    data,
  });
  return {
    user_input: Object.fromEntries(
      Object.entries(user_input).map(([name, value]) => [name, typeof value === 'string' ? value : whole(value)]),
    ),
    additions: additions.map(whole),
  };
}
