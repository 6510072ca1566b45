// Pages in a real browser: nothing is fetched, axe-core finds nothing, keyboard and screen reader reach everything.
// Without Chromium the tests are skipped.
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { simulatedProgram } from '../../cli/kit.ts';
import { axeFindings, type BrowserPage, browserPath, openBrowser } from '../../support/browser.ts';
import { atEnd } from '../../support/clean-up.ts';
import { words } from '../../support/words.ts';

const found = browserPath();

describe.skipIf(found === null)('pages in Chromium (tools/browser.mjs)', () => {
  let page: BrowserPage;
  /** Addresses by name. */
  const files: Record<string, string> = {};

  beforeAll(async () => {
    const program = await simulatedProgram('--users 1 --days 3 --from 2024-03-25 --seed browser');
    const { succeed, json, folder } = program;
    for (const name of words('week day report days/index days/2024-03-26'))
      files[name] = pathToFileURL(`${folder}/${name}.html`).href;
    const user = '--user sim-browser-1@example.org';
    await succeed(`diary ${user} --day 2024-03-27 --week --html ${folder}/week.html`);
    const [trip] = (await json(`diary ${user} --day 2024-03-26`)).trips;
    await succeed(`label ${user} --trip ${trip.id} --mode tandem --purpose work`);
    await succeed(`diary ${user} --day 2024-03-26 --html ${folder}/day.html`);
    await succeed(`diary ${user} --all-days --html ${folder}/days`);
    await succeed('simulate --users 7 --days 1 --from 2024-03-25 --seed report');
    await succeed('pipeline --all');
    await succeed(`report --from 2024-02 --to 2024-03 --html ${folder}/report.html`);
    page = await openBrowser(found!);
    atEnd(() => page.close());
  });

  const open = (name: string): Promise<void> => page.open(files[name]!);

  it('request no other file, and the browser blocks nothing in them', async () => {
    for (const name of Object.keys(files)) {
      const before = page.requests.length;
      await open(name);
      expect(page.requests.slice(before)).toEqual([files[name]]);
    }
    expect(page.complaints).toEqual([]);
  });

  it.each(['light', 'dark'])('axe-core finds nothing in %s colours, on a wide and a narrow screen', async (scheme) => {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    for (const name of Object.keys(files)) {
      await open(name);
      const paper = await page.value<string>('getComputedStyle(document.body).backgroundColor');
      expect(paper).toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(18, 20, 23)');
      for (const width of [1000, 320]) {
        const metrics = { width, height: 700, deviceScaleFactor: 1, mobile: false };
        await page.send('Emulation.setDeviceMetricsOverride', metrics);
        expect([name, width, await axeFindings(page)]).toEqual([name, width, []]);
        const beyond = 'document.documentElement.scrollWidth > innerWidth';
        expect([name, width, await page.value(beyond)]).toEqual([name, width, false]);
      }
    }
    await page.send('Emulation.clearDeviceMetricsOverride');
  });

  it('bars distinguish modes by pattern, and maps by line', async () => {
    await open('week');
    const modes = await page.value<Record<string, [fill: string, isThere: boolean, dash: string]>>(`Object.fromEntries(
        [...document.querySelectorAll('svg .on')].map((bar) => {
          const { fill } = getComputedStyle(bar);
          const mode = bar.classList[1];
          const id = /#([\\w-]+)/.exec(fill)?.[1];
          const line = [...document.querySelectorAll('.map .' + mode)].map((way) => getComputedStyle(way)).map((look) => look.strokeWidth + look.strokeDasharray);
          return [mode, [fill, id === undefined || document.getElementById(id) !== null, [...new Set(line)].join()]];
        }))`);
    const shown = Object.values(modes);
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.every(([, isThere]) => isThere)).toBe(true);
    for (const at of [0, 2]) expect(new Set(shown.map((one) => one[at])).size).toBe(shown.length);
  });

  it('the keyboard reaches the links of the days, shows the focus, and follows them', async () => {
    await open('week');
    for (let i = 0; i < 6; i += 1) await page.press('Tab');
    const focus = '[document.activeElement.hash, getComputedStyle(document.activeElement).outlineStyle]';
    expect(await page.value(focus)).toEqual(['#d2024-03-26', 'solid']);
    await page.press('Enter');
    expect(await page.value('location.hash')).toBe('#d2024-03-26');
  });

  it('a folder of days leads from the list to each day, and from day to day', async () => {
    await open('days/index');
    const days = await page.value<string[]>(`[...document.querySelectorAll('main a')].map((a) => a.textContent)`);
    const expected = ['Wednesday 27', 'Tuesday 26', 'Monday 25'];
    expect(days.map((text) => /(\w+ \d+) March,/.exec(text)![1])).toEqual(expected);
    const links = { 'main li:last-child a': 'Monday 25', 'a[rel=next]': 'Tuesday 26' };
    for (const [link, day] of Object.entries(links)) {
      await page.follow(link);
      expect(await page.value('document.querySelector("h2").textContent')).toBe(`${day}\u00a0March 2024`);
    }
    await page.follow('nav a');
    expect(await page.value('location.pathname')).toMatch(/index\.html$/);
  });

  it('the accessibility tree has the hours of travel, the places of the map, and every trip as a row', async () => {
    await open('day');
    const { nodes } = await page.send<{ nodes: { role?: { value: string }; name?: { value: string } }[] }>(
      'Accessibility.getFullAXTree',
    );
    const named = (role: string): string[] =>
      nodes.filter((node) => node.role?.value === role).map((node) => node.name?.value ?? '');
    const [bar, map] = named('image');
    expect(bar).toMatch(/^The 24 hours of the day: \d\d:\d\d .*on foot/);
    expect(map).toMatch(/^Map of the day\. .*The list below shows the same\.$/);
    expect(named('heading').length).toBeGreaterThan(5);
    expect(named('listitem').length).toBeGreaterThan(3);
  });
});
