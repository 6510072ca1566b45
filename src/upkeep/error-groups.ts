import { isJsonObject, type JsonValue, kindOf } from '../model/json.ts';
import { faultReason } from '../model/rejections.ts';
import { everyError } from '../store/paging.ts';
import type { ErrorRow, PersonFigures, Store } from '../store/store.ts';
import { platformOf } from './recover-user.ts';

export type ErrorFilter = { key?: string; reason?: string; platform?: string; appVersion?: string };

export type ErrorGroup = ReturnType<typeof withMessage>;

/** Returns faults of the program first, and then the groups with the most entries first. */
export async function groupErrors(
  store: Store,
  users: AsyncIterable<{ uuid: string }>,
  filter: ErrorFilter,
): Promise<ErrorGroup[]> {
  const groups: Groups = new Map();
  for await (const { uuid } of users) {
    const figures = await figuresWithErrors(store, uuid, filter);
    if (figures === null) continue;
    const { key, reason, platform } = filter;
    const version = appVersionOf(figures);
    const own = new Set<ReturnType<typeof newGroup>>();
    for await (const row of everyError(store, uuid, { key, reason })) {
      if (platform === undefined || platformOf(row) === platform) own.add(addRow(groups, row, version));
    }
    for (const group of own) group.people += 1;
  }
  const found = [...groups.values()].map(withMessage);
  return found.sort((a, b) => Number(b.fault) - Number(a.fault) || b.entries - a.entries);
}

/** Chooses the most common message of a group. */
function withMessage({ messages, ...group }: ReturnType<typeof newGroup>) {
  const [message, { id }] = [...messages].reduce((a, b) => (b[1].count > a[1].count ? b : a));
  return { ...group, message, other_messages: messages.size - 1, id };
}

/** `version`: the app version in the user's profile. */
function newGroup({ reason, identity, entry, first_ts, last_ts }: ErrorRow, version: string | null) {
  const named = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata.key : null;
  const key = identity?.key ?? (typeof named === 'string' ? named : null);
  const platform = platformOf({ entry });
  const fault = reason === faultReason; // a converter failed: the program is wrong, not the entry
  const messages = new Map<string, { id: string; count: number }>();
  return { fault, reason, key, platform, version, entries: 0, people: 0, first_ts, last_ts, messages };
}

type Groups = Map<string, ReturnType<typeof newGroup>>;

function addRow(groups: Groups, row: ErrorRow, version: string | null): ReturnType<typeof newGroup> {
  const added = newGroup(row, version);
  const name = JSON.stringify([added.reason, added.key, added.platform, version]);
  const group = groups.get(name) ?? added;
  groups.set(name, group);
  group.entries += 1;
  const { id, count } = group.messages.get(row.message) ?? { id: row.id, count: 0 };
  group.messages.set(row.message, { id, count: count + 1 });
  group.first_ts = Math.min(group.first_ts, row.first_ts);
  group.last_ts = Math.max(group.last_ts, row.last_ts);
  return group;
}

function appVersionOf({ profile }: Pick<PersonFigures, 'profile'>): string | null {
  const { client_app_version: version } = profile;
  return typeof version === 'string' ? version : null;
}

/** Returns null if the user has no rejected entries, or another app version than requested. */
export async function figuresWithErrors(
  store: Store,
  uuid: string,
  { appVersion }: ErrorFilter = {},
): Promise<PersonFigures | null> {
  const [figures] = await store.users.figures({ uuid });
  if (figures === undefined || figures.set_aside.length === 0) return null;
  return appVersion === undefined || appVersionOf(figures) === appVersion ? figures : null;
}

/**
 * Replaces values by their kinds, except some metadata, so that the result reveals no location:
 *
 *   { metadata: { key: 'background/location', … }, data: { latitude: 48.1, ts: 1 } }
 *   { metadata: { key: 'background/location', … }, data: { latitude: 'number', ts: 'number' } }
 */
export function withoutValues(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return kindOf(entry);
  const { metadata, data, ...others } = entry;
  return {
    metadata: kindsIn(metadata, ['key', 'platform', 'type', 'write_ts', 'time_zone', 'plugin']),
    data: kindsIn(data),
    ...(Object.keys(others).length > 0 && { others: kindsIn(others) }),
  };
}

function kindsIn(value: JsonValue | undefined, shown: readonly string[] = []): JsonValue {
  if (!isJsonObject(value)) return kindOf(value);
  const fields = Object.entries(value).map(([name, one]) => [name, shown.includes(name) ? one : kindOf(one)]);
  return Object.fromEntries(fields) as JsonValue;
}
