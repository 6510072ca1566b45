// Log files: what is written is there after close, rotation and compression lose nothing, trouble never reaches the
// writer.
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FileLogOptions, openFileLog } from '../../src/log/files.ts';
import { parseFileLine, tornMark } from '../../src/log/format.ts';
import { childLog, writeLater } from '../../src/log/log.ts';
import { createQueue } from '../../src/log/queue.ts';
import { isMobilityError } from '../../src/model/errors.ts';
import { until } from '../support/until.ts';
import { ended, logFiles, messagesOf, newFolder, spoke, startChild, textOf } from './support/kit.ts';

// Noon of the host's day: `server-2026-03-14.log` is the live file wherever the tests run.
const noon = new Date(2026, 2, 14, 12).getTime() / 1000;
const live = 'server-2026-03-14.log';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: noon * 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function open(dir: string, changes: Partial<FileLogOptions> = {}) {
  return openFileLog({
    dir,
    name: 'server',
    level: 'debug',
    threadId: 'main',
    maxSizeMiB: 10,
    maxFiles: 1000,
    quietSeconds: 0,
    ...changes,
  });
}

const numbered = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => `line ${from + n}`);

describe('a log file', () => {
  it('holds each message as one line with timestamp, level and thread id', async () => {
    const dir = newFolder();
    const files = open(dir, { zone: 'Europe/Berlin', now: () => Date.UTC(2026, 2, 14, 8, 31, 2, 120) / 1000 });
    files.log.write('INFO', 'one\nmessage');
    files.log.writeAll('DEBUG', ['two', 'three']);
    files.log.child!('42').write('ERROR', 'four');
    await files.close();
    expect(textOf(dir, live)).toBe(
      [
        '2026-03-14T09:31:02.120+01:00:INFO:main:one message',
        '2026-03-14T09:31:02.120+01:00:DEBUG:main:two',
        '2026-03-14T09:31:02.120+01:00:DEBUG:main:three',
        '2026-03-14T09:31:02.120+01:00:ERROR:main-42:four',
        '',
      ].join('\n'),
    );
  });

  it('has many lines in order, which are made in the turns that others leave', async () => {
    const dir = newFolder();
    const files = open(dir, { maxSizeMiB: 1000 });
    const made: number[] = [];
    const count = 50_000;
    const at = (i: number): string => {
      made.push(i);
      return `line ${i}`;
    };
    writeLater(files.log, 'DEBUG', { length: count, at });
    files.log.write('INFO', 'the last one');
    expect(made.length).toBeLessThan(count / 10);
    let turnsOfOthers = 0;
    const others = (): void => {
      if (made.length > count / 10) turnsOfOthers += 1;
      if (made.length < count) setImmediate(others);
    };
    setImmediate(others);
    await until(() => made.length >= count);
    expect(turnsOfOthers).toBeGreaterThan(1);
    await files.close();
    expect(messagesOf(dir)).toEqual([...numbered(count), 'the last one']);
  });

  it('keeps every character of a message', async () => {
    const dir = newFolder();
    const files = open(dir);
    const messages = ['Füße', '日本 😀', 'é'.repeat(9000), 'plain', 'ÿ\u0100'];
    for (const message of messages) files.log.write('INFO', message);
    files.log.writeAll('INFO', messages);
    writeLater(files.log, 'INFO', messages);
    await files.close();
    expect(messagesOf(dir)).toEqual([...messages, ...messages, ...messages]);
  });

  it('keeps lines of the configured level and above', async () => {
    const dir = newFolder();
    const { log, close } = open(dir, { level: 'warning' });
    for (const level of ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const) log.write(level, level);
    log.writeAll('INFO', ['no', 'no']);
    writeLater(log, 'INFO', ['no', 'no']);
    expect(log.enabled('INFO')).toBe(false);
    expect(childLog(log, 1).enabled('WARNING')).toBe(true);
    await close();
    expect(messagesOf(dir)).toEqual(['WARNING', 'ERROR']);
  });

  it('is private, and so is its folder', async () => {
    const dir = join(newFolder(), 'new', 'logs');
    const files = open(dir, { maxSizeMiB: 0.001 });
    files.log.writeAll('INFO', numbered(99));
    await until(() => messagesOf(dir).length === 99);
    files.log.write('INFO', 'the next file');
    await files.close();
    expect(logFiles(dir)).toEqual(['server-2026-03-14.log', 'server-2026-03-14.part1.log.gz'].sort());
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of logFiles(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  });

  it('is continued by the next process of the same day', async () => {
    const dir = newFolder();
    for (const text of ['first', 'second', 'third']) {
      const files = open(dir);
      files.log.write('INFO', text);
      await files.close();
    }
    expect(logFiles(dir)).toEqual([live]);
    expect(messagesOf(dir)).toEqual(['first', 'second', 'third']);
  });

  it('marks a line that a crash cut off, and writes the next one whole', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, live), '2026-03-14T12:00:00.000+00:00:INFO:main:END POST /x 0.1');
    const files = open(dir);
    files.log.write('INFO', 'whole');
    await files.close();
    const lines = textOf(dir, live).split('\n');
    expect(lines[0]!.endsWith(`0.1${tornMark}`)).toBe(true);
    expect(parseFileLine(lines[1]!)!.message).toBe('whole');
  });

  it('ignores lines written after close, and a second close does nothing', async () => {
    const dir = newFolder();
    const files = open(dir);
    files.log.write('INFO', 'before');
    const first = files.close();
    files.log.write('INFO', 'after');
    await Promise.all([first, files.close()]);
    expect(messagesOf(dir)).toEqual(['before']);
  });
});

