import { de } from './de.ts';
import { en, type Texts } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';

export type { Texts };

export const languages: Readonly<Record<string, Texts>> = { en, de, fr, es };

/** Ignores inherited properties, because `name` may be a text that a user wrote. */
export const ownValue = <T>(words: Readonly<Record<string, T>>, name = ''): T | undefined =>
  Object.hasOwn(words, name) ? words[name] : undefined;

/** The preferred language comes first: `de-CH, fr;q=0.8` becomes `de`, `fr`. */
export function acceptedLanguages(header = ''): string[] {
  const wishes = header.split(',').flatMap((part) => {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
    const weight = parameters.map((one) => /^\s*q=([\d.]+)$/.exec(one)?.[1]).find((one) => one !== undefined);
    const language = tag.split('-')[0]!.trim();
    return language === '' || Number(weight ?? 1) === 0 ? [] : [{ language, weight: Number(weight ?? 1) }];
  });
  return [...new Set(wishes.sort((a, b) => b.weight - a.weight).map(({ language }) => language))];
}

export const textsFor = (preferred: readonly string[] = []): Texts =>
  languages[preferred.find((name) => Object.hasOwn(languages, name)) ?? 'en']!;
