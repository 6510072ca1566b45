// Mutated files of every format in one import: none of them ends it, and the sound file after them is imported.
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { seededRandom } from '../../src/simulate/random.ts';
import { freshProgram, type Program } from '../cli/kit.ts';
import { type MadeUp, madeUpDatabase, writeDump, writeJson } from '../import/emission-database.ts';
import { times } from './kit.ts';
import { mutatedBytes } from './mutate.ts';

const recordings = new URL('../fixtures/recordings/', import.meta.url).pathname;
const good = join(recordings, 'garmin.gpx');
const seed = process.env.MOBILITY_TEST_SEED ?? '1';

/** Sources of one import. */
const together = 25;

/** A few documents of each collection: the import of one takes milliseconds. */
function smallDatabase(): MadeUp {
  const made = madeUpDatabase();
  for (const [name, documents] of Object.entries(made.collections)) made.collections[name] = documents.slice(0, 12);
  return made;
}

async function importAll(program: Program, sources: string[], more: string[]): Promise<void> {
  const { code, stdout, stderr } = await program.run(['import', ...sources, ...more, '--json']);
  expect([0, 3], `${sources.join(' ')}: ${stderr}`).toContain(code);
  const { parts } = JSON.parse(stdout) as { parts: { source: string; read: number; problems: string[] }[] };
  const last = parts.at(-1)!;
  expect(last).toMatchObject({ source: sources.at(-1), problems: [] });
  expect(last.read).toBeGreaterThan(0);
  for (const { source } of parts) expect(sources.some((one) => source.startsWith(one))).toBe(true);
}

it('a mutated file of a recording, of entries or of an archive does not end the import of the others', async () => {
  const program = await freshProgram('ada');
  const documents = smallDatabase().collections.Stage_timeseries!;
  const seeds = new Map<string, Buffer>();
  for (const name of (await readdir(recordings)).sort()) seeds.set(name, await readFile(join(recordings, name)));
  seeds.set('entries.bson', Buffer.concat(documents.map((one) => BSON.serialize(one))));
  seeds.set('entries.jsonl', Buffer.from(documents.map((one) => BSON.EJSON.stringify(one)).join('\n')));
  const archives = [...seeds.keys()].filter((name) => /\.(zip|kmz)$/.test(name));
  const names = [...seeds.keys(), ...archives, ...archives]; // their readers know the most about the format
  const count = times('MOBILITY_TEST_IMPORTS', 150);
  for (let done = 0; done < count; done += together) {
    const folder = join(program.folder, 'mutated');
    await mkdir(folder, { recursive: true });
    const sources: string[] = [];
    for (let i = 0; i < together; i += 1) {
      const random = seededRandom(`${seed} ${done + i}`);
      const name = random.pick(names);
      const isPacked = random.chance(0.1);
      const bytes = seeds.get(name)!;
      const file = join(folder, `${i}-${name}${isPacked ? '.gz' : ''}`);
      const isPackedFirst = isPacked && random.chance(0.5);
      const content = mutatedBytes(isPackedFirst ? gzipSync(bytes) : bytes, random);
      await writeFile(file, isPacked && !isPackedFirst ? gzipSync(content) : content);
      sources.push(file);
    }
    await importAll(program, [...sources, good], ['--user', 'ada']);
  }
});

it('a mutated file of an export or of a dump of e-mission does not end the import of the others', async () => {
  const program = await freshProgram();
  const sound = join(program.folder, 'sound');
  const made = smallDatabase();
  await writeDump(made, join(program.folder, 'dump'));
  await writeJson(made, join(program.folder, 'json'));
  await program.run(['import', join(program.folder, 'dump')]);
  await program.run(['pipeline', '--all']);
  await program.run(['export', '--user', 'ada@example.org', '--out', join(program.folder, 'export')]);
  await cp(join(program.folder, 'export'), sound, { recursive: true });
  const count = times('MOBILITY_TEST_IMPORTS', 150) / 3;
  for (let done = 0; done < count; done += together) {
    const sources: string[] = [];
    for (let i = 0; i < together; i += 1) {
      const random = seededRandom(`${seed} folder ${done + i}`);
      const kind = random.pick(['dump', 'json', 'export']);
      const folder = join(program.folder, 'mutated', `${i}-${kind}`);
      await cp(join(program.folder, kind), folder, { recursive: true });
      const file = join(folder, random.pick((await readdir(folder)).sort()));
      await writeFile(file, mutatedBytes(await readFile(file), random));
      sources.push(folder);
    }
    await importAll(program, [...sources, sound], []);
  }
});
