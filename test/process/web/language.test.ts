// A second language needs one more file only: every word of every page is in a file of texts. Here each text is marked,
// so a page without its marked texts holds data only.
import { expect, it, vi } from 'vitest';
import { webRoutes } from '../../../src/web/routes.ts';
import { openPages } from '../../web/kit.ts';

vi.mock('../../../src/web/pages/texts/en.ts', async (original) => {
  // A language, and classes of the style sheet, are not words.
  const noWords = ['language', 'looks'];
  const marked = (value: unknown): unknown => {
    if (typeof value === 'string') return `⟦${value}⟧`;
    if (typeof value === 'function') return (...args: unknown[]) => marked(value(...args));
    if (Array.isArray(value)) return value.map(marked);
    if (typeof value !== 'object' || value === null) return value;
    const kept = Object.entries(value).map(([name, one]) => [name, noWords.includes(name) ? one : marked(one)]);
    return Object.fromEntries(kept);
  };
  const { en } = await original<{ en: object }>();
  return { en: marked(en) };
});

/** What people read on a page, or hear, without marked texts and data. */
function unmarked(html: string, data: readonly string[]): string[] {
  let text = html
    .replace(/<(style|code)[^>]*>.*?<\/\1>/gs, ' ')
    .replace(/<[^>]*?\s(?:aria-label|title|alt|placeholder)="([^"]*)"[^>]*>/g, ' $1 ')
    .replace(/<[^>]*>|&#\d+;/g, ' ');
  for (let before = ''; before !== text; ) {
    before = text;
    text = text.replace(/⟦[^⟦⟧]*⟧/g, ' ');
  }
  for (const one of data) text = text.replaceAll(one, ' ');
  return text.match(/\p{L}{2,}/gu) ?? [];
}

it('every word of every page comes from the file of its language', async () => {
  const now = Date.parse('2024-03-29T12:00:00Z') / 1000;
  const well = { seed: 'words', from: '2024-03-25' };
  const { store, run, ...pages } = await openPages({ users: 6, days: 3, now: () => now, create: ['--listed'], well });
  const names = [1, 2, 3, 4, 5, 6].map((i) => `sim-words-${i}@example.org`);
  await store.users.register('idle@example.org', { now: now - 9 * 86_400, study: 'sunny' });
  const { uuid } = (await store.users.byEmail(names[1]!))!;
  await store.profiles.merge(uuid, { erasure_asked_ts: now, last_refusal_ts: now });
  const { stdout: report } = await run('report', '--from', '2024-02', '--html', '-');
  const { stdout: diary } = await run('diary', '--user', names[0]!, '--day', '2024-03-26', '--html', '-');
  const headers = { Cookie: `${pages.person}; ${pages.manager}`, Accept: 'text/html' };
  const page = async (path: string): Promise<string> => (await pages.request(path, { headers })).text();
  const people = await page('/study/sunny');
  const shown = [...people.matchAll(/href="\/study\/sunny\/p\/(\w+)">/g)].map((m) => m[1]!);
  const trip = /correct=(\w+)/.exec(await page('/me/day/2024-03-26'))![1]!;
  const paths = webRoutes.flatMap(({ method, path }) =>
    method === 'POST' || /jsonl|geojson|csv|tiles/.test(path)
      ? []
      : [path.replace(':study', 'sunny').replace(':id', shown[0]!).replace(':day', '2024-03-26')],
  );
  const others = [`/me/day/2024-03-26?correct=${trip}`, '/me/day/2024-03-30', '/me/data?done=word', '/join/sunny'];
  const noTexts = ['Deutsch', 'Français', 'Español', 'sunny', 'e-mission', 'UTC', 'mira', 'idle@example.org'];
  const data = [...noTexts, ...names, ...shown];
  for (const path of [...paths.map((one) => one.replace(':month', '2024-03').replace(':name', 'x')), ...others]) {
    const html = await page(path);
    expect(html, path).toContain('⟦');
    expect([path, unmarked(html, data)]).toEqual([path, []]);
  }
  for (const html of [report, diary]) expect(unmarked(html, data)).toEqual([]);
  expect(unmarked('<p title="Here">⟦a ⟦b⟧⟧ sunny <b>there</b></p>', data)).toEqual(['Here', 'there']);
});
