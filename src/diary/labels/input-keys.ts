// The keys of user input about trips and places.
import type { Entry } from '../../model/entry.ts';

export interface InputKey {
  key: string;
  about: 'trip' | 'place';
  /** `label`: one word, the newest counts. `survey`: a whole entry, the newest counts. `note`: all count. */
  kind: 'label' | 'survey' | 'note';
  name: string; // its name in `user_input`: the key without its first part
}

const row = (name: string, about: InputKey['about'], kind: InputKey['kind']): InputKey => ({
  key: `manual/${name}`,
  about,
  kind,
  name,
});

export const inputKeys: readonly InputKey[] = [
  row('mode_confirm', 'trip', 'label'),
  row('purpose_confirm', 'trip', 'label'),
  row('replaced_mode', 'trip', 'label'),
  row('destination_confirm', 'trip', 'label'),
  row('trip_user_input', 'trip', 'survey'),
  row('trip_addition_input', 'trip', 'note'),
  row('place_user_input', 'place', 'survey'),
  row('place_addition_input', 'place', 'note'),
];

export const inputKeyNames: readonly string[] = inputKeys.map(({ key }) => key);

const byKey = new Map(inputKeys.map((one) => [one.key, one]));

/** A user input about a time range. */
export interface Input {
  of: InputKey;
  entry: Entry; // the entry as clients read it
  /** Seconds since the epoch; null: open, as for the first place and the place where the user is. */
  start: number | null;
  end: number | null;
}

/** The user input in an entry; null: the entry has another key, or neither a start nor an end. */
export function inputOf(entry: Entry): Input | null {
  const of = byKey.get(entry.metadata.key);
  if (of === undefined) return null;
  const [start, end] = [entry.data.start_ts, entry.data.end_ts].map((ts) => (typeof ts === 'number' ? ts : null));
  return start === null && end === null ? null : { of, entry, start: start ?? null, end: end ?? null };
}
