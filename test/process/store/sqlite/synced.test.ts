// What must survive a power cut is written to disk before it is announced: seen through counted fsyncs. A killed
// process does not show it, since the kernel keeps what was written. folder.test.ts looks at SQLite's settings.
import fs from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { archiveFiles } from '../../../../src/log/compress-files.ts';
import { scrubLogs } from '../../../../src/log/scrub.ts';
import { backupStore } from '../../../../src/upkeep/backup-store.ts';
import { storeWithUser } from '../../../store/contract/kit.ts';
import { tempFolder } from '../../../support/clean-up.ts';
import { openStoreIn } from '../../../support/store.ts';

/** What was written to disk, named and removed, in order. */
const events = vi.hoisted((): string[] => []);
const disk = vi.hoisted(() => ({ isBroken: false }));
vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>();
  const name = (path: unknown) => basename(String(path)).replace(/[\w-]{8,}$/, '*');
  const open: typeof actual.open = async (path, ...rest) => {
    const handle = await actual.open(path, ...rest);
    if (disk.isBroken) handle.write = () => Promise.reject(new Error('EIO'));
    for (const word of ['sync', 'datasync'] as const) {
      const sync = handle[word].bind(handle);
      handle[word] = async () => {
        await sync();
        events.push(`sync ${name(path)}`);
      };
    }
    return handle;
  };
  const noted = (word: 'rename' | 'link' | 'rm') => async (from: string, to: never) => {
    await (actual[word] as (from: string, to: never) => Promise<void>)(from, to);
    events.push(`${word} ${name(from)}`);
  };
  return { ...actual, open, rename: noted('rename'), link: noted('link'), rm: noted('rm') };
});

beforeEach(() => {
  events.splice(0);
  disk.isBroken = false;
});

it('a new store: its file before it has its name, and its name before it is used', async () => {
  const folder = join(tempFolder(), 'store');
  await openStoreIn(folder);
  expect(events.slice(0, 3)).toEqual(['sync mobility.db.*', 'link mobility.db.*', 'sync store']);
});

it('a backup: its file and the names in it before it has its name, and its name before it is reported', async () => {
  const { folder } = await storeWithUser();
  const around = tempFolder();
  events.splice(0);
  await backupStore(folder, join(around, 'backup'));
  const named = basename(around).replace(/[\w-]{8,}$/, '*');
  const copied = ['sync mobility.db', 'sync .backup.*', 'rename .backup.*', `sync ${named}`];
  expect(events.filter((event) => !event.startsWith('rm'))).toEqual(copied);
});

it('a log in which a person was overwritten: before the erasure is reported, else it is named', async () => {
  const folder = tempFolder();
  const somebody = { uuid: '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11', user_email: null };
  const log = (day: number, text: string) => writeFile(join(folder, `server-2026-03-${day}.log`), text);
  await log(13, `a line about UUID ${somebody.uuid}\n`);
  await log(14, 'another line\n');
  await scrubLogs(folder, [somebody]);
  expect(events).toEqual(['sync server-2026-03-13.log']);
  await log(14, `a line about UUID ${somebody.uuid}\n`);
  disk.isBroken = true;
  const { left } = await scrubLogs(folder, [somebody]);
  expect(left).toEqual([{ file: 'server-2026-03-14.log', reason: 'EIO' }]);
});

it('a compressed log: before the lines that it was made of are removed', async () => {
  const folder = tempFolder();
  await writeFile(join(folder, 'server-2026-03-13.log'), 'a line\n');
  const fsync = vi.spyOn(fs, 'fsync').mockImplementation(((_: number, done: () => void) => {
    events.push('sync of a stream');
    done();
  }) as typeof fs.fsync);
  await archiveFiles({ folder, source: 'server', current: () => '', today: () => '2026-03-14', maxFiles: 9 });
  fsync.mockRestore();
  expect(events).toEqual(['sync of a stream', 'rename server-2026-03-13.log.gz.draft', 'rm server-2026-03-13.log']);
});
