// The keys of user input about trips and places.
import type { Entry } from '../../model/entry.ts';

export interface InputKey {
  key: string;
  about: 'trip' | 'place';
  /** `label`: one word, the newest counts. `survey`: a whole entry, the newest counts. `note`: all count. */
  kind: 'label' | 'survey' | 'note';
  name: string; // its name in `user_input`: the key without its first part
}

const rows = [
  ['mode_confirm', 'trip', 'label'],
  ['purpose_confirm', 'trip', 'label'],
  ['replaced_mode', 'trip', 'label'],
  ['destination_confirm', 'trip', 'label'],
  ['trip_user_input', 'trip', 'survey'],
  ['trip_addition_input', 'trip', 'note'],
  ['place_user_input', 'place', 'survey'],
  ['place_addition_input', 'place', 'note'],
] as const;

export const inputKeys = rows.map(([name, about, kind]): InputKey => ({ key: `manual/${name}`, about, kind, name }));

export const inputKeyNames: readonly string[] = inputKeys.map(({ key }) => key);

/** A user input about a time range. */
export interface Input {
  of: InputKey;
  entry: Entry; // the entry as clients read it
  /** Seconds since the epoch. The first place has no `start`, and the place where the user is has no `end`: null. */
  start: number | null;
  end: number | null;
}

/** The user input in an entry; null: the entry has another key, or neither a start nor an end. */
export function inputOf(entry: Entry): Input | null {
  const of = inputKeys.find(({ key }) => key === entry.metadata.key);
  const { start_ts, end_ts } = entry.data;
  const [start, end] = [typeof start_ts === 'number' ? start_ts : null, typeof end_ts === 'number' ? end_ts : null];
  return of === undefined || (start ?? end) === null ? null : { of, entry, start, end };
}