describe('close', () => {
  it('brings every line to disk in a process that exits right after it', async () => {
    const dir = newFolder();
    expect(await ended(await startChild(dir, 'pipeline', '2000', 'close'))).toBe(0);
    expect(messagesOf(dir).map((text) => text.replace(/ of \d+$/, ''))).toEqual(numbered(2000));
  }, 120_000);

  it('resolves when nothing was written', async () => {
    const dir = newFolder();
    await open(dir).close();
    expect(messagesOf(dir)).toEqual([]);
  });
});

describe('rotation', () => {
  it('compresses finished files, keeps the live file plain under one name, and loses no line', async () => {
    const dir = newFolder();
    const files = open(dir, { maxSizeMiB: 0.01 });
    for (let round = 0; round < 20; round += 1) {
      files.log.writeAll('DEBUG', numbered(50, round * 50));
      await until(() => messagesOf(dir).length === (round + 1) * 50);
    }
    await files.close();
    const names = logFiles(dir);
    expect(names.filter((name) => name.endsWith('.log'))).toEqual([live]);
    expect(names.length).toBeGreaterThan(3);
    const parts = names.filter((name) => name.endsWith('.gz'));
    const number = (name: string): number => Number(/part(\d+)/.exec(name)![1]);
    parts.sort((a, b) => number(a) - number(b));
    expect(parts.map(number)).toEqual(parts.map((_, i) => i + 1));
    const inOrder = [...parts, live].flatMap((name) => textOf(dir, name).trimEnd().split('\n'));
    expect(inOrder.map((text) => parseFileLine(text)!.message)).toEqual(numbered(1000));
  });

  it('loses no line when many files are filled before one of them is written', async () => {
    const dir = newFolder();
    const files = open(dir, { maxSizeMiB: 0.01 });
    for (const text of numbered(5000)) files.log.write('DEBUG', text);
    await files.close();
    expect(messagesOf(dir)).toHaveLength(5000);
    expect(new Set(messagesOf(dir))).toEqual(new Set(numbered(5000)));
  });

  it('begins a new file with the day', async () => {
    const dir = newFolder();
    const files = open(dir);
    files.log.write('INFO', 'today');
    await until(() => messagesOf(dir).length === 1);
    vi.setSystemTime((noon + 86_400) * 1000);
    files.log.write('INFO', 'tomorrow');
    await files.close();
    expect(logFiles(dir)).toEqual(['server-2026-03-14.part1.log.gz', 'server-2026-03-15.log']);
    expect(messagesOf(dir)).toEqual(['today', 'tomorrow']);
  });

  it('keeps the newest finished files, as many as configured', async () => {
    const dir = newFolder();
    const files = open(dir, { maxSizeMiB: 0.005, maxFiles: 3 });
    for (let round = 0; round < 20; round += 1) {
      files.log.writeAll('DEBUG', numbered(100, round * 100));
      await until(() => messagesOf(dir).includes(`line ${round * 100 + 99}`));
    }
    await files.close();
    const parts = logFiles(dir).filter((name) => name !== live);
    expect(parts).toHaveLength(3);
    expect(messagesOf(dir)).toContain('line 1999');
    expect(messagesOf(dir)).not.toContain('line 0');
  });
});

