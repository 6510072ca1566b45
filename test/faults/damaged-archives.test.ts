// A damaged ZIP or KMZ is one problem: it is named, and the other files of the import are read.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findParts } from '../../src/import/import-formats.ts';
import { SourceBroken } from '../../src/import/source-error.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { freshProgram } from '../cli/kit.ts';
import { mutatedBytes } from './mutate.ts';

const recordings = new URL('../fixtures/recordings/', import.meta.url).pathname;
const archives = ['takeout.zip', 'streamed.kmz', 'large-form.zip', 'garmin-account.zip'];
const good = join(recordings, 'garmin.gpx');

it('any damage of an archive is reported with its name, and the next file is read', async () => {
  const { folder } = await freshProgram();
  for (const name of archives) {
    const bytes = await readFile(join(recordings, name));
    for (let i = 0; i < 120; i += 1) {
      const file = join(folder, `${i}-${name}`);
      await writeFile(file, mutatedBytes(bytes, seededRandom(`${name} ${i}`)));
      const only = await findParts([file], undefined, {}).catch((error: Error) => error);
      if (only instanceof Error) {
        expect(only).toMatchObject({ code: 'MOBILITY_USAGE', message: expect.stringContaining(file) });
        continue;
      }
      const { parts } = await findParts([file, good]);
      expect(parts.at(-1)!.name).toBe(good);
      for (const part of parts) {
        expect(part.name).toContain(part.name === good ? good : file);
        try {
          for await (const _ of part.read({ onBytes: () => {} }));
        } catch (error) {
          expect(error).toBeInstanceOf(SourceBroken);
        }
      }
    }
  }
});

it('a cut archive is named among the problems, and the file after it is imported', async () => {
  const program = await freshProgram();
  const file = join(program.folder, 'cut.zip');
  const bytes = await readFile(join(recordings, 'takeout.zip'));
  bytes.fill(0, 60, 400);
  await writeFile(file, bytes);
  await program.run(['users', 'add', 'ada']);
  const { code, stdout, stderr } = await program.run(['import', file, good, '--user', 'ada', '--json']);
  expect(code, stderr).toBe(3);
  const { parts } = JSON.parse(stdout) as { parts: { source: string; stored: number; problems: string[] }[] };
  expect(parts.filter(({ problems }) => problems.length > 0).every(({ source }) => source.startsWith(file))).toBe(true);
  expect(parts.at(-1)).toMatchObject({ source: good, problems: [] });
  expect(parts.at(-1)!.stored).toBeGreaterThan(0);
});
