// Labels that a user made up, which the profile stores. The e-mission apps of 2024 and 2025 offer them.
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { badRequest } from '../problem.ts';
import { arrayOf, objectOf } from '../schemas.ts';
import type { Route } from './route.ts';

const mostLabels = 500; // labels of one kind and user; a profile is read and written as a whole

type Rows = Map<string, { createdAt: number; frequency: number; isActive: boolean }>;

const text = { type: 'string', minLength: 1, maxLength: 200 };
const key = { enum: ['mode', 'purpose'] }; // fields of the profile
const labels = arrayOf({ type: 'string' });

export const customLabelRoutes: readonly Route[] = [
  {
    path: '/customlabel/get',
    summary: 'Returns custom labels by kind',
    answers: { type: 'object', additionalProperties: labels },
    body: objectOf({ keys: { type: 'array', items: key, maxItems: 10 } }),
    answer: async ({ body, caller, store }) => {
      const profile = (await store.profiles.get(caller.uuid)) ?? {};
      return Object.fromEntries((body.keys as string[]).map((kind) => [kind, activeOf(rowsOf(profile, kind))]));
    },
  },
  changeRoute('insert', 'Adds a custom label', objectOf({ key, label: text }), (rows, { label }, now) =>
    add(rows, String(label), now, 0),
  ),
  changeRoute(
    'update',
    'Replaces a custom label by another',
    objectOf({ key, old_label: { type: 'string' }, new_label: text }, { is_new_label_must_added: { type: 'boolean' } }),
    (rows, { old_label: old, new_label: label, is_new_label_must_added: must }, now) => {
      const before = rows.get(String(old));
      if (before !== undefined) rows.set(String(old), { ...before, frequency: Math.max(0, before.frequency - 1) });
      if (must === true || rows.has(String(label))) add(rows, String(label), now, 1);
    },
  ),
  changeRoute('delete', 'Removes a custom label', objectOf({ key, label: text }), (rows, { label }) => {
    const row = rows.get(String(label));
    if (row !== undefined) rows.set(String(label), { ...row, isActive: false });
  }),
];

function changeRoute(
  name: 'insert' | 'update' | 'delete',
  summary: string,
  change: object,
  apply: (rows: Rows, change: JsonObject, now: number) => void,
): Route {
  const field = { insert: 'inserted_label', update: 'updated_label', delete: 'deleted_label' }[name];
  return {
    path: `/customlabel/${name}`,
    summary,
    answers: objectOf({ label: labels }),
    body: objectOf({ [field]: change }),
    answer: async ({ body, caller, store, now }) => {
      const asked = body[field] as JsonObject;
      const kind = asked.key as string;
      const profile = await store.profiles.merge(caller.uuid, (before) => {
        const rows = rowsOf(before, kind);
        apply(rows, asked, now());
        return { [kind]: Object.fromEntries(rows) };
      });
      return { label: activeOf(rowsOf(profile, kind)) };
    },
  };
}

/** Reads the labels of a kind from the profile. Ignores values of another form. */
function rowsOf(profile: JsonObject, kind: string): Rows {
  const stored = profile[kind];
  const rows: Rows = new Map();
  for (const [label, row] of isJsonObject(stored) ? Object.entries(stored) : []) {
    if (!isJsonObject(row)) continue;
    const [createdAt, frequency] = [Number(row.createdAt) || 0, Number(row.frequency) || 0];
    rows.set(label, { createdAt, frequency, isActive: row.isActive === true });
  }
  return rows;
}

function activeOf(rows: Rows): string[] {
  return [...rows]
    .filter(([, { isActive }]) => isActive)
    .sort(([a, x], [b, y]) => y.frequency - x.frequency || (a < b ? -1 : 1))
    .map(([label]) => label);
}

function add(rows: Rows, label: string, now: number, uses: number): void {
  const before = rows.get(label);
  if (before === undefined && rows.size >= mostLabels) {
    throw badRequest(`expected at most ${mostLabels} labels in one list, found one more: delete a label first`);
  }
  const { createdAt, frequency } = before ?? { createdAt: now, frequency: 0 };
  rows.set(label, { createdAt, frequency: frequency + uses, isActive: true });
}