describe('files that an earlier process left', () => {
  it('are compressed when the next process opens its log: of other days, of other runs, half compressed', async () => {
    const dir = newFolder();
    const leave = (name: string, text: string): void => writeFileSync(join(dir, name), `${text}\n`);
    leave('server-2026-03-12.log', 'x:1:2:3:4:5:old day');
    leave('server-2026-03-13.part1.log', 'x:1:2:3:4:5:part');
    leave('server-2026-03-13.log', 'x:1:2:3:4:5:rest');
    leave('server-2-2026-03-13.log', 'x:1:2:3:4:5:second');
    leave('server-2026-03-13.part1.log.gz.77-1.draft', 'half');
    utimesSync(join(dir, 'server-2026-03-13.part1.log.gz.77-1.draft'), 1_700_000_000, 1_700_000_000);
    leave('pipeline-2026-03-12.log', 'x:1:2:3:4:5:another program');
    leave('notes.txt', 'not ours');
    utimesSync(join(dir, 'server-2026-03-12.log'), 1_700_000_000, 1_700_000_000);
    await open(dir).close();
    expect(logFiles(dir)).toEqual([
      'notes.txt',
      'pipeline-2026-03-12.log',
      'server-2-2026-03-13.part1.log.gz',
      'server-2026-03-12.part1.log.gz',
      'server-2026-03-13.part1.log.gz',
      'server-2026-03-13.part2.log.gz',
      live,
    ]);
    expect(textOf(dir, 'server-2026-03-13.part2.log.gz')).toContain('rest');
    expect(textOf(dir, 'server-2026-03-13.part1.log.gz')).toContain('part');
    expect(statSync(join(dir, 'server-2026-03-12.part1.log.gz')).mtimeMs).toBe(1_700_000_000_000);
  });

  it('are compressed although the clock was set back since, or the host slept: their times lie in the future', async () => {
    const dir = newFolder();
    const left = 'pipeline-2026-03-12.log';
    writeFileSync(join(dir, left), 'x:1:2:3:4:5:old day\n');
    const inAnHour = (performance.timeOrigin + performance.now()) / 1000 + 3600; // `Date` is faked
    utimesSync(join(dir, left), inAnHour, inAnHour);
    const files = open(dir, { name: 'pipeline', quietSeconds: 1e-4 }); // looks at them now, and when it closes
    files.log.write('INFO', 'a line');
    await until(() => messagesOf(dir).includes('a line'));
    await files.close();
    expect(logFiles(dir)).toEqual(['pipeline-2026-03-12.part1.log.gz', 'pipeline-2026-03-14.log']);
  });

  it('are removed if they were already compressed, so that no line exists twice', async () => {
    const dir = newFolder();
    const files = open(dir, { maxSizeMiB: 0.005 });
    files.log.writeAll('DEBUG', numbered(299));
    await until(() => messagesOf(dir).length === 299);
    files.log.write('DEBUG', 'line 299');
    await files.close();
    const part = 'server-2026-03-14.part1.log';
    writeFileSync(join(dir, part), textOf(dir, `${part}.gz`));
    await open(dir).close();
    expect(existsSync(join(dir, part))).toBe(false);
    expect(messagesOf(dir).sort()).toEqual(numbered(300).sort());
  });
});

