// One build of the sources for all tests that run other processes: Node does not run TypeScript.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const project = fileURLToPath(new URL('../..', import.meta.url));
const builds = join(project, 'node_modules', '.cache', 'mobility');
const oldBuild = 86_400_000; // ms
/** A folder that was built from these sources before the tests: it is used unchanged. */
const builtBefore = process.env.MOBILITY_TEST_DIST;

let building: Promise<string> | undefined;

/**
 * The folder of a build of the sources as they are now: `bin/mobility.js` in it runs. Built once per state of the
 * sources and kept beside the dependencies, so that test files and runs share it.
 */
export const buildProgram = (): Promise<string> => (building ??= findOrBuild());

async function findOrBuild(): Promise<string> {
  const folder = join(builds, await sourcesHash());
  if (existsSync(folder)) return folder;
  await mkdir(builds, { recursive: true });
  await removeOldBuilds();
  const draft = await mkdtemp(join(builds, 'draft-'));
  await chmod(draft, 0o755); // for tests that run the program as another user
  const dist = join(draft, 'dist');
  if (builtBefore === undefined) await compile(dist);
  else await cp(join(project, builtBefore), dist, { recursive: true });
  for (const part of ['bin', 'models', 'package.json'])
    await cp(join(project, part), join(draft, part), { recursive: true });
  // Another test file may have been faster: its build is as good.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}

async function compile(target: string): Promise<void> {
  const tsc = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = ['-p', 'tsconfig.build.json', '--noCheck', '--declaration', 'false', '--outDir', target];
  await promisify(execFile)(process.execPath, [tsc, ...args], { cwd: project });
}

async function sourcesHash(): Promise<string> {
  const paths = ['package.json', 'tsconfig.json', 'tsconfig.build.json'].map((name) => join(project, name));
  for (const folder of ['src', 'bin', 'models']) {
    const found = await readdir(join(project, folder), { recursive: true, withFileTypes: true });
    paths.push(...found.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name)));
  }
  const hash = createHash('sha256');
  for (const path of paths.sort()) hash.update(`${path}\0`).update(await readFile(path));
  return hash.digest('hex').slice(0, 16);
}

async function removeOldBuilds(): Promise<void> {
  for (const name of await readdir(builds)) {
    const path = join(builds, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > oldBuild) await rm(path, { recursive: true, force: true });
  }
}
