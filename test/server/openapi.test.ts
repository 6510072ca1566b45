// The description of the server: made from the routes, valid, and served.
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openApi } from '../../src/server/openapi.ts';
import { openRoutes, routes } from '../../src/server/routes/index.ts';
import { openKit } from './kit.ts';

const document = openApi(routes, openRoutes);

it('is valid OpenAPI 3.1, describes every route, and is what the server gives once to each caller', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as Record<string, unknown>);
  expect([valid, errors]).toEqual([true, undefined]);
  expect(validator.version).toBe('3.1');
  for (const route of [...routes, ...openRoutes]) expect(route.summary, route.path).not.toBe('');
  const kit = await openKit();
  const { json, headers } = await kit.request('/openapi.json');
  expect(json).toEqual(JSON.parse(JSON.stringify(document)));
  const again = { headers: { 'If-None-Match': headers.get('etag')! } };
  expect(await kit.request('/openapi.json', again)).toMatchObject({ status: 304, text: '' });
  await kit.close();
});

it('the table of calls in docs/api.md is made from it', () => {
  const rows = [
    ...routes.map((route) => `| \`POST ${route.path.replace(':date', '<date>')}\` | ${route.summary} |`),
    ...openRoutes.map((route) => `| \`GET ${route.path.replace(':file', '<file>')}\` | ${route.summary} |`),
  ];
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  expect(page).toContain(['| Call | Purpose |', '|---|---|', ...rows, ''].join('\n'));
});
