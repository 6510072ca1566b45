import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/model/errors.js';
import { openRoutes, routes } from '../../src/server/routes/index.js';

const page = (name) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
describe('the manual of the server', () => {
  it('docs/errors.md explains every code once, in order', () => {
    const explained = [...page('errors.md').matchAll(/^\| `(MOBILITY_\w+)` \|/gm)].map(([, code]) => code);
    expect(explained).toEqual([...errorCodes]);
  });
  it('docs/api.md has a section and a curl for every route', () => {
    const api = page('api.md');
    for (const route of openRoutes) expect(api).toMatch(new RegExp(`^### GET ${route.path}$`, 'm'));
    for (const { path } of routes) {
      const shown = path.replace(':date', '<date>');
      const section = api.split(/^### /m).find((part) => part.startsWith(`POST ${shown}\n`));
      expect(section, shown).toBeDefined();
      expect(section, shown).toContain('curl');
      expect(section, shown).toContain(path.split(':')[0]);
    }
  });
});
