// Files of tiles: the right image for each place, and a clear error for what is no such file.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openTiles } from '../../../src/web/pmtiles.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { runs } from '../../support/lives.ts';
import { pmtiles } from '../../support/pmtiles.ts';

async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = join(tempFolder(), 'made.pmtiles');
  await writeFile(path, bytes);
  return path;
}
const text = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString('latin1');

it.each([false, true])('a tile is found by its run, also behind directories of directories: %s', async (leaves) => {
  const runsOf = [
    { id: 1, run: 1, image: Buffer.from('a') },
    { id: 3, run: 2, image: Buffer.from('bb') },
    { id: 341, run: 900, image: Buffer.from('ccc') },
  ];
  const tiles = await openTiles(await fileOf(pmtiles(runsOf, { leaves, maxZoom: 6 })));
  expect(tiles).toMatchObject({ type: 'image/png', minZoom: 0, maxZoom: 6, attribution: '© Nobody' });
  for (const [z, x, y, image] of [
    [0, 0, 0, null],
    [1, 0, 0, 'a'],
    [1, 0, 1, null],
    [1, 1, 0, 'bb'],
    [5, 0, 0, 'ccc'],
    [5, 31, 31, 'ccc'],
    [5, 6, 9, 'ccc'],
    [5, 32, 0, null],
    [6, 0, 0, null],
    [7, 0, 0, null],
    [-1, 0, 0, null],
    [Number.NaN, 0, 0, null],
  ] as const)
    expect([z, x, y, text(await tiles.tile(z, x, y))]).toEqual([z, x, y, image]);
  await tiles.close();
});

it('a file without raster tiles is refused with the expected format', async () => {
  const good = pmtiles([{ id: 0, run: 1, image: Buffer.from('a') }]);
  const changed = (at: number, value: number): Buffer => Buffer.from(good).fill(value, at, at + 1);
  const bomb = pmtiles([], { attribution: 'x'.repeat(5_000_000) });
  for (const [bytes, why] of [
    [Buffer.from(''), 'PMTiles'],
    [Buffer.from('<html>'), 'Wrong magic number'],
    [changed(0, 65), 'Wrong magic number'],
    [changed(7, 2), 'version 2 of the format'],
    [good.subarray(0, good.length - 1), 'bytes instead of'],
    [pmtiles([], { kind: 1 }), 'not raster images'],
    [changed(97, 4), 'compression is not gzip'],
    [changed(101, 40), 'zoom level 40'],
    [bomb, 'Cannot create a Buffer larger'],
  ] as const) {
    const error = await openTiles(await fileOf(bytes)).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'MOBILITY_CONFIG', message: expect.stringContaining(why) });
    expect(error.message).toContain('expected MOBILITY_TILES to be a PMTiles file');
  }
  await expect(openTiles(join(tempFolder(), 'none'))).rejects.toMatchObject({ code: 'MOBILITY_CONFIG' });
  expect(gzipSync(bomb).length).toBeLessThan(30_000);
});

it('a file with any wrong bytes gives an image, none or an error, and always ends', async () => {
  const good = pmtiles(
    Array.from({ length: 20 }, (_, i) => ({ id: 3 * i, run: 2, image: Buffer.alloc(5, i) })),
    { leaves: true, maxZoom: 4 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
      async (changes) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        const tiles = await openTiles(await fileOf(bytes)).catch(() => null);
        for (let x = 0; tiles !== null && x < 8; x += 1) await tiles.tile(3, x, 5).catch(() => null);
        await tiles?.close();
      },
    ),
    runs(100),
  );
});
