// Reading log files back: everything that was written, once, in order, whatever became of the files.
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openFileLog } from '../../src/log/files.ts';
import { createStamp, fileLine, tornMark } from '../../src/log/format.ts';
import { type LogLine, type LogReader, type ReadOptions, readLogs } from '../../src/log/read.ts';
import { until } from '../support/until.ts';
import { ended, messagesOf, newFolder, startChild } from './support/kit.ts';

const noon = Date.UTC(2026, 2, 14, 12) / 1000;
const stamp = createStamp('UTC');
const text = (time: number, message: string): string => `${fileLine(stamp(time), 'INFO', 'w1', message)}\n`;
const texts = (...lines: [number, string][]): string => lines.map(([time, message]) => text(time, message)).join('');

async function readAll(options: ReadOptions): Promise<{ lines: LogLine[]; reader: LogReader }> {
  const reader = readLogs(options);
  const lines: LogLine[] = [];
  for await (const batch of reader.lines) lines.push(...batch);
  return { lines, reader };
}
const messages = (lines: LogLine[]): string[] => lines.map(({ message }) => message);

describe('reading a folder of logs', () => {
  it('returns the lines of finished parts and of the live file of all sources, in order of time', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'server-2026-03-13.part2.log.gz'), gzipSync(texts([noon - 86_300, 'b'])));
    writeFileSync(join(dir, 'server-2026-03-13.part1.log.gz'), gzipSync(texts([noon - 86_400, 'a'])));
    writeFileSync(join(dir, 'server-2026-03-14.part10.log'), texts([noon + 3, 'd']));
    writeFileSync(join(dir, 'server-2026-03-14.part9.log.gz'), gzipSync(texts([noon, 'c'])));
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts([noon + 5, 'e'], [noon + 4, 'its clock was set back']));
    writeFileSync(join(dir, 'pipeline-2026-03-14.log'), texts([noon + 1, 'p1'], [noon + 9, 'p2']));
    writeFileSync(join(dir, 'pipeline-2-2026-03-14.log'), texts([noon + 2, 'q1']));
    writeFileSync(join(dir, 'other.log'), texts([noon, 'not ours']));
    const { lines, reader } = await readAll({ dir });
    expect(messages(lines)).toEqual(['a', 'b', 'c', 'p1', 'q1', 'd', 'e', 'its clock was set back', 'p2']);
    expect(lines[4]).toMatchObject({ source: 'pipeline-2', thread: 'w1', level: 'INFO', time: noon + 2 });
    expect(reader.stats).toEqual({ files: 7, lines: 9, foreign: 0, torn: 0, unreadable: [], looks: 0 });
  });

  it('returns all written lines through rotation and compression, each line once', async () => {
    const dir = newFolder();
    const files = openFileLog({
      dir,
      name: 'server',
      level: 'debug',
      maxSizeMiB: 0.02,
      maxFiles: 1000,
      now: () => noon,
    });
    const written: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      const batch = Array.from({ length: 100 }, (_, n) => `line ${round * 100 + n} ä😀`);
      written.push(...batch);
      files.log.writeAll('DEBUG', batch);
      await until(() => messagesOf(dir).length === written.length);
    }
    await files.close();
    const { lines, reader } = await readAll({ dir });
    expect(messages(lines)).toEqual(written);
    expect(reader.stats.files).toBeGreaterThan(3);
  });

  it('returns only the lines of the kind that was asked for', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts([noon, 's']));
    writeFileSync(join(dir, 'pipeline-2026-03-14.log'), texts([noon, 'p']));
    writeFileSync(join(dir, 'pipeline-2-2026-03-14.log'), texts([noon + 1, 'q']));
    expect(messages((await readAll({ dir, kinds: ['pipeline'] })).lines)).toEqual(['p', 'q']);
  });

  it('returns the lines of a period, and does not open files of other days', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'server-2026-03-01.log'), texts([noon, 'in a file of another day']));
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts([noon, 'a'], [noon + 1, 'b'], [noon + 2, 'c']));
    writeFileSync(join(dir, 'server-2026-03-30.part1.log.gz'), 'not even gzip');
    const { lines, reader } = await readAll({ dir, since: noon + 1, until: noon + 2 });
    expect(messages(lines)).toEqual(['b']);
    expect(reader.stats.unreadable).toEqual([]);
  });

  it('skips foreign and torn lines, and counts them', async () => {
    const dir = newFolder();
    const torn = text(noon, 'END POST /x 0.75').slice(0, -3);
    writeFileSync(
      join(dir, 'server-2026-03-14.log'),
      `${text(noon, 'a')}something else\n\n${torn}${tornMark}\n${'x'.repeat(300_000)}\n${text(noon, 'b').replace('\n', '\r\n')}${torn}`,
    );
    const { lines, reader } = await readAll({ dir });
    expect(messages(lines)).toEqual(['a', 'b']);
    expect(reader.stats).toMatchObject({ lines: 2, foreign: 2, torn: 2 });
  });

  it('returns lines whole that lie across two pieces of a file', async () => {
    const dir = newFolder();
    const many = Array.from({ length: 4000 }, (_, n): [number, string] => [noon + n, `${n} ${'ä😀'.repeat(n % 60)}`]);
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts(...many));
    writeFileSync(join(dir, 'pipeline-2026-03-14.part1.log.gz'), gzipSync(texts(...many)));
    const { lines, reader } = await readAll({ dir });
    expect(reader.stats).toMatchObject({ lines: 8000, foreign: 0, torn: 0 });
    for (const source of ['server', 'pipeline']) {
      expect(messages(lines.filter((line) => line.source === source))).toEqual(many.map(([, message]) => message));
    }
  });

  it('continues after a damaged file and names it', async () => {
    const dir = newFolder();
    const whole = gzipSync(
      texts(...Array.from({ length: 9000 }, (_, n): [number, string] => [noon, `a ${n} ${Math.sin(n)}`])),
    );
    writeFileSync(join(dir, 'server-2026-03-14.part1.log.gz'), whole.subarray(0, whole.length / 2));
    writeFileSync(join(dir, 'server-2026-03-14.part2.log.gz'), 'no gzip');
    mkdirSync(join(dir, 'server-2026-03-13.log'));
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts([noon + 1, 'last']));
    const { lines, reader } = await readAll({ dir });
    expect(messages(lines).at(-1)).toBe('last');
    expect(lines.length).toBeGreaterThan(100);
    expect(reader.stats.unreadable.map(({ file }) => file).sort()).toEqual([
      'server-2026-03-13.log',
      'server-2026-03-14.part1.log.gz',
      'server-2026-03-14.part2.log.gz',
    ]);
  });

  it('reads a part once that exists both plain and compressed', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'server-2026-03-14.part1.log'), texts([noon, 'a']));
    writeFileSync(join(dir, 'server-2026-03-14.part1.log.gz'), gzipSync(texts([noon, 'a'])));
    expect(messages((await readAll({ dir })).lines)).toEqual(['a']);
  });

  it('fails for a missing folder and says what to do', async () => {
    await expect(readAll({ dir: join(newFolder(), 'none') })).rejects.toMatchObject({
      code: 'MOBILITY_LOG_UNREADABLE',
    });
  });

  it('stops reading when its caller stops', async () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'server-2026-03-14.part1.log.gz'), gzipSync(texts([noon, 'a'])));
    writeFileSync(join(dir, 'pipeline-2026-03-14.log'), texts([noon, 'b']));
    for await (const batch of readLogs({ dir }).lines) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
  });

  it('loses and doubles nothing while another process writes and rotates', async () => {
    const dir = newFolder();
    const children = await Promise.all([1, 2].map(() => startChild(dir, 'server', '2000', 'close', '0.01')));
    const over = Promise.all(children.map(ended));
    let running = true;
    void over.then(() => {
      running = false;
    });
    let before = 0;
    while (running) {
      const { lines, reader } = await readAll({ dir });
      expect(new Set(messages(lines)).size).toBe(lines.length);
      expect(lines.length).toBeGreaterThanOrEqual(before);
      expect(reader.stats.unreadable).toEqual([]);
      before = lines.length;
    }
    expect((await readAll({ dir })).lines).toHaveLength(4000);
  }, 120_000);
});

