// Every language of the pages has every text, in its own words, and readers get the language that they wish.
import { expect, it } from 'vitest';
import { createApp } from '../../../src/server/app.ts';
import { acceptedLanguages, languages, textsFor } from '../../../src/web/pages/texts/texts.ts';
import { freshProgram } from '../../cli/kit.ts';
import { appParts } from '../../server/kit.ts';
import { openStoreIn } from '../../support/store.ts';

/** The texts by their path, such as `me.flags.too_fast.0`; functions by their source. */
function flatten(value: unknown, path = ''): Map<string, string> {
  if (typeof value === 'string') return new Map([[path, value]]);
  if (typeof value === 'function') return new Map([[path, '']]);
  const found = new Map<string, string>();
  for (const [name, one] of Object.entries(value as object))
    for (const [key, text] of flatten(one, `${path}.${name}`)) found.set(key, text);
  return found;
}

const english = flatten(languages.en);
const others = Object.keys(languages).filter((name) => name !== 'en');
const isData = (path: string): boolean => path.startsWith('.me.looks');

it.each(others)('%s has the same texts as English', (name) => {
  const paths = (texts: Map<string, string>): string[] => [...texts.keys()].filter((path) => !isData(path)).sort();
  expect(paths(flatten(languages[name]))).toEqual(paths(english));
});

it.each(others)('no sentence of %s is English', (name) => {
  const same = [...flatten(languages[name])].filter(
    ([path, text]) => !isData(path) && text.includes(' ') && english.get(path) === text,
  );
  // Names of shops have no translation.
  expect(same.map(([, text]) => text)).toEqual(['App Store', 'Google Play']);
});

it.each(Object.values(languages))('flags in $ownName do not address the reader, who may be a manager', ({ me }) => {
  const facts = Object.values(me.flags).map(([fact]) => fact);
  const address = /\b(you|your|Sie|Ihnen|Ihre?|vous|votre|vos|usted)\b|^sus?\b/i;
  expect(facts.filter((fact) => address.test(fact))).toEqual([]);
});

it.each(others)('numbers, dates and plurals of %s follow its rules', (name) => {
  const t = languages[name]!;
  const noon = Date.parse('2026-11-17T12:00:00Z') / 1000;
  expect(t.trips(1)).not.toBe(t.trips(2).replace('2', '1'));
  expect(t.length(8123)).toBe('8,1 km');
  expect(t.span(11_040)).toBe('3 h 4 min');
  expect(t.date(noon, 'UTC')).toMatch(/17.+2026/);
  expect(t.date(noon, 'UTC')).not.toBe(languages.en!.date(noon, 'UTC'));
  expect(t.me.zone([t.zoneName(noon, 'Europe/Berlin')])).toMatch(/[Ee]urop/);
  expect(t.day('2026-12-01')).toMatch(name === 'fr' ? /^mardi 1er décembre$/ : /\b1\b/);
});

it('German durations after a preposition are in the dative', () => {
  const { me } = languages.de!;
  expect(me.recorded('9 h', '14 Tage 2 h', '3 %')).toBe('Aufgezeichnet: 9 h von 14 Tagen 2 h (3 %).');
});

it.each([
  ['de', 'und 1 weitere', 'Hier seit Dienstag, 12:00'],
  ['fr', 'et 1 autre', 'Ici depuis mardi à 12:00'],
  ['es', 'y 1 más', 'Aquí desde el martes a las 12:00'],
])('%s says how many others there are, and since when a person is somewhere, as people say it', (name, one, since) => {
  const { me, operator, weekdayAndClock } = languages[name]!;
  expect(me.why.ignored(2)).not.toBe(me.why.ignored(1).replace('1', '2'));
  expect(operator.others(1)).toBe(one);
  expect(me.since(weekdayAndClock(Date.parse('2026-11-17T12:00:00Z') / 1000, 'UTC'))).toBe(since);
});

it('a time of today is shown as a clock time, one of this week with its weekday, an older one as a date', () => {
  const t = textsFor();
  const at = (text: string): number => Date.parse(text) / 1000;
  const shown = (text: string, now: string): string => t.lately(at(text), at(now), 'Europe/Berlin');
  expect(shown('2026-11-17T00:20:00+01:00', '2026-11-17T23:40:00+01:00')).toBe('00:20');
  expect(shown('2026-11-16T23:50:00+01:00', '2026-11-17T00:10:00+01:00')).toBe('Mon 23:50');
  expect(shown('2026-11-10T12:00:00+01:00', '2026-11-17T12:00:00+01:00')).toBe('10 Nov');
});

it('the languages that a browser accepts are read with their weights', () => {
  expect(acceptedLanguages('it, de-CH;q=0.6, fr;q=0.8, en;q=0')).toEqual(['it', 'fr', 'de']);
  expect(textsFor(acceptedLanguages('it, de-CH;q=0.6, fr;q=0.8')).language).toBe('fr');
  expect(textsFor(acceptedLanguages('constructor')).language).toBe('en');
  expect(textsFor(acceptedLanguages(undefined)).language).toBe('en');
});

it('a join page is in the language of a link in its footer, of the browser, or else of the study', async () => {
  const program = await freshProgram();
  await program.succeed('study create sunny --language de');
  await program.succeed(`study config sunny --server https://example.org --out ${program.folder}`);
  const store = await openStoreIn(program.address);
  const app = createApp(appParts({ store, now: () => Date.parse('2026-11-17T12:00:00Z') / 1000 }));
  const expectPage = async (accepted: string, parts: string[], query = '', more = {}): Promise<Headers> => {
    const answer = await app.request(`/join/sunny${query}`, { headers: { 'Accept-Language': accepted, ...more } });
    const page = await answer.text();
    for (const part of parts) expect(page).toContain(part);
    return answer.headers;
  };
  const about = 'Eine Studie über Wege im Alltag.';
  await expectPage('de-DE', ['<html lang="de">', 'Dem stimmen Sie zu', about]);
  await expectPage('fr', ['<html lang="fr">', `<span lang="de">${about}</span>`]);
  await expectPage('it', ['<html lang="de">']);
  const links = ['<html lang="es">', '?lang=fr&#38;sub_group=default'];
  const cookie = (await expectPage('de', links, '?lang=es&sub_group=default')).get('set-cookie')!;
  expect(cookie).toContain('mobility-language=es; Path=/; HttpOnly; SameSite=Lax');
  await expectPage('de', ['<html lang="es">'], '', { Cookie: cookie.split(';')[0]! });
});
