// Pages in a real browser: nothing is fetched, axe-core finds nothing, keyboard and screen reader reach everything.
// Without Chromium the tests are skipped.
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatedProgram } from '../../cli/kit.ts';
import { axeFindings, type BrowserPage, browserPath, openBrowser } from '../../support/browser.ts';

const found = browserPath();

describe.skipIf(found === null)('pages in Chromium (tools/browser.mjs)', () => {
  let page: BrowserPage;
  const files: Record<string, string> = {};

  beforeAll(async () => {
    const program = await simulatedProgram('--users 1 --days 3 --from 2024-03-25 --seed browser');
    const run = (...args: string[]) => program.succeed(args);
    const user = 'sim-browser-1@example.org';
    files.week = `${program.folder}/week.html`;
    await run('diary', '--user', user, '--day', '2024-03-27', '--week', '--html', files.week);
    const day = await run('diary', '--user', user, '--day', '2024-03-26', '--json');
    const [trip] = day.json<{ trips: [{ id: string }] }>().trips;
    await run('label', '--user', user, '--trip', trip.id, '--mode', 'tandem', '--purpose', 'work');
    files.day = `${program.folder}/day.html`;
    await run('diary', '--user', user, '--day', '2024-03-26', '--html', files.day);
    await run('diary', '--user', user, '--all-days', '--html', `${program.folder}/days`);
    files.index = `${program.folder}/days/index.html`;
    files.second = `${program.folder}/days/2024-03-26.html`;
    await run('simulate', '--users', '7', '--days', '1', '--from', '2024-03-25', '--seed', 'report');
    await run('pipeline', '--all');
    files.report = `${program.folder}/report.html`;
    await run('report', '--from', '2024-02', '--to', '2024-03', '--html', files.report);
    page = await openBrowser(found!);
  });
  afterAll(() => page?.close());

  const open = (name: string): Promise<void> => page.open(pathToFileURL(files[name]!).href);

  it('request no other file, and the browser blocks nothing in them', async () => {
    for (const name of Object.keys(files)) {
      const before = page.requests.length;
      await open(name);
      expect(page.requests.slice(before)).toEqual([pathToFileURL(files[name]!).href]);
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
    const modes = await page.value<Record<string, [string, boolean, string]>>(`Object.fromEntries(
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
    expect(new Set(shown.map(([fill]) => fill)).size).toBe(shown.length);
    expect(new Set(shown.map(([, , dash]) => dash)).size).toBe(shown.length);
  });

  it('the keyboard reaches the links of the days, shows the focus, and follows them', async () => {
    await open('week');
    for (let i = 0; i < 6; i += 1) await page.press('Tab');
    const at = await page.value<string[]>(
      '[document.activeElement.hash, getComputedStyle(document.activeElement).outlineStyle]',
    );
    expect(at).toEqual(['#d2024-03-26', 'solid']);
    await page.press('Enter');
    expect(await page.value('location.hash')).toBe('#d2024-03-26');
  });

  it('a folder of days leads from the list to each day, and from day to day', async () => {
    await open('index');
    const days = await page.value<string[]>(`[...document.querySelectorAll('main a')].map((a) => a.textContent)`);
    const expected = ['Wednesday 27', 'Tuesday 26', 'Monday 25'];
    expect(days.map((text) => /(\w+ \d+) March,/.exec(text)![1])).toEqual(expected);
    await page.follow('main li:last-child a');
    expect(await page.value('document.querySelector("h2").textContent')).toBe('Monday 25\u00a0March 2024');
    await page.follow('a[rel=next]');
    expect(await page.value('document.querySelector("h2").textContent')).toBe('Tuesday 26\u00a0March 2024');
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
