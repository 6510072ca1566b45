// A person taken out of log files: no byte of theirs stays, and no line of others changes.
import { mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { openFileLog } from '../../src/log/files.ts';
import { createStamp, fileLine } from '../../src/log/format.ts';
import { line } from '../../src/log/messages.ts';
import { scrubLogs } from '../../src/log/scrub.ts';
import { until } from '../support/until.ts';
import { logFiles, messagesOf, newFolder, textOf } from './support/kit.ts';

const ada = { uuid: '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11', email: 'ada@example.org' };
const ben = { uuid: '0b0e5c1e-7a55-4b27-8f0b-4df0b0a3c9aa', email: 'data@example.org' };
const stamp = createStamp('UTC');

const callsOf = ({ uuid, email }: typeof ada): string[] => [
  line.startCall('POST', '/usercache/put'),
  line.foundEmail(email),
  line.userUuid(uuid),
  line.entryStored(uuid, 'background/location', 1_463_477_402.5, 'inserted'),
  line.stage(uuid, 'move to long term'),
  line.pipelineFailed(uuid, `no mail to ${email}, she said`),
  line.endCall('POST', '/usercache/put', uuid, 0.5),
];
const text = (messages: string[]): string => messages.map((m) => `${fileLine(stamp(0), 'INFO', 'w1', m)}\n`).join('');
const everything = (dir: string): string =>
  logFiles(dir)
    .map((name) => textOf(dir, name))
    .join('');

it('removes name and UUID from plain and compressed files, and changes no line of other users', async () => {
  const dir = newFolder();
  const day = text([...callsOf(ben), ...callsOf(ada), ...callsOf(ben)]);
  const foreign = Buffer.from([0xff, 0x0a, 0x80, 0x0d, 0x0a, 0x41]); // no UTF-8, no line break at the end
  writeFileSync(join(dir, 'server-2026-03-13.part1.log.gz'), gzipSync(day));
  writeFileSync(join(dir, 'server-2026-03-14.log'), Buffer.concat([Buffer.from(day), foreign]));
  writeFileSync(join(dir, 'pipeline-2-2026-03-14.part1.log'), text(callsOf(ada)));
  writeFileSync(join(dir, 'pipeline-2026-03-14.log'), text(callsOf(ben)));
  const receipt = await scrubLogs({ folder: dir, ...ada, quietSeconds: 0 });
  expect(receipt).toEqual({ folder: dir, files: 4, rewritten: 3, lines: 18, left: [] });
  expect(everything(dir)).not.toContain(ada.uuid);
  expect(everything(dir)).not.toMatch(/(?<!\w)ada@/);
  expect(textOf(dir, 'server-2026-03-13.part1.log.gz')).toBe(
    text([...callsOf(ben), ...callsOf({ uuid: 'erased', email: 'erased' }), ...callsOf(ben)]),
  );
  expect(textOf(dir, 'pipeline-2026-03-14.log')).toBe(text(callsOf(ben)));
  const server = textOf(dir, 'server-2026-03-14.part1.log.gz');
  expect(server.startsWith(text(callsOf(ben)))).toBe(true);
  expect(logFiles(dir)).toHaveLength(4);
});

it('replaces a name that is not an address only where the server logged a caller', async () => {
  const dir = newFolder();
  const messages = [line.foundEmail('put'), line.startCall('POST', '/usercache/put'), line.foundEmail('put 2')];
  writeFileSync(join(dir, 'server-2026-03-14.log'), text(messages));
  await scrubLogs({ folder: dir, uuid: ada.uuid, email: 'put', quietSeconds: 0 });
  expect(messagesOf(dir)).toEqual([line.foundEmail('erased'), ...messages.slice(1)]);
});

it('rewrites the file that a running process writes, and that process continues without losing a line', async () => {
  const dir = newFolder();
  let now = Date.now() / 1000;
  const files = openFileLog({ dir, name: 'server', level: 'debug', maxSizeMiB: 1, maxFiles: 9, now: () => now });
  const before = [...callsOf(ada), ...callsOf(ben)];
  files.log.writeAll('INFO', before);
  await until(() => messagesOf(dir).length === before.length);
  const scrubbing = scrubLogs({ folder: dir, ...ada });
  for (let n = 0; n < 20; n += 1) {
    now += 0.3;
    files.log.write('INFO', `${n} of ${ada.uuid}`); // of a call that was still running
    await until(() => messagesOf(dir).length >= before.length + n + 1 || n > 5);
  }
  await scrubbing;
  const receipt = await scrubLogs({ folder: dir, ...ada });
  await files.close();
  expect(receipt.left).toEqual([]);
  expect(everything(dir)).not.toContain(ada.uuid);
  expect(messagesOf(dir).length).toBe(before.length + 20);
  expect(messagesOf(dir)).toContain('19 of erased');
}, 60_000);

it('removes what a killed process left of a file that it compressed', async () => {
  const dir = newFolder();
  writeFileSync(join(dir, 'server-2026-03-13.part1.log'), text([...callsOf(ada), ...callsOf(ben)]));
  const draft = gzipSync(text(callsOf(ada)));
  for (const name of ['server-2026-03-13.part1.log.gz.77-1.draft', 'pipeline-2026-03-12.part2.log.gz.78-5.draft'])
    writeFileSync(join(dir, name), draft.subarray(0, draft.length - 3));
  const receipt = await scrubLogs({ folder: dir, ...ada, quietSeconds: 0 });
  expect(receipt).toMatchObject({ rewritten: 1, left: [] });
  expect(logFiles(dir)).toEqual(['server-2026-03-13.part1.log.gz']);
  expect(everything(dir)).not.toContain(ada.uuid);
});

it('waits for a file that another process compresses, and takes the person out of it', async () => {
  const dir = newFolder();
  const name = 'server-2026-03-13.part1.log.gz';
  writeFileSync(join(dir, `${name}.77-1.draft`), gzipSync(text([...callsOf(ada), ...callsOf(ben)])));
  // Should the other process be done before the erasure looks, the outcome has to be the same.
  const done = sleep(200).then(() => renameSync(join(dir, `${name}.77-1.draft`), join(dir, name)));
  const receipt = await scrubLogs({ folder: dir, ...ada, quietSeconds: 60 });
  await done;
  expect(receipt).toMatchObject({ files: 1, rewritten: 1, left: [] });
  expect(textOf(dir, name)).not.toContain(ada.uuid);
  expect(textOf(dir, name)).toContain(ben.uuid);
});

it('takes the person out of files that were written before the clock was set back', async () => {
  const dir = newFolder();
  const inAnHour = Date.now() / 1000 + 3600;
  const finished = 'server-2026-03-13.part1.log';
  for (const name of [finished, 'server-2026-03-14.log', `${finished}.gz.77-1.draft`]) {
    writeFileSync(join(dir, name), text([...callsOf(ada), ...callsOf(ben)]));
    utimesSync(join(dir, name), inAnHour, inAnHour);
  }
  const receipt = await scrubLogs({ folder: dir, ...ada, quietSeconds: 0.1 });
  expect(receipt).toMatchObject({ files: 2, rewritten: 2, left: [] });
  expect(everything(dir)).not.toContain(ada.uuid);
  expect(everything(dir)).toContain(ben.uuid);
});

it('names the files that it could not read, and finds nothing in a folder that does not exist', async () => {
  const dir = newFolder();
  mkdirSync(join(dir, 'server-2026-03-13.log'));
  writeFileSync(join(dir, 'server-2026-03-14.part1.log.gz'), 'no gzip');
  const { left } = await scrubLogs({ folder: dir, ...ada, quietSeconds: 0 });
  expect(left.map(({ file }) => file).sort()).toEqual(['server-2026-03-13.log', 'server-2026-03-14.part1.log.gz']);
  expect(await scrubLogs({ folder: join(dir, 'none'), ...ada })).toMatchObject({ files: 0, left: [] });
});
