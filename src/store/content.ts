// What rows of each collection contain, as text: the same for equal content on every backend, whatever wrote it.
import type { Entry } from '../model/entry.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import { jsonText } from '../model/json-text.ts';
import type { TripRecord } from '../model/trip.ts';
import type { Document, ErrorRow, WaitingEntry } from './store.ts';

const contentOf = ({ metadata, data }: Entry): JsonValue => [metadata as JsonValue, data];

/** A waiting entry, without its revision. */
export function waitingContent({ entry, received_ts, kept, failed }: Omit<WaitingEntry, 'revision'>): string {
  return jsonText([contentOf(entry), received_ts, kept ?? false, failed ? [failed.first_ts, failed.tries] : null]);
}

/** An entry of the timeseries. */
export function keptContent({ entry, received_ts }: { entry: Entry; received_ts: number }): string {
  return jsonText([contentOf(entry), received_ts]);
}

/** An entry that was set aside, without its id. */
export function errorContent(row: Omit<ErrorRow, 'id'>): string {
  const { entry, identity, reason, message, first_ts, last_ts, tries, received_ts } = row;
  const place = identity && [identity.key, identity.write_ts];
  return jsonText([entry, place, reason, message, first_ts, last_ts, tries, received_ts]);
}

/** A document, without its key. */
export function documentContent({ write_ts, data }: Document): string {
  return jsonText([write_ts, data]);
}

/** A link of the chain of trips. */
export function linkContent(link: TripRecord): string {
  return jsonText(link as unknown as JsonObject);
}

/** An object whose fields are in any order: a profile, a state, a token, a record of the registry. */
export function fieldsContent(object: object): string {
  const names = Object.keys(object).sort();
  return jsonText(names.map((name) => [name, (object as JsonObject)[name]!]));
}
