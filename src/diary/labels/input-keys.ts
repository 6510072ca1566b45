import type { Entry } from '../../model/entry.ts';

export interface InputKey {
  key: string;
  about: 'trip' | 'place';
  /** The newest `label` (one word) or `survey` (a whole entry) of a key counts. All notes count. */
  kind: 'label' | 'survey' | 'note';
  name: string; // in `user_input`: the key without its first part
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

export interface Input {
  of: InputKey;
  entry: Entry; // in the form that clients read
  /** s; null for the start of the first place and the end of the present place. */
  start: number | null;
  end: number | null;
}

export function inputOf(entry: Entry): Input | null {
  const of = inputKeys.find(({ key }) => key === entry.metadata.key);
  const { start_ts, end_ts } = entry.data;
  const [start, end] = [typeof start_ts === 'number' ? start_ts : null, typeof end_ts === 'number' ? end_ts : null];
  return of === undefined || (start ?? end) === null ? null : { of, entry, start, end };
}
