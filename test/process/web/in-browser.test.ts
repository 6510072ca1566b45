// Pages of the server in a real browser: signing in, looking, labelling, keyboard, colours and sizes, nothing from
// elsewhere. Without Chromium the tests are skipped.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openTiles } from '../../../src/web/pmtiles.ts';
import { listen } from '../../server/kit.ts';
import { axeFindings, type BrowserPage, browserPath, openBrowser } from '../../support/browser.ts';
import { atEnd, tempFolder } from '../../support/clean-up.ts';
import { greyPixel, pmtiles } from '../../support/pmtiles.ts';
import { until } from '../../support/until.ts';
import { words } from '../../support/words.ts';
import { openPages, type Pages } from '../../web/kit.ts';

const found = browserPath();
const day = '2024-03-26';
const who = 'sim-browser-1@example.org';
const screen = { height: 700, deviceScaleFactor: 1, mobile: false };

describe.skipIf(found === null)('pages of the server in Chromium (tools/browser.mjs)', () => {
  let pages: Pages;
  let page: BrowserPage;
  let address: string;

  beforeAll(async () => {
    const tiles = join(tempFolder(), 'map.pmtiles');
    await writeFile(tiles, pmtiles([{ id: 0, run: 4 ** 19, image: greyPixel }]));
    const begun = Date.parse(`${day}T12:00:00Z`) / 1000 + 3 * 86_400;
    pages = await openPages({
      ...{ users: 1, days: 3, now: () => begun + performance.now() / 1000, create: ['--listed'] },
      well: { seed: 'browser', from: '2024-03-25' },
      parts: { tiles: await openTiles(tiles) },
    });
    address = `http://127.0.0.1:${(await listen(pages.app)).port}`;
    page = await openBrowser(found!);
    atEnd(() => page.close());
  });

  // A failed test must not leave scripts disabled: axe-core would never end.
  afterEach(() => page.send('Emulation.setScriptExecutionDisabled', { value: false }));

  const path = (): Promise<string> => page.value('location.pathname');
  const setWidth = (width: number) => page.send('Emulation.setDeviceMetricsOverride', { ...screen, width });
  const text = (selector: string): Promise<string> =>
    page.value(`document.querySelector(${JSON.stringify(selector)}).textContent`);

  async function signIn(): Promise<void> {
    const { stdout } = await pages.run('users', 'link', who, '--server', address);
    await page.open(stdout.trim());
    await page.follow('main button');
  }

  it('a link leads to the days of its owner and from day to day, without scripts', async () => {
    await page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await signIn();
    expect(await path()).toBe('/me');
    await page.open(`${address}/me/day/${day}`);
    expect(await text('h1')).toBe('Tuesday 26\u00a0March 2024');
    const tiles = "performance.getEntriesByType('resource').filter((one) => one.name.includes('/me/tiles/'))";
    const images = await page.value<number>("document.querySelectorAll('.map .base image').length");
    expect(images).toBeGreaterThan(3);
    const loaded = `${tiles}.filter((one) => one.responseStatus === 200).length`;
    await until(async () => (await page.value(loaded)) === images);
    expect(await text('.mapc p')).toContain('© Nobody');
    const links = { 'a[rel=next]': '27', 'a[rel=prev]': '26', '.week li:first-child a': '25' };
    for (const [link, date] of Object.entries(links)) {
      await page.follow(link);
      expect(await path()).toBe(`/me/day/2024-03-${date}`);
    }
  });

  it('a trip is labelled from its card, and the card shows the label', async () => {
    await page.open(`${address}/me/day/${day}`);
    await page.follow('.trip .fold');
    await page.value(`document.querySelector('.trip input[value=bus]').click()`);
    await page.value(`document.querySelector('.trip select').value = 'work'`);
    await page.follow('.trip button');
    expect(await text('[role=status]')).toContain('Saved.');
    expect(await text('.trip')).toContain('Your label: Bus · Going to work');
    expect(await page.value('location.hash')).toMatch(/^#trip-[0-9a-f]{24}$/);
  });

  it('the keyboard reaches the content first, then every link and form, and the focus is visible', async () => {
    await page.open(`${address}/me/day/${day}`);
    await page.press('Tab');
    expect(await page.value('document.activeElement.hash')).toBe('#content');
    const seen = new Set<string>();
    for (;;) {
      await page.press('Tab');
      const focus = '[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]';
      const [name, outline] = await page.value<[string, string]>(focus);
      if (name === 'BODY') break;
      expect([name, outline]).toEqual([name, 'solid']);
      seen.add(name);
    }
    expect([...seen].sort()).toEqual(['A', 'BUTTON', 'SUMMARY']);
  });

  it('a trip that is shown on the map is emphasised there, and the others are pale', async () => {
    await page.open(`${address}/me/day/${day}`);
    await page.value(`document.querySelectorAll('.map-link')[1].click()`);
    const [edge, ...opacities] = await page.value<string[]>(`[
      getComputedStyle(document.querySelector('.map .one:target .case')).strokeWidth,
      ...[...document.querySelectorAll('.map .one:not(:target)')].map((one) => getComputedStyle(one).opacity)]`);
    expect([edge, [...new Set(opacities)]]).toEqual(['9px', ['0.35']]);
  });

  it.each([
    ['light', 'en', [1280, 390, 320]],
    ['dark', 'de', [1280, 390, 320]],
    ['light', 'fr', [390]],
    ['dark', 'es', [390]],
  ])(
    'axe-core finds no fault in %s colours and in %s, no content is cut off, and no file is from another server',
    async (scheme, language, widths) => {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
      await page.open(`${address}/?lang=${language}`);
      expect(await page.value('document.documentElement.lang')).toBe(language);
      await page.open(`${address}/sign-in/study`);
      await page.value(`document.querySelector('[name=name]').value = 'mira'`);
      await page.value(`document.querySelector('[name=password]').value = ${JSON.stringify(pages.password)}`);
      await page.follow('main button');
      await page.open(`${address}/me/day/${day}`);
      const searches = `[...document.querySelectorAll('.trip .fold')].map((one) => one.search)`;
      const [correct, why] = await page.value<string[]>(searches);
      await page.open(`${address}/study/sunny`);
      const person = await page.value<string>(`document.querySelector('tbody a').pathname`);
      const paths = words(`
        / /sign-in /sign-in/study /me /me/day/${day} /me/day/${day}${correct} /me/day/${day}${why} /me/day/2024-03-30
        /me/month /me/data /study/sunny /study/sunny?show=never ${person} /study/sunny/figures/2024-03
        /study/sunny/flagged /study/sunny/export?done=large /study /operator /join/sunny /join/none /nowhere
      `);
      for (const one of paths) {
        await page.open(`${address}${one}`);
        await page.value(`for (const fold of document.querySelectorAll('details')) fold.open = true`);
        const beyond = 'document.documentElement.scrollWidth > innerWidth';
        for (const width of widths) {
          await setWidth(width);
          expect([one, width, await axeFindings(page)]).toEqual([one, width, []]);
          expect([one, width, await page.value(beyond)]).toEqual([one, width, false]);
        }
        await setWidth(390);
        await page.send('Page.setFontSizes', { fontSizes: { standard: 32 } });
        expect([one, 'text at 200 %', await page.value(beyond)]).toEqual([one, 'text at 200 %', false]);
        await page.send('Page.setFontSizes', { fontSizes: { standard: 16 } });
        expect(await page.value('document.documentElement.outerHTML.length')).toBeLessThan(60_000);
      }
      await page.send('Emulation.clearDeviceMetricsOverride');
      expect(page.requests.filter((url) => !url.startsWith(`${address}/`) && !url.startsWith('data:'))).toEqual([]);
      expect(page.complaints.filter((text) => !text.includes('404'))).toEqual([]);
    },
  );

  it('a day prints on white paper without links and forms', async () => {
    const features = [{ name: 'prefers-color-scheme', value: 'dark' }];
    await page.send('Emulation.setEmulatedMedia', { media: 'print', features });
    await page.open(`${address}/me/day/${day}`);
    expect(await page.value(`getComputedStyle(document.body).backgroundColor`)).toBe('rgb(255, 255, 255)');
    for (const selector of ['nav', '.trip .fold'])
      expect(await page.value(`getComputedStyle(document.querySelector('${selector}')).display`)).toBe('none');
    await page.send('Emulation.setEmulatedMedia', { media: '' });
  });

  it.each([1280, 390])('the bars of a month are below their scale, also of a day with a flag: %i px', async (width) => {
    await signIn();
    const shown = await pages.run('diary', '--user', who, '--day', day, '--json');
    for (const { id } of shown.json<{ trips: { id: string }[] }>().trips)
      await pages.run('label', '--user', who, '--trip', id, '--mode', 'walk');
    await setWidth(width);
    for (const language of ['en', 'de', 'fr', 'es']) {
      await page.open(`${address}/me/month?lang=${language}`);
      expect(await text('.rows .mk')).toBe('!');
      const spans = await page.value<string[]>(`[...document.querySelectorAll('.hours svg, .rows a > svg')]
        .map((bar) => bar.getBoundingClientRect()).map(({ left, right }) => left + ' to ' + right)`);
      expect([language, ...new Set(spans)]).toEqual([language, spans[0]]);
    }
    await page.send('Emulation.clearDeviceMetricsOverride');
  });

  it('30 days print on one sheet of A4', async () => {
    await page.open(`${address}/me/month`);
    const { data } = await page.send<{ data: string }>('Page.printToPDF', { paperWidth: 8.27, paperHeight: 11.69 });
    expect(atob(data).match(/\/Type \/Page\b/g)).toHaveLength(1);
  });
});