describe('several pipelines at once', () => {
  it('append to one file, and so do later ones', async () => {
    const dir = newFolder();
    for (const round of [1, 2]) {
      const first = open(dir, { name: 'pipeline' });
      const second = open(dir, { name: 'pipeline' });
      first.log.write('INFO', `first ${round}`);
      second.log.write('INFO', `second ${round}`);
      await Promise.all([first.close(), second.close()]);
    }
    expect(logFiles(dir)).toEqual(['pipeline-2026-03-14.log']);
    expect(messagesOf(dir).sort()).toEqual(['first 1', 'first 2', 'second 1', 'second 2']);
  });

  it('continue in the new file when one of them has finished the old one', async () => {
    let now = noon;
    const dir = newFolder();
    const first = open(dir, { name: 'pipeline', now: () => now, quietSeconds: 60 });
    const second = open(dir, { name: 'pipeline', now: () => now, maxSizeMiB: 0.005, quietSeconds: 60 });
    first.log.write('INFO', 'before');
    second.log.writeAll('INFO', numbered(200));
    await until(() => messagesOf(dir).length === 201);
    second.log.write('INFO', 'the next file');
    await until(() => messagesOf(dir).length === 202);
    now += 5;
    first.log.write('INFO', 'after');
    await Promise.all([first.close(), second.close()]);
    expect(logFiles(dir)).toEqual(['pipeline-2026-03-14.log', 'pipeline-2026-03-14.part1.log']);
    expect(textOf(dir, 'pipeline-2026-03-14.log')).toMatch(/the next file\n.*after\n$/);
  });

  it('lose no line when they rotate all the time', async () => {
    vi.useRealTimers();
    const dir = newFolder();
    const children = await Promise.all([1, 2].map(() => startChild(dir, 'pipeline', '3000', 'close', '0.02')));
    expect(await Promise.all(children.map(ended))).toEqual([0, 0]);
    const counts = new Map<string, Set<string>>();
    for (const message of messagesOf(dir)) {
      const [, number, pid] = /^line (\d+) of (\d+)$/.exec(message)!;
      if (!counts.has(pid!)) counts.set(pid!, new Set());
      counts.get(pid!)!.add(number!);
    }
    expect([...counts.values()].map((numbers) => numbers.size)).toEqual([3000, 3000]);
    expect(messagesOf(dir)).toHaveLength(6000);
  }, 120_000);

  it('leave few files when a timer starts them again and again', async () => {
    const dir = newFolder();
    for (let run = 0; run < 30; run += 1) {
      const files = open(dir, { name: 'pipeline' });
      files.log.write('INFO', `run ${run}`);
      await files.close();
    }
    expect(logFiles(dir)).toEqual(['pipeline-2026-03-14.log']);
    expect(messagesOf(dir)).toHaveLength(30);
  });
});

