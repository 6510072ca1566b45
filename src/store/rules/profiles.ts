import type { JsonObject } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import type { Engine, Rows, WritableRows } from '../rows/rows.ts';
import { profiles as table } from '../rows/tables.ts';
import type { Profiles } from '../store.ts';
import { writeAdmitted } from './accounts.ts';

export function profiles(engine: Engine): Profiles {
  return {
    get: (userId) => engine.read((rows) => profileOf(rows, userId)),
    merge: async (userId, fields, defaults = {}) => {
      // Copies the objects before the first `await`, so that later changes have no effect.
      const [given, fallback] = [typeof fields === 'function' ? fields : copyOf(fields), copyOf(defaults)];
      const change = typeof given === 'function' ? given : () => given;
      return writeAdmitted(engine, userId, (rows) => mergeProfile(rows, userId, change, fallback));
    },
  };
}

const copyOf = (value: JsonObject): JsonObject => JSON.parse(jsonText(value)) as JsonObject;

async function profileOf(rows: Rows, user: string): Promise<JsonObject | null> {
  const [row] = await rows.find(table, { where: { user } });
  return row === undefined ? null : (JSON.parse(row.profile) as JsonObject);
}

export async function mergeProfile(
  rows: WritableRows,
  user: string,
  fields: (before: JsonObject) => JsonObject,
  defaults: JsonObject = {},
): Promise<JsonObject> {
  const before = (await profileOf(rows, user)) ?? {};
  const profile: JsonObject = { ...defaults, ...before, ...fields(before) };
  await rows.put(table, [{ user, profile: jsonText(profile) }]);
  return profile;
}
