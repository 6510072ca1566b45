// The keys under which people say something about a trip or a place, and what each of them says.
import type { Entry } from '../../model/entry.ts';

/** One key of user input. */
export interface InputKey {
  key: string;
  /** What it is about. */
  about: 'trip' | 'place';
  /**
   * `label`: one word, the last one counts; `survey`: the whole entry, the last one counts; `note`: any number side by
   * side.
   */
  kind: 'label' | 'survey' | 'note';
  /** Its name in `user_input`: the key without its group. */
  name: string;
}

const row = (name: string, about: InputKey['about'], kind: InputKey['kind']): InputKey => ({
  key: `manual/${name}`,
  about,
  kind,
  name,
});

/** Every key of user input. */
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

/** The names of these keys. */
export const inputKeyNames: readonly string[] = inputKeys.map(({ key }) => key);

const byKey = new Map(inputKeys.map((one) => [one.key, one]));

/** Something a person said about a stretch of time. */
export interface Input {
  of: InputKey;
  /** The entry as clients read it. */
  entry: Entry;
  /** Seconds since the epoch; null: open, of the first place or of the one where the user is. */
  start: number | null;
  end: number | null;
}

/** The input that an entry is; null for any other entry. */
export function inputOf(entry: Entry): Input | null {
  const of = byKey.get(entry.metadata.key);
  if (of === undefined) return null;
  const [start, end] = [entry.data.start_ts, entry.data.end_ts].map((ts) => (typeof ts === 'number' ? ts : null));
  return start === null && end === null ? null : { of, entry, start: start ?? null, end: end ?? null };
}
