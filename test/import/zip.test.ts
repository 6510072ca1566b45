// ZIP archives, good and hostile: files in them are read as streams, and none costs more than it may.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freshProgram } from '../cli/kit.ts';
import { zip } from '../support/zip.ts';

const csv = 'time,lat,lon\n2024-03-12T08:00:00Z,38.5,-7.9\n';

async function imported(archive: Buffer) {
  const { folder, run } = await freshProgram();
  await writeFile(join(folder, 'a.zip'), archive);
  const { code, stderr, json } = await run(['import', join(folder, 'a.zip'), '--user', 'ada', '--create', '--json']);
  return { code, stderr, ...(code === 0 || code === 3 ? json() : {}) };
}

it('reads the files of an archive, also with 64-bit sizes, and reports which it skips', async () => {
  const files = [
    { name: 'deep/a.csv', content: Buffer.from(csv) },
    { name: 'b.csv', content: Buffer.from(csv.replace('08:00', '08:01')), zip64: true },
    { name: '__MACOSX/._b.csv', content: Buffer.from(csv) },
    { name: 'photo.jpg', content: Buffer.from([0xff, 0xd8]) },
  ];
  const report = await imported(zip(...files));
  expect(report).toMatchObject({ code: 0, read: 4, stored: 4 }); // two fixes, and the end of each recording
  expect(report.stderr).toMatch(/a.zip\/photo.jpg: unknown format, skipped/);
});

it('rejects only a file whose name leads out of the archive', async () => {
  const names = ['../a.csv', 'b.csv'];
  const report = await imported(zip(...names.map((name) => ({ name, content: Buffer.from(csv) }))));
  expect(report).toMatchObject({ code: 3, stored: 2 });
  expect(report.stderr).toMatch(/expected file names within the archive/);
});

it('a file with a wrong checksum is reported, and its rows before the last remain stored', async () => {
  const rows = Array.from({ length: 4000 }, (_, i) => `${1_710_230_400 + i},38.5,-7.9\n`).join('');
  const content = Buffer.from(`time,lat,lon\n${rows}`);
  const report = await imported(zip({ name: 'a.csv', content, says: { crc: 1 } }));
  expect(report).toMatchObject({ code: 3, stored: 3999 });
  expect(report.stderr).toMatch(/found a damaged or incomplete one/);
});

// More than the 16 MiB that any file may unpack to, in few rows.
const row = `2024-03-12T08:00:00Z,38.5,-7.9,${'x'.repeat(1000)}\n`;
const long = Buffer.from(`time,lat,lon,note\n${row.repeat(18_000)}`);

it.each<[string, () => Buffer, RegExp]>([
  ['more than it says', () => zip({ name: 'a.csv', content: long, says: { size: 5e5 } }), /expected a file of 500000 /],
  ['200 to 1 and more', () => zip({ name: 'a.csv', content: long }), /at most 200 times its packed size, found more/],
  [
    'one content under many names',
    () => {
      const content = Buffer.from(csv.repeat(200));
      const names = Array.from({ length: 20 }, (_, i) => ({
        name: `${i}.csv`,
        content: i === 0 ? content : Buffer.alloc(0),
        says: { offset: 0, size: content.length },
      }));
      const archive = zip(...names);
      for (let at = archive.indexOf('504b0102', 0, 'hex'); at !== -1; at = archive.indexOf('504b0102', at + 1, 'hex'))
        archive.writeUInt32LE(archive.length, at + 20);
      return archive;
    },
    /found overlapping ones/,
  ],
  ['a password', () => zip({ name: 'a.csv', content: Buffer.from(csv), says: { flags: 1 } }), /an encrypted one: /],
  ['another method', () => zip({ name: 'a.csv', content: Buffer.from(csv), says: { method: 14 } }), /found method 14/],
  [
    'a directory of more than 64 MiB',
    () => {
      const name = 'n'.repeat(60_000);
      return zip(...Array.from({ length: 1150 }, () => ({ name, content: Buffer.alloc(0) })));
    },
    /expected a directory of at most 67108864 bytes/,
  ],
  ['half of it', () => zip({ name: 'a.csv', content: Buffer.from(csv) }).subarray(0, 60), /a damaged or incomplete/],
])('an archive with %s is refused with the reason', async (_, archive, reason) => {
  const { code, stderr } = await imported(archive());
  expect([code === 1 || code === 3, stderr]).toEqual([true, expect.stringMatching(reason)]);
});