describe('the processes of one server', () => {
  it('append whole lines to one file, and lose none when it rotates all the time', async () => {
    vi.useRealTimers();
    const dir = newFolder();
    const primary = open(dir, { maxSizeMiB: 0.02 });
    expect(primary.source()).toBe('server');
    const workers = await Promise.all(
      [1, 2].map(() => startChild(dir, 'server', '3000', 'close', '0.02', primary.source())),
    );
    primary.log.writeAll('INFO', numbered(100));
    expect(await Promise.all(workers.map(ended))).toEqual([0, 0]);
    await primary.close();
    expect(new Set(messagesOf(dir)).size).toBe(6100);
    expect(messagesOf(dir)).toHaveLength(6100);
    expect(logFiles(dir).filter((name) => !/^server-\d{4}-\d\d-\d\d(\.part\d+\.log\.gz|\.log)$/.test(name))).toEqual(
      [],
    );
  }, 120_000);

  it('go on after one of them was killed, and keep what it had written', async () => {
    vi.useRealTimers();
    const dir = newFolder();
    const primary = open(dir);
    const killed = await startChild(dir, 'server', '500', 'wait', '10', primary.source());
    await spoke(killed);
    await until(() => messagesOf(dir).length === 500);
    const end = ended(killed);
    killed.kill('SIGKILL');
    await end;
    primary.log.write('INFO', 'the next line');
    await primary.close();
    expect(messagesOf(dir).slice(-2)).toEqual([expect.stringMatching(/^line 499 of/), 'the next line']);
  }, 120_000);

  it('continue in a new file when theirs was finished, and do not take its lines for lost', async () => {
    const dir = newFolder();
    let now = noon;
    const options = { now: () => now, quietSeconds: 0 };
    const primary = open(dir, options);
    const worker = open(dir, { ...options, source: primary.source(), maxSizeMiB: 0.001 });
    const idle = open(dir, { ...options, source: primary.source() });
    idle.log.write('INFO', 'written before');
    await until(() => messagesOf(dir).length === 1);
    worker.log.writeAll('INFO', numbered(30));
    await until(() => messagesOf(dir).length === 31);
    worker.log.write('INFO', 'the next file');
    await worker.close();
    now += 5;
    await open(dir, { ...options, name: 'server' }).close(); // another server compresses what is finished
    await until(() => logFiles(dir).includes('server-2026-03-14.part1.log.gz'));
    idle.log.write('INFO', 'written after');
    await idle.close();
    await primary.close();
    expect(messagesOf(dir).filter((text) => !text.startsWith('line '))).toEqual([
      'the next file',
      'written after',
      'written before',
    ]);
  });
});

describe('several servers at once', () => {
  it('each write their own file, and the next second server continues the second file', async () => {
    const dir = newFolder();
    for (const round of [1, 2]) {
      const first = open(dir);
      const second = open(dir);
      first.log.write('INFO', `first ${round}`);
      second.log.write('INFO', `second ${round}`);
      await Promise.all([first.close(), second.close()]);
    }
    expect(logFiles(dir)).toEqual(['server-2-2026-03-14.log', live]);
    expect(messagesOf(dir)).toEqual(['second 1', 'second 2', 'first 1', 'first 2']);
  });

  it('name their lines differently, and so do their processes', async () => {
    const dir = newFolder();
    const servers = [open(dir), open(dir)];
    const workers = servers.map((server) => open(dir, { threadId: 'w1', source: server.source() }));
    const all = [...servers, ...workers];
    for (const { log } of all) childLog(log, 7).write('INFO', 'a call');
    for (const { close } of all.reverse()) await close();
    const threads = logFiles(dir).flatMap((name) => {
      const lines = readFileSync(join(dir, name), 'utf8').split('\n').filter(Boolean);
      return lines.map((text) => parseFileLine(text)!.thread);
    });
    expect(threads.sort()).toEqual(['main-7', 'main.2-7', 'w1-7', 'w1.2-7']);
    expect(all.map(({ threadId }) => threadId).sort()).toEqual(['main', 'main.2', 'w1', 'w1.2']);
  });

  it('leave the file to a server in another process until that one ends, by a kill too, and then continue it', async () => {
    vi.useRealTimers();
    const dir = newFolder();
    const child = await startChild(dir, 'server', '10', 'wait');
    const end = ended(child);
    await spoke(child);
    const write = async (text: string): Promise<void> => {
      const servers = [open(dir), open(dir)];
      for (const { log } of servers) log.write('INFO', text);
      for (const { close } of servers) await close();
    };
    await write('beside it');
    child.kill('SIGKILL');
    await end;
    await write('after it');
    const found = logFiles(dir)
      .map((name) => [name.slice(0, -15), textOf(dir, name).trimEnd().split(':').at(-1)])
      .sort();
    expect(readdirSync(dir).filter((name) => name.startsWith('.'))).toEqual([
      '.server-2.claim',
      '.server-3.claim',
      '.server.claim',
    ]);
    expect(found).toEqual(
      [
        ['server-2', 'after it'],
        ['server', 'after it'],
        ['server-3', 'beside it'],
      ].sort(),
    );
  }, 120_000);
});

