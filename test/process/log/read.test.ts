// Reading log files: every line once and in order, from current, finished, compressed and damaged files.
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { createStamp, fileLine } from '../../../src/log/line-format.ts';
import { type LogLine, type ReadOptions, readLogs } from '../../../src/log/read-log.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { until } from '../../support/until.ts';
import { ended, startChild } from './support/kit.ts';

const noon = Date.UTC(2026, 2, 14, 12) / 1000;
const stamp = createStamp('UTC');
let dir = '';
beforeEach(() => {
  dir = tempFolder();
});
const text = (time: number, message: string): string => `${fileLine(stamp(time), 'INFO', 'w1', message)}\n`;
const texts = (...lines: [number, string][]): string => lines.map(([time, message]) => text(time, message)).join('');

async function readAll(options: Partial<ReadOptions> = {}) {
  const reading = readLogs({ dir, ...options });
  const lines: LogLine[] = [];
  for await (const line of reading.lines) lines.push(line);
  return { lines, stats: reading.stats };
}
const messages = (lines: LogLine[]): string[] => lines.map(({ message }) => message);

describe('reading a folder of logs', () => {
  it('returns the lines of finished and current files of all sources, day by day, in the order of each source', async () => {
    writeFileSync(join(dir, 'server-2026-03-13.1.log.gz'), gzipSync(texts([noon - 86_300, 'b'])));
    writeFileSync(join(dir, 'server-2026-03-13.log.gz'), gzipSync(texts([noon - 86_400, 'a'])));
    writeFileSync(join(dir, 'server-2026-03-14.10.log'), texts([noon + 3, 'd']));
    writeFileSync(join(dir, 'server-2026-03-14.9.log.gz'), gzipSync(texts([noon, 'c'])));
    writeFileSync(join(dir, 'server-2026-03-14-2.log'), texts([noon + 5, 'e'], [noon + 4, 'its clock was set back']));
    writeFileSync(join(dir, 'pipeline-2026-03-14.log'), texts([noon + 1, 'p1'], [noon + 9, 'p2']));
    writeFileSync(join(dir, 'pipeline-2-2026-03-14.log'), texts([noon + 2, 'q1']));
    writeFileSync(join(dir, 'other.log'), texts([noon, 'not ours']));
    const { lines, stats } = await readAll();
    const { lines: pipelines } = await readAll({ kinds: ['pipeline'] });
    expect(messages(pipelines).sort()).toEqual(['p1', 'p2', 'q1']);
    expect(messages(lines).slice(0, 2)).toEqual(['a', 'b']);
    const of = (source: string): string[] => messages(lines.filter((line) => line.source === source));
    expect(of('server')).toEqual(['a', 'b', 'c', 'd', 'e', 'its clock was set back']);
    expect(of('pipeline')).toEqual(['p1', 'p2']);
    const second = lines.find(({ source }) => source === 'pipeline-2');
    expect(second).toMatchObject({ message: 'q1', thread: 'w1', level: 'INFO', time: noon + 2 });
    expect(stats).toEqual({ foreign: 0, unreadable: [], polls: 0 });
  });

  it('returns the lines of a period, and does not open files of other days', async () => {
    writeFileSync(join(dir, 'server-2026-03-01.log'), texts([noon, 'in a file of another day']));
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts([noon, 'a'], [noon + 1, 'b'], [noon + 2, 'c']));
    writeFileSync(join(dir, 'server-2026-03-30.log.gz'), 'not even gzip');
    const { lines, stats } = await readAll({ since: noon + 1, until: noon + 2 });
    expect(messages(lines)).toEqual(['b']);
    expect(stats.unreadable).toEqual([]);
  });

  it('skips and counts lines that are not in the format or were cut off', async () => {
    const torn = text(noon, 'END POST /x 0.75').slice(0, 20);
    const others = `something else\n\n${torn}\n${'x'.repeat(300_000)}\n`;
    writeFileSync(join(dir, 'server-2026-03-14.log'), `${text(noon, 'a')}${others}${text(noon, 'b')}${torn}`);
    const { lines, stats } = await readAll();
    expect(messages(lines)).toEqual(['a', 'b']);
    expect(stats.foreign).toBe(4);
  });

  it('returns lines whole that lie across two pieces of a file', async () => {
    const many = Array.from({ length: 4000 }, (_, n): [number, string] => [noon + n, `${n} ${'ä😀'.repeat(n % 60)}`]);
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts(...many));
    writeFileSync(join(dir, 'pipeline-2026-03-14.log.gz'), gzipSync(texts(...many)));
    const { lines, stats } = await readAll();
    expect([lines.length, stats.foreign]).toEqual([8000, 0]);
    for (const source of ['server', 'pipeline']) {
      expect(messages(lines.filter((line) => line.source === source))).toEqual(many.map(([, message]) => message));
    }
  });

  it('continues after a damaged file and names it', async () => {
    const many = Array.from({ length: 9000 }, (_, n): [number, string] => [noon, `a ${n} ${Math.sin(n)}`]);
    const whole = gzipSync(texts(...many));
    writeFileSync(join(dir, 'server-2026-03-14.log.gz'), whole.subarray(0, whole.length / 2));
    writeFileSync(join(dir, 'server-2026-03-14.1.log.gz'), 'no gzip');
    mkdirSync(join(dir, 'server-2026-03-13.log'));
    writeFileSync(join(dir, 'server-2026-03-14.2.log'), texts([noon + 1, 'last']));
    const { lines, stats } = await readAll();
    expect(messages(lines).at(-1)).toBe('last');
    expect(lines.length).toBeGreaterThan(100);
    const names = ['server-2026-03-13.log', 'server-2026-03-14.1.log.gz', 'server-2026-03-14.log.gz'];
    expect(stats.unreadable.map(({ file }) => file).sort()).toEqual(names);
  });

  it('reads a file once that exists both plain and compressed', async () => {
    writeFileSync(join(dir, 'server-2026-03-14.log'), texts([noon, 'a']));
    writeFileSync(join(dir, 'server-2026-03-14.log.gz'), gzipSync(texts([noon, 'a'])));
    expect(messages((await readAll()).lines)).toEqual(['a']);
  });

  it('loses and doubles nothing while another process writes and rotates', async () => {
    const children = await Promise.all([1, 2].map(() => startChild(dir, 'server', '2000', 'close', '0.01')));
    const isRunning = () => children.some(({ exitCode }) => exitCode === null);
    for (let before = 0; isRunning(); ) {
      const { lines, stats } = await readAll();
      expect(new Set(messages(lines)).size).toBe(lines.length);
      expect(lines.length).toBeGreaterThanOrEqual(before);
      expect(stats.unreadable).toEqual([]);
      before = lines.length;
    }
    expect((await readAll()).lines).toHaveLength(4000);
  });
});

