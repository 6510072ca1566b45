// Every example runs with the command in its header, on a build of the present sources.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { freshProgram } from '../cli/kit.ts';
import { startServer } from '../faults/program.ts';
import { buildProgram } from '../support/build.ts';
import { atEnd, tempFolder } from '../support/clean-up.ts';
import { until } from '../support/until.ts';

const sources = fileURLToPath(new URL('../../examples', import.meta.url));
let examples: string;
let folder: string;
const tested = new Set<string>();

beforeAll(async () => {
  // Beside the build they find it under the name of the package, as they find dist in a clone.
  examples = join(await buildProgram(), 'examples');
  await cp(sources, examples, { recursive: true });
  folder = tempFolder();
});

async function example(name: string, ...args: string[]): Promise<string> {
  tested.add(name);
  const command = [join(examples, name), ...args];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: folder });
  expect(stderr).not.toMatch(/warning/i);
  return stdout;
}

it('demo.js shows the diary of both phones, one of them as in the README, and writes a map of each, any number of times', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  const picture = /```\n(ben@example.org[^`]*)```/.exec(readme)![1]!;
  for (let i = 0; i < 2; i++) {
    const shown = await example('demo.js');
    expect(shown).toMatch(/ada@example.org \(android\) pushed \d+ entries: \{"inserted":\d+,"updated":0,"rejected":0/);
    expect(shown).toMatch(/2 users: 2 done/);
    expect(shown).toMatch(/ada@example.org {2}Tuesday 12 March 2024/);
    expect(shown).toContain(picture);
  }
  for (const name of ['ada', 'ben']) {
    const map = JSON.parse(await readFile(join(folder, 'demo-out', `${name}-2024-03-12.geojson`), 'utf8'));
    expect(map.type).toBe('FeatureCollection');
    expect(map.features.length).toBeGreaterThan(8);
  }
});

it('demo.js --pages serves the days of a person and a study with its password, beside the store of the demo', async () => {
  const cwd = await mkdtemp(join(folder, 'pages-'));
  await mkdir(join(cwd, 'demo-out/store/of-the-first-demo'), { recursive: true });
  const child = spawn(process.execPath, [join(examples, 'demo.js'), '--pages'], { cwd });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text;
  });
  await until(() => shown.includes('Ctrl-C'));
  const [, link] = /My days.*(http\S+)/.exec(shown)!;
  const [, address, name, password] = /The study: +(\S+)\/study +name (\w+), password (\S+)/.exec(shown)!;
  expect(await (await fetch(link!)).text()).toContain('<form method="post"');
  const form = new URLSearchParams({ name: name!, password: password! });
  const answer = await fetch(`${address}/sign-in/study`, { method: 'POST', body: form, redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/study']);
  expect(await readdir(join(cwd, 'demo-out/store'))).toEqual(['of-the-first-demo']);
  child.kill('SIGINT');
  expect((await once(child, 'close'))[0]).toBe(0);
});

it('daily-distance.js sums up the demo', async () => {
  expect(await example('daily-distance.js')).toMatch(/^2024-03-12 \{ .*: \d+/);
});

it('run-pipeline.js gets trips out of entries', async () => {
  expect(await example('run-pipeline.js')).toMatch(/\n2024-03-12T\S+ {2}\d+ m {2}\w+/);
});

it('own-store.js shows that a second run writes nothing', async () => {
  const [first, second] = (await example('own-store.js')).split('second run');
  expect(first).toMatch(/'usercache.move': [1-9]/);
  expect(second).not.toMatch(/apply|move|replace|put|acquire/);
});

it('push-a-day.js pushes to a server, twice the same', async () => {
  const { address } = await freshProgram('ada@example.org');
  const server = await startServer(address);
  atEnd(() => server.stop());
  const [first, second] = ['inserted: \\d+, updated: 0', 'inserted: 0, updated: \\d+'];
  const puts = `put: { ${first}, rejected: 0 }\nput: { ${second}, rejected: 0 }\n.*get: no documents yet`;
  expect(await example('push-a-day.js', server.url)).toMatch(new RegExp(puts, 's'));
});

it('every example has a test', async () => {
  const here = (await readdir(sources)).filter((name) => name.includes('.')); // test/readers and test/deploy run the folders
  expect([...tested].sort()).toEqual(here.sort());
});
