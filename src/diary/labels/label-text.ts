import type { Entry } from '../../model/entry.ts';
import type { UserInput } from './user-labels.ts';

/** Returns inputs as texts: the summary (`label`) of a survey, and one text of all notes. */
export function inputTexts({ user_input, additions }: UserInput): Record<string, string> {
  const texts = Object.entries(user_input).map(([name, input]): [string, string] => [name, textOf(input)]);
  if (additions.length > 0) texts.push(['notes', additions.map(textOf).join('; ')]);
  return Object.fromEntries(texts);
}

/** The most characters of one text, and of all notes about a trip, so that pages are small. */
const mostShown = { text: 200, notes: 1000 };

export function shownTexts({ user_input, additions }: UserInput): Record<string, string> {
  const texts = Object.entries(user_input).map(([name, input]) => [name, cut(textOf(input), mostShown.text)]);
  const notes = additions.map((note) => cut(textOf(note), mostShown.text)).join('; ');
  return { ...Object.fromEntries(texts), ...(notes !== '' && { notes: cut(notes, mostShown.notes) }) };
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** The text of a survey or note is the summary that the app wrote, or else its name or its key. */
function textOf(input: string | Entry): string {
  if (typeof input === 'string') return input;
  const { metadata, data } = input;
  const text = [data.label, data.name].find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof text === 'string' ? text.trim() : metadata.key;
}
