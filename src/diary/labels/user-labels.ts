// What somebody said about one trip or stay, from the inputs that belong to it. The order in which they came plays no
// part.
import type { Entry } from '../../model/entry.ts';
import { identityText } from '../../model/entry.ts';
import type { Input } from './input-keys.ts';

/** The user's own words about one trip or place. */
export interface Said {
  /** By the name of the key: a label is its text, a survey its whole entry. */
  user_input: Record<string, string | Entry>;
  /** Notes, by when they were written. */
  additions: Entry[];
}

/** Nothing was said. */
export const nothingSaid: Said = { user_input: {}, additions: [] };

/**
 * Of several labels or surveys of a key the one written last counts; notes stand side by side, without those that were
 * deleted.
 */
export function saidBy(inputs: readonly Input[]): Said {
  if (inputs.length === 0) return nothingSaid;
  const deleted = new Set(inputs.filter(isDeleted).flatMap(({ entry }) => entry.data.match_id ?? []));
  const active = inputs
    .filter((input) => !isDeleted(input) && !deleted.has(input.entry.data.match_id ?? null))
    .sort(
      (a, b) =>
        writtenAt(a) - writtenAt(b) || (identityText(a.entry.metadata) < identityText(b.entry.metadata) ? -1 : 1),
    );
  const said: Said = { user_input: {}, additions: [] };
  for (const input of active) {
    const { of, entry } = input;
    if (of.kind === 'survey') said.user_input[of.name] = entry;
    else if (of.kind === 'label' && typeof entry.data.label === 'string') said.user_input[of.name] = entry.data.label;
  }
  if (!replacedModeHolds(active)) delete said.user_input.replaced_mode;
  said.additions = lastOfEach(active.filter(({ of }) => of.kind === 'note')).map(({ entry }) => entry);
  return said;
}

const writtenAt = ({ entry }: Input): number => entry.metadata.write_ts;
const isDeleted = ({ entry }: Input): boolean => entry.data.status === 'DELETED';

/** One note for each `match_id`, the last; notes without one all stay. */
function lastOfEach(notes: readonly Input[]): Input[] {
  const last = new Map(notes.map((note, i) => [note.entry.data.match_id ?? i, note]));
  return notes.filter((note, i) => last.get(note.entry.data.match_id ?? i) === note);
}

/**
 * A replaced mode is said together with a mode: it holds while that mode does. When the mode was corrected since to
 * another one without saying anew what that replaced, it is gone.
 */
function replacedModeHolds(active: readonly Input[]): boolean {
  const named = (name: string): Input[] => active.filter(({ of }) => of.name === name);
  const replaced = named('replaced_mode').at(-1);
  const modes = named('mode_confirm');
  if (replaced === undefined || modes.length === 0) return true;
  const then = modes.filter((mode) => writtenAt(mode) <= writtenAt(replaced)).at(-1) ?? modes[0]!;
  return then.entry.data.label === modes.at(-1)!.entry.data.label;
}
