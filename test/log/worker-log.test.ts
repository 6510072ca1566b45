// A worker's lines on their way to the primary process.
import { describe, expect, it } from 'vitest';
import { openFileLog } from '../../src/log/files.ts';
import { parseFileLine } from '../../src/log/format.ts';
import { workerLog } from '../../src/log/worker-log.ts';
import { messagesOf, newFolder } from './support/kit.ts';

const fixed = { threadId: 'w1', level: 'debug', now: () => 1_795_249_862.12, zone: 'Europe/Berlin' } as const;
const messages = (batches: string[]): string[] =>
  batches.flatMap((batch) => batch.split('\n').map((text) => parseFileLine(text)!.message));
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe("a worker's log", () => {
  it('sends whole lines with its own thread id, those of one turn of the event loop together', async () => {
    const batches: string[] = [];
    const { log, close } = workerLog({ ...fixed, send: async (lines) => void batches.push(lines) });
    log.write('INFO', 'one\nline');
    log.child!('42').writeAll('DEBUG', ['two', 'three']);
    await turn();
    log.write('INFO', 'four');
    await close();
    expect(batches).toEqual([
      [
        '2026-11-21T09:31:02.120+01:00:INFO:w1:one line',
        '2026-11-21T09:31:02.120+01:00:DEBUG:w1-42:two',
        '2026-11-21T09:31:02.120+01:00:DEBUG:w1-42:three',
      ].join('\n'),
      '2026-11-21T09:31:02.120+01:00:INFO:w1:four',
    ]);
  });

  it('filters by level before anything is built or sent', async () => {
    const batches: string[] = [];
    const { log, close } = workerLog({ ...fixed, level: 'info', send: async (lines) => void batches.push(lines) });
    log.write('DEBUG', 'no');
    log.write('WARNING', 'yes');
    expect(log.enabled('DEBUG')).toBe(false);
    await close();
    expect(messages(batches)).toEqual(['yes']);
  });

  it('sends one batch at a time, in order, and close waits for the last', async () => {
    const batches: string[] = [];
    let running = 0;
    const { log, close } = workerLog({
      ...fixed,
      send: async (lines) => {
        running += 1;
        expect(running).toBe(1);
        await turn();
        batches.push(lines);
        running -= 1;
      },
    });
    for (let n = 0; n < 20; n += 1) {
      log.write('INFO', `line ${n}`);
      if (n % 5 === 4) await turn();
    }
    await close();
    expect(messages(batches)).toEqual(Array.from({ length: 20 }, (_, n) => `line ${n}`));
  });

  it('counts lines that could not be sent, and reports the count with the next line', async () => {
    const batches: string[] = [];
    let broken = true;
    const { log, close } = workerLog({
      ...fixed,
      send: async (lines) => {
        if (broken) throw new Error('channel closed');
        batches.push(lines);
      },
    });
    log.writeAll('INFO', ['lost', 'lost too']);
    await turn();
    broken = false;
    log.write('INFO', 'kept');
    await close();
    expect(messages(batches)[0]!).toMatch(/^Log lines dropped = 2 since \S+: channel closed$/);
    expect(messages(batches)[1]).toBe('kept');
  });

  it('holds a bounded number of lines when the primary does not take them', async () => {
    const batches: string[] = [];
    let goOn = (): void => {};
    const blocked = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { log, close } = workerLog({ ...fixed, send: async (lines) => blocked.then(() => void batches.push(lines)) });
    log.write('INFO', 'first');
    await turn();
    const long = 'x'.repeat(10_000);
    for (let n = 0; n < 3000; n += 1) log.write('INFO', long);
    goOn();
    await close();
    const kept = messages(batches);
    expect(kept.length).toBeLessThan(1800);
    const dropped = Number(/^Log lines dropped = (\d+) since/.exec(kept[1]!)?.[1]);
    expect(kept.length - 2 + dropped).toBe(3000);
  });

  it('ends up in the file of the primary process', async () => {
    const dir = newFolder();
    const files = openFileLog({ dir, name: 'server', level: 'debug', maxSizeMiB: 10, maxFiles: 3 });
    const workers = ['w1', 'w2'].map((threadId) =>
      workerLog({ ...fixed, threadId, send: async (lines) => files.append(lines) }),
    );
    for (const { log } of workers) log.writeAll('INFO', ['one', 'two']);
    await Promise.all(workers.map((worker) => worker.close()));
    await files.close();
    expect(messagesOf(dir)).toEqual(['one', 'two', 'one', 'two']);
  });
});