describe('following', () => {
  /** Collects what is followed until `count` lines are there. */
  async function follow(
    options: ReadOptions,
    count: number,
    meanwhile: (found: readonly string[], looked: () => Promise<void>) => Promise<void>,
  ): Promise<string[]> {
    const stop = new AbortController();
    const found: string[] = [];
    const reader = readLogs({ ...options, follow: true, signal: stop.signal });
    const collecting = (async () => {
      for await (const batch of reader.lines) {
        found.push(...messages(batch));
        if (found.length >= count) stop.abort();
      }
    })();
    /** Resolves when the reader has looked once from beginning to end: a look that runs already is not enough. */
    const looked = async (): Promise<void> => {
      const before = reader.stats.looks;
      await until(() => reader.stats.looks >= before + 2);
    };
    try {
      await looked();
      await meanwhile(found, looked);
      await until(() => found.length >= count);
    } finally {
      stop.abort();
      await collecting;
    }
    return found;
  }

  it('returns lines written from now on, not earlier ones', async () => {
    const dir = newFolder();
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(file, texts([noon, 'old']));
    const found = await follow({ dir }, 2, async (_, looked) => {
      appendFileSync(file, text(noon + 1, 'one').slice(0, 20));
      await looked();
      appendFileSync(file, `${text(noon + 1, 'one').slice(20)}${text(noon + 2, 'two')}`);
    });
    expect(found).toEqual(['one', 'two']);
  });

  it('with a time returns the lines since then, and continues', async () => {
    const dir = newFolder();
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(join(dir, 'server-2026-03-14.part1.log.gz'), gzipSync(texts([noon - 1, 'older'], [noon, 'part'])));
    writeFileSync(file, texts([noon + 1, 'live']));
    const found = await follow({ dir, since: noon }, 3, async () => appendFileSync(file, text(noon + 2, 'new')));
    expect(found).toEqual(['part', 'live', 'new']);
  });

  it('continues across rotation, compression and new sources', async () => {
    const dir = newFolder();
    const live = join(dir, 'server-2026-03-14.log');
    writeFileSync(live, texts([noon, 'a']));
    const found = await follow({ dir, since: 0 }, 5, async (_, looked) => {
      appendFileSync(live, text(noon + 1, 'b'));
      renameSync(live, join(dir, 'server-2026-03-14.part1.log'));
      writeFileSync(live, texts([noon + 3, 'd']));
      appendFileSync(join(dir, 'server-2026-03-14.part1.log'), text(noon + 2, 'c'));
      await looked();
      const part = join(dir, 'server-2026-03-14.part1.log');
      writeFileSync(`${part}.gz`, gzipSync(readFileSync(part)));
      rmSync(part);
      await looked();
      writeFileSync(join(dir, 'pipeline-2026-03-14.log'), texts([noon + 4, 'e']));
    });
    expect(found).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('loses and doubles nothing while another process writes and rotates', async () => {
    const dir = newFolder();
    const written: string[] = [];
    const found = await follow({ dir, since: 0 }, 1200, async (seen) => {
      const files = openFileLog({ dir, name: 'server', level: 'debug', maxSizeMiB: 0.005, maxFiles: 100 });
      for (let round = 0; round < 6; round += 1) {
        const batch = Array.from({ length: 200 }, (_, n) => `line ${round * 200 + n}`);
        written.push(...batch);
        files.log.writeAll('INFO', batch.slice(0, 1));
        await until(() => seen.includes(batch[0]!));
        // The reader has the file open. The rest is more than a file holds: the next round begins another at once.
        files.log.writeAll('INFO', batch.slice(1));
      }
      await files.close();
    });
    expect(found).toEqual(written);
  });

  it('reads a file from its start again after it was emptied in place', async () => {
    const dir = newFolder();
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(file, texts([noon, 'a'], [noon, 'a'], [noon, 'a']));
    const found = await follow({ dir }, 1, async () => {
      truncateSync(file);
      appendFileSync(file, text(noon + 1, 'b'));
    });
    expect(found).toEqual(['b']);
  });

  it('ends when the signal is given', async () => {
    const dir = newFolder();
    symlinkSync('nowhere', join(dir, 'server-2026-03-14.log'));
    const stop = new AbortController();
    const { lines, stats } = readLogs({ dir, follow: true, signal: stop.signal });
    const ended = lines.next();
    await until(() => stats.looks > 0);
    stop.abort();
    expect(await ended).toEqual({ done: true, value: undefined });
  });
});
