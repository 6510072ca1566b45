// User input about a trip or a stay as plain texts, for people and for tables.
import type { Entry } from '../../model/entry.ts';
import type { UserInput } from './user-labels.ts';

/** Labels by name, a survey as its own summary (`label`), and all notes as one text. */
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

/** Most characters of one text, and of all notes about one trip. */
const mostShown = { text: 200, notes: 1000 };

/** Like `inputTexts`, cut to a length that keeps pages small. */
export function shownTexts(input: UserInput): Record<string, string> {
  const notes = input.additions.map((note) => cut(textOf(note), mostShown.text)).join('; ');
  const texts = inputTexts({ ...input, additions: [] });
  return {
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, cut(text, mostShown.text)])),
    ...(notes !== '' && { notes: cut(notes, mostShown.notes) }),
  };
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** The summary that the app writes of an answered form; else the name of the form. */
function textOf({ metadata, data }: Entry): string {
  const text = [data.label, data.name].find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof text === 'string' ? text.trim() : metadata.key;
}