describe('a claim', () => {
  it('is made again by a server whose primary process has nothing to log', async () => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: noon * 1000 });
    const dir = newFolder();
    const warn = vi.fn();
    const first = open(dir, { warn });
    first.log.write('INFO', 'started');
    await until(() => textOf(dir, live).includes('started'));
    rmSync(dir, { recursive: true });
    vi.advanceTimersByTime(5_000);
    await until(() => existsSync(join(dir, '.server.claim')));
    const second = open(dir);
    expect([first.source(), second.source()]).toEqual(['server', 'server-2']);
    await second.close();
    await first.close();
    expect(warn).not.toHaveBeenCalled();
  });

  it('is made again with a folder that was removed, so that the next server has a file of its own', async () => {
    const dir = join(newFolder(), 'logs');
    let now = noon;
    const first = open(dir, { now: () => now });
    rmSync(dir, { recursive: true });
    now += 2;
    first.log.write('INFO', 'of the first');
    await until(() => existsSync(dir) && logFiles(dir).length === 1);
    const second = open(dir, { now: () => now });
    second.log.write('INFO', 'of the second');
    await Promise.all([first.close(), second.close()]);
    expect(logFiles(dir).map((name) => textOf(dir, name).trimEnd().split(':').at(-1))).toEqual([
      'of the second',
      'of the first',
    ]);
  });

  it('that cannot be locked lets servers share a file, and loses no line', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, '.server.claim'), 'no lock here '.repeat(100));
    const servers = [open(dir), open(dir)];
    for (const [i, { log }] of servers.entries()) log.write('INFO', `of ${i}`);
    for (const { close } of servers) await close();
    expect(logFiles(dir)).toEqual([live]);
    expect(messagesOf(dir).sort()).toEqual(['of 0', 'of 1']);
  });
});

