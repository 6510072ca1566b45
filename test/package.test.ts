// What a release holds: the files that `npm pack` would put into the package.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';

const project = fileURLToPath(new URL('..', import.meta.url));
let files: string[];

beforeAll(async () => {
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: project });
  files = JSON.parse(stdout)[0].files.map((file: { path: string }) => file.path);
});

it('holds the program, its models, its documentation and whom to tell of a fault', () => {
  for (const name of ['bin/mobility.js', 'README.md', 'LICENSE', 'SECURITY.md', 'docs/cli.md']) {
    expect(files).toContain(name);
  }
  expect(files.some((name) => name.startsWith('models/'))).toBe(true);
  expect(files, 'run `npm run build`').toContain('dist/index.js');
});

it('holds no tests, no sources and no source map without its source', async () => {
  expect(files.filter((name) => /^(?:src|test|tools|bench)\//.test(name))).toEqual([]);
  for (const name of files.filter((one) => one.endsWith('.map'))) {
    const { sources } = JSON.parse(await readFile(join(project, name), 'utf8')) as { sources: string[] };
    for (const source of sources) expect(files).toContain(normalize(join(dirname(name), source)));
  }
});