describe('following', () => {
  /** Collects what is followed until `count` lines are there. */
  async function follow(since: number | undefined, count: number, meanwhile: (looked: () => Promise<void>) => unknown) {
    const stop = new AbortController();
    const found: string[] = [];
    const reader = readLogs({ dir, ...(since !== undefined && { since }), follow: stop.signal });
    const collecting = (async () => {
      for await (const { message } of reader.lines) {
        found.push(message);
        if (found.length >= count) stop.abort();
      }
    })();
    /** Resolves when the reader has looked once from beginning to end: a look that runs already is not enough. */
    const looked = async (): Promise<void> => {
      const before = reader.stats.polls;
      await until(() => reader.stats.polls >= before + 2);
    };
    try {
      await looked();
      await meanwhile(looked);
      await until(() => found.length >= count);
    } finally {
      stop.abort();
      await collecting;
    }
    return found;
  }

  it('returns lines written from now on, not earlier ones', async () => {
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(file, texts([noon, 'old']));
    const found = await follow(undefined, 2, async (looked) => {
      appendFileSync(file, text(noon + 1, 'one').slice(0, 20));
      await looked();
      appendFileSync(file, `${text(noon + 1, 'one').slice(20)}${text(noon + 2, 'two')}`);
    });
    expect(found).toEqual(['one', 'two']);
  });

  it('with a time returns the lines since then, and continues', async () => {
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(join(dir, 'server-2026-03-13.log.gz'), gzipSync(texts([noon - 1, 'older'], [noon, 'part'])));
    writeFileSync(file, texts([noon + 1, 'live']));
    const found = await follow(noon, 3, () => appendFileSync(file, text(noon + 2, 'new')));
    expect(found).toEqual(['part', 'live', 'new']);
  });

  it('continues across rotation, compression and new sources', async () => {
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(file, texts([noon, 'a']));
    const found = await follow(0, 5, async (looked) => {
      appendFileSync(file, texts([noon + 1, 'b'], [noon + 2, 'c']));
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)));
      rmSync(file);
      writeFileSync(join(dir, 'server-2026-03-14.1.log.gz'), gzipSync(texts([noon + 3, 'd'])));
      await looked();
      writeFileSync(join(dir, 'pipeline-2026-03-14.log'), texts([noon + 4, 'e']));
    });
    expect(found).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('loses and doubles nothing while another process writes and rotates', async () => {
    const found = await follow(0, 2000, async () => {
      await ended(await startChild(dir, 'server', '2000', 'close', '0.005'));
    });
    const expected = Array.from({ length: 2000 }, (_, n) => `line ${n}`);
    expect(found.map((text) => text.replace(/ of \d+$/, ''))).toEqual(expected);
  });
});
