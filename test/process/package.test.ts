// What a release holds: the files that `npm pack` would put into the package.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { tempFolder } from '../support/clean-up.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
let tarball: string;
let files: string[];

const npm = (args: string[], cwd = folder) => promisify(execFile)('npm', args, { cwd });

beforeAll(async () => {
  folder = tempFolder();
  const { stdout } = await npm(['pack', '--ignore-scripts', '--pack-destination', folder, '--json'], project);
  const [packed] = JSON.parse(stdout);
  tarball = join(folder, packed.filename);
  files = packed.files.map((file: { path: string }) => file.path);
});

it('holds the program, its models, its documentation and the address for fault reports', () => {
  const some = ['bin/mobility.js', 'README.md', 'LICENSE', 'SECURITY.md', 'docs/cli.md'];
  expect(files).toEqual(expect.arrayContaining([...some, expect.stringMatching(/^models\//)]));
  expect(files, 'run `npm run build`').toContain('dist/index.js');
});

it('holds no tests, no sources and no source map without its source', async () => {
  expect(files.filter((name) => /^(?:src|test|tools|bench)\//.test(name))).toEqual([]);
  for (const name of files.filter((one) => one.endsWith('.map'))) {
    const { sources } = JSON.parse(await readFile(join(project, name), 'utf8')) as { sources: string[] };
    for (const source of sources) expect(files).toContain(normalize(join(dirname(name), source)));
  }
});

/** What a stranger writes with the package. */
const strangers = `
import { openStore, toFlatGeoJson, putBatch, simulateDays } from 'mobility';
const store = await openStore('../store', { make: true });
const { user } = await store.users.register('ada', { now: 1 });
const counts: { inserted: number } = await putBatch(user.uuid, [], { store, now: () => 1 });
const type: 'FeatureCollection' = toFlatGeoJson([]).type;
// @ts-expect-error: the answer is not any
const wrong: number = toFlatGeoJson([]);
console.log(counts.inserted, type, wrong, typeof simulateDays);
await store.close();
`;

it('installs into an empty folder without scripts or own warnings, and its types compile with library types checked', async () => {
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const { stderr } = await npm([
    'install',
    ...flags,
    tarball,
    `@types/node@${manifest.devDependencies['@types/node']}`,
  ]);
  expect(stderr).not.toMatch(/mobility/);
  await writeFile(join(folder, 'stranger.ts'), strangers);
  const tsc = join(project, 'node_modules/typescript/bin/tsc');
  const how = '--strict --noEmit --skipLibCheck false --target es2022 --types node'.split(' ');
  for (const modules of [
    '--module nodenext --moduleResolution nodenext',
    '--module esnext --moduleResolution bundler',
  ]) {
    const args = [tsc, ...how, ...modules.split(' '), 'stranger.ts'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder }).catch((error) => error);
    expect(stdout).toBe('');
  }
  const { stdout } = await promisify(execFile)('npx', ['--offline', 'mobility', '--version'], { cwd: folder });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
});
