// docs/api.md and docs/errors.md against the program.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { errorCodes } from '../../src/model/mobility-error.ts';
import { openRoutes, routes } from '../../src/server/routes/all-routes.ts';
import { examples as routeExamples } from '../../src/server/routes/examples.ts';
import { studySettings } from '../support/study.ts';
import { openKit } from './kit.ts';

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

/** The calls of docs/api.md: path, body, and the header that names the caller where the body does not. */
function examples(): { path: string; body: string; headers: Record<string, string> }[] {
  const calls = page('api.md').matchAll(
    /curl -s localhost:8080(\/\S*)(?: -u (\S+)| -H 'Authorization: ([^']*)')?(?: -H 'Content-Type: application\/json' -d '([^']*)')?$/gm,
  );
  return [...calls].map(([, path, basic, header, body]) => {
    const given = basic === undefined ? header : `Basic ${btoa(basic)}`;
    const headers: Record<string, string> = given === undefined ? {} : { Authorization: given };
    return { path: path!, body: body ?? '', headers };
  });
}

/** The study of the examples. */
const sunny = studySettings({ subgroups: ['west'], config: { version: 1 } });

it('docs/errors.md explains every code once, in order', () => {
  const explained = [...page('errors.md').matchAll(/^\| `(MOBILITY_\w+)` \|/gm)].map(([, code]) => code);
  expect(explained).toEqual([...errorCodes]);
});

it('docs/api.md has a section and a curl for every route', () => {
  const api = page('api.md');
  for (const { path } of openRoutes)
    expect(api).toMatch(new RegExp(`^### GET ${path.replace(/:(\w+)/g, '<$1>')}$`, 'm'));
  for (const { path } of routes) {
    const shown = path.replace(':date', '<date>');
    const section = api.split(/^### /m).find((part) => part.startsWith(`POST ${shown}\n`));
    expect(section ?? '', `the section "### POST ${shown}" of docs/api.md`).toContain('curl');
    expect(section, shown).toContain(path.split(':')[0]);
  }
});

it('docs/api.md has only examples that are answered with 200', async () => {
  const kit = await openKit();
  await kit.user('ada@example.org');
  await kit.store.studies.put(sunny);
  expect(examples()).toHaveLength(routes.length + openRoutes.length);
  for (const { path, body, headers } of examples()) {
    const answer = body === '' ? await kit.request(path) : await kit.post(path, body, headers);
    expect([path, answer.status, answer.json.detail]).toEqual([path, 200, undefined]);
  }
});

it('every example of the OpenAPI description is answered with 200 and has the shape that its schema states', async () => {
  const kit = await openKit();
  const token = 'ada@example.org';
  await kit.user(token);
  await kit.store.studies.put(sunny);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const all = [...routes, ...openRoutes];
  expect(Object.keys(routeExamples)).toEqual(all.map(({ path }) => path));
  for (const route of all) {
    const { body, query, path = '', answer } = routeExamples[route.path]!;
    const address = route.path.replace(/:\w+/, path);
    const isGood = ajv.compile(route.answers);
    expect([address, isGood(answer), isGood.errors]).toEqual([address, true, null]);
    const headers = { Authorization: `Bearer ${token}` };
    const isOpen = (openRoutes as readonly { path: string }[]).includes(route);
    const answers = [await (isOpen ? kit.request(address) : kit.post(address, body ?? { user: token }, headers))];
    if (query !== undefined) answers.push(await kit.request(`${address}?${new URLSearchParams(query)}`));
    for (const { status, text } of answers) expect([address, status, text]).toEqual([address, 200, text]);
  }
});
