import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import type { Trip } from '../../model/trip.ts';
import type { Input } from './input-keys.ts';

const wordKeys = { mode: keys.modeConfirm, purpose: keys.purposeConfirm, replaced: keys.replacedMode } as const;

export type LabelName = keyof typeof wordKeys;

/** Makes a label: in lower case, with underscores. Returns null if the text cannot be a label. */
export function labelWord(given: string): string | null {
  const word = given.trim().toLowerCase().replaceAll(/\s+/g, '_');
  return word === '' || word.length > 100 ? null : word;
}

type LabelAuthor = { origin: JsonObject; now: number };

/** `now` is also the `match_id` by which `undoOfLabels` finds the entries. */
export function labelEntries(
  { start_ts, end_ts, start_zone }: Pick<Trip, 'start_ts' | 'end_ts' | 'start_zone'>,
  words: Partial<Record<LabelName, string>>,
  { origin, now }: LabelAuthor,
): Entry[] {
  return Object.entries(words).map(([name, label]) => ({
    metadata: {
      key: wordKeys[name as LabelName],
      type: 'message',
      platform: 'other',
      origin,
      write_ts: now,
      time_zone: start_zone,
    },
    data: { start_ts, end_ts, label, match_id: String(now) },
  }));
}

export const undoOfLabels = (inputs: readonly Input[], id: string, { origin, now }: LabelAuthor): Entry[] =>
  inputs
    .filter(({ of, entry: { data } }) => of.kind === 'label' && data.match_id === id && data.status !== 'DELETED')
    .map(({ entry: { metadata, data } }) => ({
      metadata: { ...metadata, origin, write_ts: now },
      data: { start_ts: data.start_ts!, end_ts: data.end_ts!, match_id: id, status: 'DELETED' },
    }));
