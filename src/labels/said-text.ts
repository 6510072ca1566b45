// What was said about a trip or a stay as plain texts, for people and for tables.
import type { Entry } from '../model/entry.ts';
import type { Said } from './said.ts';

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

/** The summary that the app writes of an answered form; else the name of the form. */
function textOf({ metadata, data }: Entry): string {
  const text = [data.label, data.name].find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof text === 'string' ? text.trim() : metadata.key;
}
