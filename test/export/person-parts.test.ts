// The files of finished people, from which an interrupted export continues.
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { isFinished, readParts, writeParts } from '../../src/export/person-parts.ts';
import { freshProgram, type Program, tempFolder } from '../cli/kit.ts';

const now = Date.parse('2024-05-20T12:00:00Z') / 1000;

/** An export of six people that failed when all tables were complete, because one of them existed. */
async function failedExport() {
  const program = await freshProgram();
  const run: Program['run'] = (args, how) => program.run(args, { now, ...how });
  await run(`simulate --users 6 --days 3 --from 2024-03-12 --seed p --study sunny`);
  await run(['pipeline', '--all']);
  const out = join(program.folder, 'out');
  const exportTo = (to: string, env = {}) =>
    run(['export', '--all', '--format', 'csv', '--kind', 'trips', '--kind', 'entries', '--out', to], { env });
  await mkdir(out);
  await symlink('nowhere', join(out, 'trips.csv'));
  expect(await exportTo(out)).toMatchObject({ code: 2, stderr: expect.stringContaining('trips.csv already exists') });
  const parts = (await readdir(join(out, '.parts'))).filter((name) => /^\w/.test(name));
  expect(parts).toHaveLength(6);
  return { ...program, run, out, exportTo, parts: parts.map((name) => join(out, '.parts', name)) };
}

const tablesIn = (out: string): Promise<string[]> =>
  Promise.all(['trips.csv', 'entries.csv'].map((name) => readFile(join(out, name), 'utf8')));

it('a file that is empty, cut or changed is not finished, and an error names it and what to remove', async () => {
  const path = join(tempFolder(), 'one');
  const parts = [{ rows: ['a'] }, { rows: ['b'] }];
  const write = () => writeParts(path, Readable.from(parts));
  const read = () => Readable.from(readParts(path)).toArray();
  await write();
  expect([await isFinished(path, now), await read()]).toEqual([true, parts]);
  const bytes = await readFile(path);
  const firstEnd = 4 + bytes.readUInt32LE(0);
  const changed = Buffer.from(bytes);
  changed[6]! ^= 1;
  const cut = [0, 3, 4, firstEnd, bytes.length - 4, bytes.length - 1].map((length) => bytes.subarray(0, length));
  for (const damaged of [...cut, changed, Buffer.alloc(4)]) {
    await writeFile(path, damaged);
    expect([damaged.length, await isFinished(path, now)]).toEqual([damaged.length, false]);
    await expect(read()).rejects.toThrow(/^cannot read .*one: .*: remove .* and run the command again$/);
  }
  await write();
  expect(await isFinished(path, now)).toBe(true);
});

it('an export that continues reads people again whose files are damaged', async () => {
  const { folder, out, exportTo, parts } = await failedExport();
  await truncate(parts[0]!, 0);
  const bytes = await readFile(parts[1]!);
  await writeFile(parts[1]!, bytes.fill(0, 10, 20));
  await rm(join(out, 'trips.csv'));
  expect(await exportTo(out)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^4 users taken over from/) });
  expect((await exportTo(join(folder, 'whole'))).code).toBe(0);
  expect(await tablesIn(out)).toEqual(await tablesIn(join(folder, 'whole')));
  expect(existsSync(join(out, '.parts'))).toBe(false);
});

it.each<[string, RegExp, (program: Pick<Program, 'address' | 'folder' | 'run' | 'withStore'>) => Promise<object>]>([
  [
    'the configuration of the study',
    /^$/,
    async ({ withStore }) =>
      withStore(async ({ studies }) => {
        const { joins: _, ...settings } = (await studies.byName('sunny'))!;
        const label_lists = { MODE: [{ value: 'cargo', baseMode: 'BICYCLING' }] };
        await studies.put({ ...settings, config: { ...settings.config, label_lists } });
        return {};
      }),
  ],
  [
    'what retention removed',
    /^4 users taken over from an export/, // the last four have no trips, so nothing is removed
    async ({ run }) => {
      const line = ['retain', '--all', '--older-than', '30d', '--what', 'raw', '--yes'];
      expect(await run(line)).toMatchObject({ code: 0 });
      return {};
    },
  ],
  [
    'the store',
    /^$/,
    async ({ address, folder }) => {
      await cp(address, join(folder, 'copy'), { recursive: true });
      return { MOBILITY_STORE: join(folder, 'copy') };
    },
  ],
])('an export that continues reads people again after a change of %s', async (_, notes, change) => {
  const program = await failedExport();
  const { out, folder, exportTo } = program;
  const env = await change(program);
  await rm(join(out, 'trips.csv'));
  expect(await exportTo(out, env)).toMatchObject({ code: 0, stderr: expect.stringMatching(notes) });
  expect((await exportTo(join(folder, 'whole'), env)).code).toBe(0);
  expect(await tablesIn(out)).toEqual(await tablesIn(join(folder, 'whole')));
});
