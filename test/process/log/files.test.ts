// Log files: every line is there after close, rotation and compression lose nothing, faults never reach the writer.
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tryLock } from '../../../src/log/file-lock.ts';
import { type FileLog, openFileLog } from '../../../src/log/files.ts';
import { parseFileLine } from '../../../src/log/line-format.ts';
import { createQueue } from '../../../src/log/queue.ts';
import type { FileLogOptions } from '../../../src/log/writer.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { logFiles, textOf } from '../../support/log-files.ts';
import { isHere } from '../../support/needs.ts';
import { until } from '../../support/until.ts';
import { words } from '../../support/words.ts';
import { ended, messagesOf, startChild } from './support/kit.ts';

// Noon of the host's day, so that the current file has this name wherever the tests run.
const noon = new Date(2026, 2, 14, 12).getTime();
const current = 'server-2026-03-14.log';
const hasFull = isHere('/dev/full', existsSync('/dev/full'));
let dir = '';

beforeEach(() => {
  dir = tempFolder();
  vi.useFakeTimers({ toFake: ['Date'], now: noon });
});
afterEach(() => {
  vi.useRealTimers();
});

function open(logDir: string, changes: Partial<FileLogOptions> = {}): Promise<FileLog> {
  const settings = { logDir, logLevel: 'debug', maxSizeMiB: 10, logMaxFiles: 1000 } as const;
  return openFileLog({ ...settings, kind: 'server', threadId: 'main', warn: () => {}, ...changes });
}

/** Writes messages to a new log file, and closes it. */
async function written(dir: string, messages: readonly string[], changes: Partial<FileLogOptions> = {}): Promise<void> {
  const files = await open(dir, changes);
  for (const text of messages) files.log.write('INFO', text);
  await files.close();
}

const numbered = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => `line ${from + n}`);

/** Writes batches of 50 lines, each after the one before is on disk. */
async function writeBatches(dir: string, { log }: FileLog, batches: number): Promise<void> {
  const before = messagesOf(dir).length;
  for (let n = 0; n < batches; n += 1) {
    log.writeAll('DEBUG', numbered(50, n * 50));
    await until(() => messagesOf(dir).length === before + (n + 1) * 50);
  }
}

