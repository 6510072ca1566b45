import { type Entry, identityText } from '../../model/entry.ts';
import type { Input } from './input-keys.ts';

export interface UserInput {
  user_input: Record<string, string | Entry>;
  additions: Entry[]; // notes, in the order in which they were written
  label_ids?: Record<string, string>; // the `match_id` of each label, by its name
}

/** The newest label or survey of a key counts, and all notes that are not deleted. */
export function combineInputs(inputs: readonly Input[]): UserInput {
  const deleted = new Set(inputs.filter(isDeleted).flatMap(({ entry }) => entry.data.match_id ?? []));
  const active = inputs
    .filter((input) => !isDeleted(input) && !deleted.has(input.entry.data.match_id ?? null))
    .sort((a, b) => writtenAt(a) - writtenAt(b) || (identityIn(a) < identityIn(b) ? -1 : 1));
  const combined: UserInput = { user_input: {}, additions: [] };
  for (const input of active) {
    const { of, entry } = input;
    if (of.kind === 'survey') combined.user_input[of.name] = entry;
    else if (of.kind === 'label' && typeof entry.data.label === 'string') {
      combined.user_input[of.name] = entry.data.label;
      const { match_id: id } = entry.data;
      if (typeof id === 'string') combined.label_ids = { ...combined.label_ids, [of.name]: id };
    }
  }
  if (!replacedModeHolds(active)) delete combined.user_input.replaced_mode;
  combined.additions = lastOfEach(active.filter(({ of }) => of.kind === 'note')).map(({ entry }) => entry);
  return combined;
}

const writtenAt = ({ entry }: Input): number => entry.metadata.write_ts;
const identityIn = ({ entry }: Input): string => identityText(entry.metadata);
const isDeleted = ({ entry }: Input): boolean => entry.data.status === 'DELETED';

function lastOfEach(notes: readonly Input[]): Input[] {
  const last = new Map(notes.map((note, i) => [note.entry.data.match_id ?? i, note]));
  return notes.filter((note, i) => last.get(note.entry.data.match_id ?? i) === note);
}

/** False if the user stated another mode after the replaced mode, which is then out of date. */
function replacedModeHolds(active: readonly Input[]): boolean {
  const named = (name: string): Input[] => active.filter(({ of }) => of.name === name);
  const replaced = named('replaced_mode').at(-1);
  const modes = named('mode_confirm');
  if (replaced === undefined || modes.length === 0) return true;
  const then = modes.filter((mode) => writtenAt(mode) <= writtenAt(replaced)).at(-1) ?? modes[0]!;
  return then.entry.data.label === modes.at(-1)!.entry.data.label;
}
