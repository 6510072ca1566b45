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
import { mutatedText } from './mutate.ts';

const recordings = new URL('../fixtures/recordings/', import.meta.url).pathname;
const good = join(recordings, 'garmin.gpx');
const seed = process.env.MOBILITY_TEST_SEED ?? '1';

/** Sources of one import. */
const together = 25;

/** Pieces of text that readers must survive at any place. */
const pieces = [
  '['.repeat(100_000),
  '{"a":'.repeat(50_000),
  '<a>'.repeat(50_000),
  '&amp;&lt;&#xFFFFFF;&x;',
  '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]>',
  '"'.repeat(999),
  `"${'x'.repeat(2_000_000)}"`,
  '9'.repeat(400),
  '1e999',
  '-0001-13-45T99:99:99Z',
  '+275760-09-13T00:00:00Z',
  '\u0000',
  '\r\n\r\n',
  '{"$date":{"$numberLong":"9223372036854775807"}}',
  '{"$binary":"AAAA","$type":"03"}',
];

/** The bytes with some changed, cut off, doubled, set to zero or put between. */
function mutated(bytes: Buffer, random: Random): Buffer {
  const at = (): number => Math.floor(random.next() * bytes.length);
  const [from, to] = [at(), at()].sort((a, b) => a - b) as [number, number];
  const bit = (copy: Buffer): Buffer => {
    for (let i = 0; i < 6; i += 1) copy[at()] = Math.floor(random.next() * 256);
    return copy;
  };
  return random.pick<() => Buffer>([
    () => bytes.subarray(0, from),
    () => Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]),
    () => Buffer.from(bytes).fill(0, from, Math.min(to, from + 40)),
    () => bit(Buffer.from(bytes)),
    () => Buffer.concat([bytes.subarray(0, from), Buffer.from(random.pick(pieces)), bytes.subarray(from)]),
    () => Buffer.from(mutatedText(bytes.toString('latin1'), random), 'latin1'),
    () => {
      // A length or a count that a binary format believes.
      const copy = Buffer.from(bytes);
      if (copy.length > 4)
        copy.writeInt32LE(random.pick([-1, 0, 4, 5, 2 ** 20, 2 ** 31 - 1]), from % (copy.length - 4));
      return copy;
    },
  ])();
}

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
  const names = [...seeds.keys()];
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
      await writeFile(
        file,
        isPacked && random.chance(0.5) ? mutated(gzipSync(bytes), random) : pack(mutated(bytes, random)),
      );
      sources.push(file);
      function pack(content: Buffer): Buffer {
        return isPacked ? gzipSync(content) : content;
      }
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
      await writeFile(file, mutated(await readFile(file), random));
      sources.push(folder);
    }
    await importAll(program, [...sources, sound], []);
  }
});
