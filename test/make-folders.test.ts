// Folders are made with those above them, or refused.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolders } from '../src/util/make-folders.ts';
import { tempFolder } from './support/clean-up.ts';
import { isHere } from './support/needs.ts';

it('a folder is made with its parents, private, and an existing folder is not changed', () => {
  const folder = tempFolder();
  for (let time = 0; time < 2; time += 1) makeFolders(join(folder, 'a', 'b'));
  expect(statSync(join(folder, 'a', 'b')).mode & 0o777).toBe(0o700);
});

it('a folder in a file, or in place of one, is refused', () => {
  const file = join(tempFolder(), 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'a', 'b')]) expect(() => makeFolders(path)).toThrow(/EEXIST|ENOTDIR/);
});

it.skipIf(!isHere('/proc', existsSync('/proc/self')))(
  'a folder that its file system refuses is refused without another attempt',
  () => {
    expect(() => makeFolders('/proc/none/a')).toThrow('ENOENT');
  },
);
