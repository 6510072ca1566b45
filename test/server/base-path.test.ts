// A public address with a path: pages link below it, with and without a proxy that takes the path away.
import { expect, it } from 'vitest';
import { config, openKit } from './kit.ts';

it.each(['', '/mobility'])(
  'pages of a public address with a path link below that path, called with the prefix %j',
  async (before) => {
    const kit = await openKit({ config: { ...config, publicUrl: 'https://example.org/mobility/' } });
    const page = await kit.request(`${before}/me/nowhere`, { headers: { Accept: 'text/html' } });
    const moved = (await kit.request(`${before}/me`)).headers.get('location');
    if (moved !== null) expect(moved).toMatch(/^\/mobility\//);
    const links = [...page.text.matchAll(/ (?:href|src|action)="(\/[^"]*)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !/^\/mobility(\/|$)/.test(link))).toEqual([]);
    expect((await kit.request(`${before}/assets/pages.css`)).status).toBe(200);
    expect((await kit.request(`${before}/healthz`)).status).toBe(200);
  },
);