describe('trouble', () => {
  it.skipIf(!existsSync('/dev/full'))(
    'of a full disk never reaches the writer; dropped lines are counted and reported once',
    async () => {
      const dir = newFolder();
      symlinkSync('/dev/full', join(dir, live));
      let now = noon;
      const warnings: string[] = [];
      const files = open(dir, { now: () => now, warn: (text) => warnings.push(text) });
      files.log.write('INFO', 'lost 1');
      files.log.writeAll('INFO', ['lost 2', 'lost 3']);
      await until(() => warnings.length === 1);
      files.log.write('INFO', 'lost 4');
      now += 5;
      files.log.write('INFO', 'lost 5'); // a new attempt, on a disk that is still full
      rmSync(join(dir, live));
      now += 5;
      files.log.write('INFO', 'kept 1');
      files.log.write('INFO', 'kept 2');
      await files.close();
      const messages = messagesOf(dir);
      const reports = messages.filter((text) => text.startsWith('Log lines dropped'));
      expect(messages.slice(-2)).toEqual(['kept 1', 'kept 2']);
      expect(reports).toHaveLength(1);
      const dropped = Number(/^Log lines dropped = (\d+) since \S+: ENOSPC/.exec(reports[0]!)?.[1]);
      expect(dropped).toBeGreaterThanOrEqual(3);
      expect(dropped + messages.length - 1).toBe(7); // each line was either written or counted
      expect(warnings).toHaveLength(1);
    },
  );

  it.skipIf(!existsSync('/dev/full'))('that ends before close: the dropped lines are reported at close', async () => {
    const dir = newFolder();
    symlinkSync('/dev/full', join(dir, live));
    let now = noon;
    const warnings: string[] = [];
    const files = open(dir, { now: () => now, warn: (text) => warnings.push(text) });
    files.log.write('INFO', 'lost');
    await until(() => warnings.length === 1);
    rmSync(join(dir, live));
    now += 5;
    await files.close();
    expect(messagesOf(dir)).toHaveLength(1);
    expect(messagesOf(dir)[0]).toMatch(/^Log lines dropped = 1 since/);
  });

  it('of a disk that is too slow: a bounded number of lines waits, and the others are counted', async () => {
    const batches: string[] = [];
    let goOn = (): void => {};
    const blocked = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { log, close } = createQueue({
      ...{ level: 'debug', threadId: 'w1', zone: 'UTC', now: () => noon, batch: Number.POSITIVE_INFINITY },
      write: (lines) => blocked.then(() => void batches.push(lines().toString())),
      warn: () => {},
    });
    const long = 'x'.repeat(10_000);
    for (let n = 0; n < 10_000; n += 1) log.write('INFO', long);
    goOn();
    await close();
    const kept = batches.join('').split(long).length - 1;
    expect(kept).toBeLessThan(8000);
    expect(batches.join('')).toContain(`Log lines dropped = ${10_000 - kept} since 2026-03-14`);
  });

  it('with the folder is reported when the log is opened, with advice', () => {
    const file = join(newFolder(), 'a-file');
    writeFileSync(file, '');
    for (const dir of [file, join(file, 'logs')]) {
      const failure = (() => {
        try {
          open(dir);
        } catch (error) {
          return error;
        }
      })();
      expect(isMobilityError(failure, 'MOBILITY_CONFIG')).toBe(true);
      expect((failure as Error).message).toContain('MOBILITY_LOG_DIR');
    }
  });

  it('with the folder never stops a process of a running server: it counts lines until the folder is back', async () => {
    const dir = join(newFolder(), 'logs');
    let now = noon;
    writeFileSync(dir, 'in the way');
    const warnings: string[] = [];
    const files = open(dir, { source: 'server', now: () => now, warn: (text) => warnings.push(text) });
    files.log.write('INFO', 'lost');
    await until(() => warnings.length === 1);
    rmSync(dir);
    now += 2;
    files.log.write('INFO', 'kept');
    await files.close();
    expect(messagesOf(dir)).toEqual([expect.stringMatching(/^Log lines dropped = 1 since /), 'kept']);
  });

  it.skipIf(process.getuid?.() === 0)('with a file of another owner is reported when the log is opened', () => {
    const dir = newFolder();
    writeFileSync(join(dir, live), '');
    chmodSync(join(dir, live), 0o400);
    expect(() => open(dir)).toThrow(/MOBILITY_LOG_DIR/);
  });

  it('with a removed folder ends within a second: the log is created again and reports the number of lost lines', async () => {
    const dir = join(newFolder(), 'logs');
    let now = noon;
    const files = open(dir, { now: () => now });
    files.log.write('INFO', 'before');
    await until(() => messagesOf(dir).length === 1);
    now += 2;
    files.log.write('INFO', 'seen in its place');
    await until(() => messagesOf(dir).length === 2);
    rmSync(dir, { recursive: true });
    now += 0.5;
    files.log.writeAll('INFO', ['lost 1', 'lost 2']);
    await new Promise((resolve) => setImmediate(resolve));
    now += 1;
    files.log.write('INFO', 'kept');
    await files.close();
    const messages = messagesOf(dir);
    expect(messages.at(-1)).toBe('kept');
    expect(messages[0]).toMatch(/^Log lines dropped = 3 since \S+: the log file was removed$/);
    expect(messages).toHaveLength(2);
  });
});

describe('closing', () => {
  it('never waits for its time limit, not even right after a rotation', async () => {
    const began = performance.now();
    for (let round = 0; round < 60; round += 1) {
      const files = open(newFolder(), { maxSizeMiB: 0.005 });
      for (let batch = 0; batch <= round % 5; batch += 1) {
        files.log.writeAll('DEBUG', numbered(60 + round));
        for (let turn = 0; turn < round % 7; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      await files.close();
    }
    expect(performance.now() - began).toBeLessThan(25_000); // a close that waits in vain takes 30 s
  });
});
