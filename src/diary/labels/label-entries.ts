// Builds the entries of labels as the app writes them.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import type { Trip } from '../../model/trip.ts';

const wordKeys = { mode: keys.modeConfirm, purpose: keys.purposeConfirm, replaced: keys.replacedMode } as const;

/** What a label is about. */
export type LabelName = keyof typeof wordKeys;

/** A label as the app writes it, in lower case with underscores; null for a text that cannot be one. */
export function labelWord(given: string): string | null {
  const word = given.trim().toLowerCase().replaceAll(/\s+/g, '_');
  return word === '' || word.length > 100 ? null : word;
}

/** The entries that label a trip. `origin`: the program that writes them; `now`: seconds since the epoch. */
export function labelEntries(
  { start_ts, end_ts, start_zone }: Pick<Trip, 'start_ts' | 'end_ts' | 'start_zone'>,
  words: Partial<Record<LabelName, string>>,
  { origin, now }: { origin: JsonObject; now: number },
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
    data: { start_ts, end_ts, label },
  }));
}
