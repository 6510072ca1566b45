// What was said about a trip or a stay as plain texts, for people and for tables.
import type { Entry } from '../../model/entry.ts';
import type { Said } from './user-labels.ts';

/** Labels by name, a survey as its own summary (`label`), and notes as one text; only what was said. */
export function saidTexts({ user_input, additions }: Said): Record<string, string> {
  const texts = Object.entries(user_input).map(([name, said]) => [
    name,
    typeof said === 'string' ? said : textOf(said),
  ]);
  return {
    ...Object.fromEntries(texts),
    ...(additions.length > 0 && { notes: additions.map(textOf).join('; ') }),
  };
}

/** Characters of one text that a diary shows, and of all texts about one trip. */
const mostShown = { text: 200, notes: 1000 };

/** The same for a diary to show: whatever was written, a page stays a page. */
export function shownTexts(said: Said): Record<string, string> {
  const notes = said.additions.map((note) => cut(textOf(note), mostShown.text)).join('; ');
  const texts = saidTexts({ ...said, additions: [] });
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
