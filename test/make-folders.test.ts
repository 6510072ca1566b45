// Folders are made with those above them, or refused.
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeFolders } from '../src/util/make-folders.ts';
import { isHere } from './support/needs.ts';

it.skipIf(!isHere('/proc', existsSync('/proc/self')))(
  'a folder that its file system refuses is refused without another attempt',
  () => {
    expect(() => makeFolders('/proc/none/a')).toThrow('ENOENT');
  },
);
