// The user's own words for modes and purposes, kept in the profile: what the apps of 2024/25 offer beside the study's
// choices.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { badRequest } from '../problem.ts';
import type { Route, RouteCall } from './route.ts';

/** What labels are about: fields of the profile. */
const kinds = ['mode', 'purpose'];

/** Labels that one user keeps of one kind, and characters of one: a profile is read and written as a whole. */
const mostLabels = 500;
const longestLabel = 200;

interface LabelRow {
  createdAt: number;
  frequency: number;
  isActive: boolean;
}

const text = { type: 'string', minLength: 1, maxLength: longestLabel } as const;
const key = { enum: kinds } as const;
const labelOf = (name: string, properties: Record<string, object>, required = Object.keys(properties)) =>
  ({
    type: 'object',
    required: [name],
    properties: { [name]: { type: 'object', required, properties } },
  }) as const;
const active = {
  type: 'object',
  required: ['label'],
  properties: { label: { type: 'array', items: { type: 'string' } } },
} as const;

/** `/customlabel/*`. */
export const customLabelRoutes: readonly Route[] = [
  {
    path: '/customlabel/get',
    handler: 'customlabel.get',
    summary: 'Returns custom labels by kind',
    caller: 'registered',
    answers: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
    body: { type: 'object', required: ['keys'], properties: { keys: { type: 'array', items: key, maxItems: 10 } } },
    answer: async (call) => {
      const profile = await profileOf(call);
      return Object.fromEntries((call.body.keys as string[]).map((kind) => [kind, activeOf(rowsOf(profile, kind))]));
    },
  },
  {
    path: '/customlabel/insert',
    handler: 'customlabel.insert',
    summary: 'Adds a custom label',
    caller: 'registered',
    answers: active,
    body: labelOf('inserted_label', { key, label: text }),
    answer: (call) => change(call, 'inserted_label', (rows, { label }, now) => add(rows, String(label), now, 0)),
  },
  {
    path: '/customlabel/update',
    handler: 'customlabel.update',
    summary: 'Replaces a custom label by another',
    caller: 'registered',
    answers: active,
    body: labelOf(
      'updated_label',
      { key, old_label: { type: 'string' }, new_label: text, is_new_label_must_added: { type: 'boolean' } },
      ['key', 'old_label', 'new_label'],
    ),
    answer: (call) =>
      change(
        call,
        'updated_label',
        (rows, { old_label: old, new_label: label, is_new_label_must_added: must }, now) => {
          const before = rows.get(String(old));
          if (before !== undefined) rows.set(String(old), { ...before, frequency: Math.max(0, before.frequency - 1) });
          if (must === true || rows.has(String(label))) add(rows, String(label), now, 1);
        },
      ),
  },
  {
    path: '/customlabel/delete',
    handler: 'customlabel.delete',
    summary: 'Removes a custom label',
    caller: 'registered',
    answers: active,
    body: labelOf('deleted_label', { key, label: text }),
    answer: (call) =>
      change(call, 'deleted_label', (rows, { label }) => {
        const row = rows.get(String(label));
        if (row !== undefined) rows.set(String(label), { ...row, isActive: false });
      }),
  },
];

async function profileOf({ caller, store }: RouteCall): Promise<JsonObject> {
  return (await store.profiles.get(caller.uuid)) ?? {};
}

/** The labels of a kind; other values in the profile are ignored. */
function rowsOf(profile: JsonObject, kind: string): Map<string, LabelRow> {
  const stored: JsonValue | undefined = profile[kind];
  const rows = isJsonObject(stored) ? Object.entries(stored) : [];
  return new Map(
    rows.flatMap(([label, row]) => {
      if (!isJsonObject(row)) return [];
      const { createdAt, frequency, isActive } = row;
      return [
        [label, { createdAt: Number(createdAt) || 0, frequency: Number(frequency) || 0, isActive: isActive === true }],
      ];
    }),
  );
}

/** Most used first, then by name. */
function activeOf(rows: ReadonlyMap<string, LabelRow>): string[] {
  return [...rows]
    .filter(([, { isActive }]) => isActive)
    .sort(([a, x], [b, y]) => y.frequency - x.frequency || (a < b ? -1 : 1))
    .map(([label]) => label);
}

function add(rows: Map<string, LabelRow>, label: string, now: number, uses: number): void {
  const known = rows.get(label);
  if (known === undefined && rows.size >= mostLabels)
    throw badRequest(`expected at most ${mostLabels} labels of a kind`);
  const { createdAt, frequency } = known ?? { createdAt: now, frequency: 0 };
  rows.set(label, { createdAt, frequency: frequency + uses, isActive: true });
}

/** Changes the labels of the kind that the field `name` of the body names, and answers with the active ones. */
async function change(
  call: RouteCall,
  name: string,
  apply: (rows: Map<string, LabelRow>, asked: JsonObject, now: number) => void,
): Promise<object> {
  const asked = call.body[name] as JsonObject;
  const rows = rowsOf(await profileOf(call), asked.key as string);
  apply(rows, asked, call.now());
  const stored = Object.fromEntries([...rows].map(([label, row]) => [label, { ...row }]));
  await call.store.profiles.merge(call.caller.uuid, { [asked.key as string]: stored });
  return { label: activeOf(rows) };
}
