// Reads files of OwnTracks: `.rec` files of OwnTracks Recorder, and messages as JSON. Uses the code of the endpoint.
import type { Mapped } from '../../intake/apps/other-entry.ts';
import { fromOwnTracks } from '../../intake/apps/owntracks.ts';
import type { JsonObject } from '../../model/json.ts';
import type { FileFormat, Found, SourceReadOptions } from '../import-format.ts';
import { jsonRecords } from '../read/json-records.ts';
import type { SourceFile } from '../source.ts';

/**
 * Matches `2024-03-12T07:57:27Z<tab>*    <tab>{…}`, with any blanks between. Other lines of a `.rec` file have no JSON.
 */
const recLine = /^(\d{4}-\d\d-\d\dT[\d:.]+Z)\s+\S+(?:\s+(\{.*))?/;

export const ownTracks: FileFormat = {
  name: 'owntracks',
  recognises: ({ head }) =>
    /"_type"\s*:\s*"(location|transition|waypoint|steps|beacon|encrypted|lwt)"/.test(head.toString('utf8')),
  read: readOwnTracks,
};

async function* readOwnTracks(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  const isMessage = ({ _type }: JsonObject): boolean => _type !== undefined;
  for await (const record of jsonRecords(file, onBytes, isMessage, messageIn)) {
    if ('unread' in record) yield record;
    else yield* mappedFound(fromOwnTracks(record.value));
  }
}

function messageIn(line: string): string | null {
  const [, stamp, json] = recLine.exec(line) ?? [];
  if (stamp !== undefined) return json ?? null;
  return line.trim() === '' ? null : line;
}

export function* mappedFound({ entries, unusable, skipped }: Mapped): Generator<Found> {
  for (const entry of entries) yield { owner: null, entry };
  for (const one of unusable) yield { owner: null, unusable: one };
  for (let i = 0; i < skipped; i++) yield { skipped: 'a message without travel' };
}
