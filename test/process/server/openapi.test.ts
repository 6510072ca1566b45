// The description of the server: made from the routes, valid, and served.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openApi } from '../../../src/server/openapi.ts';
import { openRoutes, routes } from '../../../src/server/routes/all-routes.ts';
import { openKit } from '../../server/kit.ts';
import { tempFolder } from '../../support/clean-up.ts';

const document = openApi(routes, openRoutes);

it('is valid OpenAPI 3.1, describes every route, and is served', async () => {
  const validator = new Validator();
  expect(await validator.validate({ ...structuredClone(document) })).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
  for (const route of [...routes, ...openRoutes]) expect(route.summary, route.path).not.toBe('');
  const kit = await openKit();
  const { json, headers } = await kit.request('/openapi.json');
  expect(json).toEqual(JSON.parse(JSON.stringify(document)));
  const again = { headers: { 'If-None-Match': headers.get('etag')! } };
  expect(await kit.request('/openapi.json', again)).toMatchObject({ status: 304, text: '' });
});

it('redocly finds no fault except the calls that have no 4xx on purpose', async () => {
  const file = join(tempFolder(), 'openapi.json');
  await writeFile(file, JSON.stringify(document));
  const cli = fileURLToPath(new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url));
  // Objects are open: callers may send more fields. `test/server/docs.test.ts` compares examples with their schemas.
  const skipped = ['operation-4xx-response', 'no-invalid-media-type-examples'];
  const args = [cli, 'lint', file, '--format=json', ...skipped.map((rule) => `--skip-rule=${rule}`)];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 } });
});

it('the table of calls in docs/api.md is made from it', () => {
  const row = (methods: string, { path, summary }: { path: string; summary: string }): string =>
    `| \`${methods} ${path.replace(/:(\w+)/g, '<$1>')}\` | ${summary} |`;
  const rows = routes.map((route) => row(route.inQuery ? 'GET, POST' : 'POST', route));
  rows.push(...openRoutes.map((route) => row('GET', route)));
  const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');
  expect(page).toContain(['| Call | Purpose |', '|---|---|', ...rows, ''].join('\n'));
});
