// Converts user input about a trip or a stay to plain texts, for pages and tables.
import type { Entry } from '../../model/entry.ts';
import type { UserInput } from './user-labels.ts';

/** Converts input to texts: labels by name, surveys as their summary (`label`), and all notes as one text. */
export function inputTexts({ user_input, additions }: UserInput): Record<string, string> {
  const texts = Object.entries(user_input).map(([name, input]) => [
    name,
    typeof input === 'string' ? input : textOf(input),
  ]);
  return {
    ...Object.fromEntries(texts),
    ...(additions.length > 0 && { notes: additions.map(textOf).join('; ') }),
  };
}

/** The maximum number of characters of one text, and of all notes about a trip. */
const mostShown = { text: 200, notes: 1000 };

/** Like `inputTexts`, but cut, so that pages stay small. */
export function shownTexts(input: UserInput): Record<string, string> {
  const notes = input.additions.map((note) => cut(textOf(note), mostShown.text)).join('; ');
  const texts = inputTexts({ ...input, additions: [] });
  return {
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, cut(text, mostShown.text)])),
    ...(notes !== '' && { notes: cut(notes, mostShown.notes) }),
  };
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** The summary of an answered form, which the app writes; otherwise the name of the form. */
function textOf({ metadata, data }: Entry): string {
  const text = [data.label, data.name].find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof text === 'string' ? text.trim() : metadata.key;
}
