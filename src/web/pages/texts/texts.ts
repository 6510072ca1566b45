// The languages of the pages: one file each. The type of the English one says what a language must have.
import { en } from './en.ts';

/** All words of the pages in one language. */
export type Texts = typeof en;

const languages: Readonly<Record<string, Texts>> = { en };

/** The value of an own property, for names that come from users; undefined if there is none. */
export const ownValue = <T>(words: Readonly<Record<string, T>>, name = ''): T | undefined =>
  Object.hasOwn(words, name) ? words[name] : undefined;

/** The words for a reader who wishes these languages (`Accept-Language`); English if none of them is there. */
export function textsFor(wished = ''): Texts {
  const names = wished.split(',').map((one) => one.trim().slice(0, 2).toLowerCase());
  return languages[names.find((name) => Object.hasOwn(languages, name)) ?? 'en']!;
}