describe('a log file', () => {
  it('has each message as one line with timestamp, level and thread id', async () => {
    const files = await open(dir);
    files.log.write('INFO', 'one\nmessage');
    files.log.writeAll('DEBUG', ['two', 'three: ä😀']);
    files.log.child!('42').write('ERROR', 'four');
    await files.close();
    const lines = textOf(dir, current).trimEnd().split('\n');
    expect(lines.map((text) => text.replace(/^\S{10}T12:00:00\.000[+-]\d\d:\d\d:/, ''))).toEqual([
      'INFO:main:one message',
      'DEBUG:main:two',
      'DEBUG:main:three: ä😀',
      'ERROR:main-42:four',
    ]);
    expect(lines.map((text) => parseFileLine(text)!.time * 1000)).toEqual([noon, noon, noon, noon]);
  });

  it('has many lines in order, although they are formatted beside other work', async () => {
    const files = await open(dir);
    const count = 50_000;
    let formatted = 0;
    const at = (i: number): string => {
      formatted += 1;
      return `line ${i}`;
    };
    files.log.writeAll('DEBUG', { length: count, at });
    files.log.write('INFO', 'the last line');
    let turnsOfOthers = 0;
    while (formatted < count) {
      if (formatted > count / 10) turnsOfOthers += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(turnsOfOthers).toBeGreaterThan(1);
    await files.close();
    expect(messagesOf(dir)).toEqual([...numbered(count), 'the last line']);
  });

  it('has lines of the configured level and above', async () => {
    const { log, close } = await open(dir, { logLevel: 'warning' });
    for (const level of ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const) log.write(level, level);
    log.writeAll('INFO', ['no', 'no']);
    expect([log.enabled('INFO'), log.child!('1').enabled('WARNING')]).toEqual([false, true]);
    await close();
    expect(messagesOf(dir)).toEqual(['WARNING', 'ERROR']);
  });

  it('is private, also when it is compressed, and so is its folder', async () => {
    const dir = join(tempFolder(), 'new', 'logs');
    const files = await open(dir, { maxSizeMiB: 0.001 });
    await writeBatches(dir, files, 2);
    await files.close();
    expect(logFiles(dir)).toContain('server-2026-03-14.log.gz');
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of logFiles(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  });

  it('is continued by the next process of the day, after a line that a crash cut off', async () => {
    for (const text of ['first', 'second']) await written(dir, [text], { kind: 'pipeline' });
    writeFileSync(join(dir, 'pipeline-2026-03-14.log'), '2026-03-14T12:00:00.0', { flag: 'a' });
    await written(dir, ['third'], { kind: 'pipeline' });
    expect(logFiles(dir)).toEqual(['pipeline-2026-03-14.log']);
    expect(messagesOf(dir).filter((text) => text !== '')).toEqual(['first', 'second', 'third']);
  });

  it('has every line of a process that exits right after close; later lines are ignored', async () => {
    expect(await ended(await startChild(dir, 'pipeline', '2000', 'close'))).toBe(0);
    expect(messagesOf(dir).map((text) => text.replace(/ of \d+$/, ''))).toEqual(numbered(2000));
    const files = await open(dir);
    const closed = files.close();
    files.log.write('INFO', 'after');
    await Promise.all([closed, files.close()]);
    expect(textOf(dir, current)).toBe('');
  });
});

describe('rotation', () => {
  it('compresses full files and loses no line, also over a restart', async () => {
    for (let run = 0; run < 2; run += 1) {
      const files = await open(dir, { maxSizeMiB: 0.01 });
      await writeBatches(dir, files, 10);
      await files.close();
    }
    const endings = words('.log.gz .1.log.gz -2.log.gz -2.1.log');
    const names = endings.map((ending) => `server-2026-03-14${ending}`);
    expect(logFiles(dir)).toEqual([...names].sort());
    const inOrder = names.flatMap((name) => textOf(dir, name).trimEnd().split('\n'));
    expect(inOrder.map((text) => parseFileLine(text)!.message)).toEqual([...numbered(500), ...numbered(500)]);
  });

  it('starts a new file with the day, and leaves it alone if it was begun while compressing waited for another process', async () => {
    const other = tryLock(dir, 'archive')!;
    const files = await open(dir);
    files.log.write('INFO', 'today');
    await until(() => messagesOf(dir).length === 1);
    vi.setSystemTime(noon + 86_400_000);
    files.log.write('INFO', 'tomorrow');
    await until(() => messagesOf(dir).length === 2);
    other.release();
    await until(() => logFiles(dir).includes('server-2026-03-14.log.gz'));
    files.log.write('INFO', 'later');
    await files.close();
    expect(logFiles(dir)).toEqual(['server-2026-03-14.log.gz', 'server-2026-03-15.log']);
    expect(messagesOf(dir)).toEqual(['today', 'tomorrow', 'later']);
  });

  it('keeps the newest finished files, as many as configured', async () => {
    writeFileSync(join(dir, 'pipeline-2026-03-01.log.gz'), gzipSync('another kind\n'));
    const files = await open(dir, { maxSizeMiB: 0.005, logMaxFiles: 3 });
    await writeBatches(dir, files, 3);
    for (let n = 3; n < 20; n += 1) files.log.writeAll('DEBUG', numbered(5000, n * 5000));
    await files.close();
    expect(logFiles(dir).filter((name) => name.startsWith('server') && name.endsWith('.gz'))).toHaveLength(3);
    expect(messagesOf(dir)).toContain('line 99999');
    expect(messagesOf(dir)).not.toContain('line 0');
    expect(logFiles(dir)).toContain('pipeline-2026-03-01.log.gz');
  });
});

describe('files that a killed process left', () => {
  const leave = (dir: string, name: string, text: string): void =>
    writeFileSync(join(dir, name), `1:2:3:4:5:6:${text}\n`);

  it('are compressed by the next process: of other days, other kinds and other runs, but not twice', async () => {
    for (const day of ['server-2026-03-12', 'pipeline-2026-03-12', 'server-2-2026-03-13'])
      leave(dir, `${day}.log`, day);
    leave(dir, 'server-2026-03-14.log', 'full');
    leave(dir, 'server-2026-03-14.1.log', 'continued');
    leave(dir, 'pipeline-2-2026-03-14.log', 'of today');
    leave(dir, 'server-2026-03-12.log.gz.draft', 'incomplete');
    leave(dir, 'notes.txt', 'not a log');
    await (await open(dir)).close();
    const kept = words('notes.txt pipeline-2-2026-03-14.log server-2026-03-14.1.log');
    const compressed = words('pipeline-2026-03-12 server-2-2026-03-13 server-2026-03-12 server-2026-03-14');
    expect(logFiles(dir)).toEqual([...kept, ...compressed.map((name) => `${name}.log.gz`)].sort());
    expect(messagesOf(dir)).toContain('server-2-2026-03-13');
  });

  it('are not changed while their process runs, also by another kind of process', async () => {
    const other = await open(dir, { kind: 'pipeline' });
    vi.setSystemTime(noon + 86_400_000);
    await (await open(dir)).close();
    other.log.write('INFO', 'still open');
    await until(() => messagesOf(dir).length === 1);
    expect(logFiles(dir)).toContain('pipeline-2026-03-15.log');
    await other.close();
  });

  it('keep all lines if the clock was set back and a name is used twice', async () => {
    writeFileSync(join(dir, 'server-2026-03-12.log.gz'), gzipSync('1:2:3:4:5:6:before\n'));
    leave(dir, 'server-2026-03-12.log', 'after');
    await (await open(dir)).close();
    expect(messagesOf(dir)).toEqual(['before', 'after']);
  });
});

describe('several processes', () => {
  it('of a kind each have their own file, and the next ones continue these', async () => {
    for (const round of [1, 2]) {
      const both = [await open(dir), await open(dir)];
      for (const [i, { log }] of both.entries()) log.write('INFO', `${i + 1} ${round}`);
      for (const { close } of both) await close();
    }
    expect(logFiles(dir)).toEqual(['server-2-2026-03-14.log', current]);
    expect(messagesOf(dir)).toEqual(['2 1', '2 2', '1 1', '1 2']);
  });

  it('leave a file to its process until that ends, also by a kill', async () => {
    vi.useRealTimers();
    const child = await startChild(dir, 'server', '10', 'wait');
    await once(child.stdout!, 'data');
    const sourceOf = async (text: string): Promise<string> => {
      await written(dir, [text]);
      return logFiles(dir).find((name) => textOf(dir, name).includes(text))!;
    };
    expect(await sourceOf('beside it')).toMatch(/^server-2-/);
    child.kill('SIGKILL');
    await ended(child);
    expect(await sourceOf('after it')).toMatch(/^server-\d{4}/);
  });

  it.each([
    ['that start and rotate all the time', 'pipeline', [1, 2, 3], []],
    ['of a server, which write through their primary,', 'server', [1], ['3']],
  ])('%s lose no line', async (_, kind, numbers, workers) => {
    vi.useRealTimers();
    const children = await Promise.all(numbers.map(() => startChild(dir, kind, '3000', 'close', '0.02', ...workers)));
    expect(new Set(await Promise.all(children.map(ended)))).toEqual(new Set([0]));
    const found = messagesOf(dir);
    expect([found.length, new Set(found).size]).toEqual([9000, 9000]);
    expect(logFiles(dir).filter((name) => name.startsWith('server-2-'))).toEqual([]);
  });

  it('wait with compression while another one rewrites finished files', async () => {
    writeFileSync(join(dir, 'server-2026-03-12.log'), 'old\n');
    const lock = tryLock(dir, 'archive')!;
    const files = await open(dir);
    files.log.write('INFO', 'meanwhile');
    await until(() => messagesOf(dir).includes('meanwhile'));
    expect(logFiles(dir)).toContain('server-2026-03-12.log');
    lock.release();
    await files.close();
    expect(logFiles(dir)).toContain('server-2026-03-12.log.gz');
  });
});

describe('a fault', () => {
  it.skipIf(!hasFull)('of a full disk never reaches the writer; dropped lines are counted', async () => {
    symlinkSync('/dev/full', join(dir, current));
    const warnings: string[] = [];
    const files = await open(dir, { warn: (text) => warnings.push(text) });
    files.log.writeAll('INFO', ['lost 1', 'lost 2', 'lost 3']);
    await until(() => warnings.length === 1);
    files.log.write('INFO', 'lost 4');
    unlinkSync(join(dir, current));
    let written = 4;
    await until(() => {
      files.log.write('INFO', 'perhaps');
      written += 1;
      return logFiles(dir).includes(current) && messagesOf(dir).includes('perhaps');
    });
    await files.close();
    const [report, ...kept] = messagesOf(dir);
    const dropped = Number(/^Log lines dropped = (\d+) since 2026-03-14T12:00:00\S+: ENOSPC/.exec(report!)?.[1]);
    expect(dropped + kept.length).toBe(written); // each line was either written or counted
    expect(warnings).toHaveLength(1);
  });

  it('of a slow disk makes a bounded number of lines wait; the others are counted', async () => {
    const texts: string[] = [];
    let resume = (): void => {};
    const blocked = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const { log, close } = createQueue({
      level: 'debug',
      threadId: 'w1',
      zone: 'UTC',
      now: () => noon / 1000,
      warn: () => {},
      write: (lines) => blocked.then(() => void texts.push(lines)),
    });
    const long = 'x'.repeat(10_000);
    for (let n = 0; n < 10_000; n += 1) log.write('INFO', long);
    resume();
    await close();
    const kept = texts.join('').split(long).length - 1;
    expect(kept).toBeLessThan(8000);
    expect(texts.join('')).toContain(`Log lines dropped = ${10_000 - kept} since 2026-03-14`);
  });

  it('of the folder is reported when the log is opened, with advice', async () => {
    const file = join(tempFolder(), 'a-file');
    writeFileSync(file, '');
    const [folder, unlockable] = [tempFolder(), tempFolder()];
    mkdirSync(join(folder, current)); // as a file of another owner
    writeFileSync(join(unlockable, '.server.claim'), 'no lock here '.repeat(100));
    const message = expect.stringContaining('MOBILITY_LOG_DIR');
    for (const dir of [file, join(file, 'logs'), folder, unlockable])
      await expect(open(dir)).rejects.toMatchObject({ code: 'MOBILITY_CONFIG', message });
  });

  it('of a removed folder ends with the next line, which creates it again, with a claim', async () => {
    const dir = join(tempFolder(), 'logs');
    const files = await open(dir);
    files.log.write('INFO', 'before');
    await until(() => messagesOf(dir).length === 1);
    rmSync(dir, { recursive: true });
    files.log.write('INFO', 'after');
    await until(() => existsSync(dir) && messagesOf(dir).length === 1);
    const second = await open(dir);
    expect(readdirSync(dir)).toContain('server-2-2026-03-14.log');
    await second.close();
    await files.close();
    expect(messagesOf(dir)).toEqual(['after']);
  });

  it('of compression is reported, and the other files are compressed', async () => {
    mkdirSync(join(dir, 'server-2026-03-12.log'));
    writeFileSync(join(dir, 'server-2026-03-13.log'), 'old\n');
    const warnings: string[] = [];
    await (await open(dir, { warn: (text) => warnings.push(text) })).close();
    expect(warnings).toEqual([expect.stringContaining('could not be compressed: EISDIR')]);
    expect(logFiles(dir)).toContain('server-2026-03-13.log.gz');
  });
});
