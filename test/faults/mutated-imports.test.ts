// Mutated files of every format in one import: none of them ends it, and the sound file after them is imported.
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { type Random, seededRandom } from '../../src/simulate/random.ts';
import { freshProgram, type Program } from '../cli/kit.ts';
import { type MadeUp, madeUpDatabase, writeDump, writeJson } from '../import/emission-database.ts';
import { times } from './kit.ts';
import { mutatedBytes } from './mutate.ts';

const recordings = new URL('../fixtures/recordings/', import.meta.url).pathname;
const good = join(recordings, 'garmin.gpx');
const seed = process.env.MOBILITY_TEST_SEED ?? '1';

const imports = times('MOBILITY_TEST_IMPORTS', 150);
const together = 25; // sources of one import

/** A few documents of each collection: the import of one takes milliseconds. */
function smallDatabase(): MadeUp {
  const made = madeUpDatabase();
  for (const [name, documents] of Object.entries(made.collections)) made.collections[name] = documents.slice(0, 12);
  return made;
}

/** Imports `count` mutated sources, some at a time with the sound one after them: each of these imports reads it. */
async function importMutated(
  { folder, run }: Program,
  count: number,
  mutate: (random: Random, place: string) => Promise<string>,
  sound: string,
  ...flags: string[]
): Promise<void> {
  for (let done = 0; done < count; done += together) {
    const sources: string[] = [];
    for (let i = 0; i < together; i += 1)
      sources.push(await mutate(seededRandom(`${seed} ${done + i}`), join(folder, 'mutated', `${i}`)));
    const { code, stdout, stderr } = await run(['import', ...sources, sound, ...flags, '--json']);
    expect([0, 3], `${sources.join(' ')}: ${stderr}`).toContain(code);
    const { parts } = JSON.parse(stdout) as { parts: { source: string; read: number; problems: string[] }[] };
    const last = parts.pop()!;
    expect(last).toMatchObject({ source: sound, problems: [] });
    expect(last.read).toBeGreaterThan(0);
    for (const { source } of parts) expect([...sources, sound].some((one) => source.startsWith(one))).toBe(true);
  }
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
  const mutate = async (random: Random, place: string): Promise<string> => {
    const name = random.pick(names);
    const isPacked = random.chance(0.1);
    const bytes = seeds.get(name)!;
    const isPackedFirst = isPacked && random.chance(0.5);
    const content = mutatedBytes(isPackedFirst ? gzipSync(bytes) : bytes, random);
    const file = `${place}-${name}${isPacked ? '.gz' : ''}`;
    await writeFile(file, isPacked && !isPackedFirst ? gzipSync(content) : content);
    return file;
  };
  await mkdir(join(program.folder, 'mutated'));
  await importMutated(program, imports, mutate, good, '--user', 'ada');
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
  const mutate = async (random: Random, place: string): Promise<string> => {
    const kind = random.pick(['dump', 'json', 'export']);
    const folder = `${place}-${kind}`;
    await cp(join(program.folder, kind), folder, { recursive: true });
    const file = join(folder, random.pick((await readdir(folder)).sort()));
    await writeFile(file, mutatedBytes(await readFile(file), random));
    return folder;
  };
  await importMutated(program, imports / 3, mutate, sound);
});
