// A person removed from log files: no byte of theirs stays, and no line of others changes.
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { tryLock } from '../../../src/log/file-lock.ts';
import { logNames } from '../../../src/log/file-names.ts';
import { openFileLog } from '../../../src/log/files.ts';
import { createStamp, fileLine } from '../../../src/log/line-format.ts';
import { line } from '../../../src/log/messages.ts';
import { scrubLogs } from '../../../src/log/scrub.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { logFiles, logText, textOf } from '../../support/log-files.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { until } from '../../support/until.ts';
import { ended, messagesOf, startChild } from './support/kit.ts';

const ada = { uuid: '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11', user_email: 'ada@example.org' };
const ben = { uuid: '0b0e5c1e-7a55-4b27-8f0b-4df0b0a3c9aa', user_email: "o'ada@example.org" };
const eve = { uuid: 'c5d0a2b4-3c39-4b5e-8f7e-0c8b0a3c9aa1', user_email: 'ada@example.org.uk' };
const erased = { uuid: `erased${'-'.repeat(30)}`, user_email: 'erased---------' };
const stamp = createStamp('UTC');
let dir = '';
beforeEach(() => {
  dir = tempFolder();
});

/** Writes messages to the current log file. */
const write = (messages: readonly string[]) => writeFileSync(join(dir, 'server-2026-03-14.log'), text(messages));
const callsOf = ({ uuid, user_email: email }: typeof ada): string[] => [
  line.startCall('POST', '/usercache/put'),
  line.foundEmail(email),
  line.userUuid(uuid),
  line.aboutUser(uuid, `twice in a line: ${uuid}`),
  line.pipelineFailed(uuid, `no mail to ${email}, '${email}' or "${email}".`),
  line.endCall('POST', '/usercache/put', uuid, 0.5),
];
const text = (messages: readonly string[]): string =>
  messages.map((m) => `${fileLine(stamp(0), 'INFO', 'w1', m)}\n`).join('');

it('removes name and UUID from plain and compressed files, and changes no line of other users', async () => {
  const day = text([...callsOf(ben), ...callsOf(ada), ...callsOf(eve)]);
  const scrubbed = text([...callsOf(ben), ...callsOf(erased), ...callsOf(eve)]);
  const foreign = Buffer.from([0xff, 0x0a, 0x80, 0x0d, 0x0a, 0x41]); // no UTF-8, no line break at the end
  writeFileSync(join(dir, 'server-2026-03-13.log.gz'), gzipSync(day));
  writeFileSync(join(dir, 'server-2026-03-14.log'), Buffer.concat([Buffer.from(day), foreign]));
  writeFileSync(join(dir, 'pipeline-2-2026-03-14.log'), text(callsOf(ben)));
  expect(await scrubLogs(dir, [ada])).toEqual({ folder: dir, files: 3, rewritten: 2, lines: 10, left: [] });
  expect(textOf(dir, 'server-2026-03-13.log.gz')).toBe(scrubbed);
  const plain = readFileSync(join(dir, 'server-2026-03-14.log'));
  expect(plain.equals(Buffer.concat([Buffer.from(scrubbed), foreign]))).toBe(true);
  expect(textOf(dir, 'pipeline-2-2026-03-14.log')).toBe(text(callsOf(ben)));
});

it.skipIf(!existsSync('/proc/self/fd'))('leaves no file open', async () => {
  for (let i = 10; i < 30; i += 1) writeFileSync(join(dir, `server-2026-03-${i}.log`), text(callsOf(ada)));
  await scrubLogs(dir, [ada]);
  expect(openFilesIn(dir)).toEqual([]);
});

it('removes keys that a phone chose from the lines of its person, and keeps the keys of the service', async () => {
  const own = (uuid: string, key: string) => line.entryStored(uuid, key, 1463500000.25, 'inserted');
  write([
    own(ada.uuid, 'background/location'),
    own(ada.uuid, 'notes/Ada-Lovelace'),
    line.entryRejected(ada.uuid, 'Ada "L", 1', null, 'key_characters'),
    own(ben.uuid, 'notes/Ada-Lovelace'),
  ]);
  expect(await scrubLogs(dir, [ada])).toMatchObject({ lines: 3, left: [] });
  const found = textOf(dir, 'server-2026-03-14.log');
  expect(found.match(/Ada/g)).toHaveLength(1);
  expect(found.match(/background\/location/g)).toHaveLength(1);
});

it('removes an address from paths and keys, also percent-encoded or in capitals', async () => {
  const linesWith = (name: string, encoded: string): string[] => [
    line.startCall('POST', `/pub/${encoded}/phone`),
    line.answered(403, 'POST', `/overland/${name}`),
    line.called(`/traccar/${encoded.toUpperCase()}`),
    line.aboutUser(ben.uuid, `unknown keys: notes/${name}, 'x'`),
  ];
  const others = linesWith(eve.user_email, 'data%40example.org');
  write([...linesWith('ada@example.org', 'ada%40example.org'), ...others]);
  expect(await scrubLogs(dir, [ada])).toMatchObject({ lines: 4, left: [] });
  const gone = linesWith(erased.user_email, 'erased-----------');
  gone[2] = line.called('/traccar/erased-----------');
  expect(messagesOf(dir)).toEqual([...gone, ...others]);
});

it('can be repeated, and needs no name', async () => {
  write(callsOf(ada));
  for (const lines of [4, 0]) {
    expect(await scrubLogs(dir, [{ ...ada, user_email: null }])).toMatchObject({ files: 1, lines, left: [] });
  }
  expect(logText(dir)).not.toContain(ada.uuid);
  expect(await scrubLogs(dir, [ada])).toMatchObject({ lines: 2, left: [] });
  expect(logText(dir)).not.toContain('ada@');
});

it('removes several people in one call', async () => {
  write([...callsOf(ada), ...callsOf(ben), ...callsOf(eve)]);
  expect(await scrubLogs(dir, [ada, ben])).toMatchObject({ lines: 10, left: [] });
  const kept = { ...erased, user_email: `erased${'-'.repeat(ben.user_email.length - 6)}` };
  expect(logText(dir)).toBe(text([...callsOf(erased), ...callsOf(kept), ...callsOf(eve)]));
});

it('replaces a name that is no address only where the server logged a caller, also a refused one', async () => {
  const refused = (name: string) => [
    line.refusedToken('1f6c02ab', 'revoked on 2026-03-14T09:30:00.000+01:00', 'of', name),
    line.refusedToken('1f6c02ab', 'not known', 'sent as', name),
  ];
  const rest = [line.startCall('POST', '/usercache/put'), line.foundEmail('put 2')];
  write([line.foundEmail('put'), ...refused('put'), ...rest]);
  await scrubLogs(dir, [{ ...ada, user_email: 'put' }]);
  expect(messagesOf(dir)).toEqual([line.foundEmail('era'), ...refused('era'), ...rest]);
});

it('makes a running process start a new file, and that process loses no line', async () => {
  const settings = { logDir: dir, logLevel: 'debug', maxSizeMiB: 1, logMaxFiles: 9, warn: () => {} } as const;
  const files = await openFileLog({ ...settings, kind: 'server' });
  files.log.writeAll('INFO', callsOf(ada));
  await until(() => messagesOf(dir).length === 6);
  const scrubbing = scrubLogs(dir, [ada]);
  await until(() => existsSync(join(dir, '.server.new')));
  for (let n = 0; n < 200; n += 1) {
    files.log.write('INFO', `${n} of others`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await scrubbing).left).toEqual([]);
  await files.close();
  const others = Array.from({ length: 200 }, (_, n) => `${n} of others`);
  const texts = logNames(logFiles(dir)).map(({ name, compressed }) => textOf(dir, compressed ? `${name}.gz` : name));
  const found = texts.map((one) => one.replace(/^(.*?:){6}/gm, ''));
  expect(found).toEqual([callsOf(erased), others].map((messages) => `${messages.join('\n')}\n`));
  expect(existsSync(join(dir, '.server.new'))).toBe(false);
});

it('leaves nothing of a compression or an erasure that was killed', async () => {
  const child = await startChild(dir, 'server', '10', 'wait'); // a living server must not hold it up
  await once(child.stdout!, 'data');
  writeFileSync(join(dir, 'server-2026-03-13.log'), text(callsOf(ada)));
  writeFileSync(join(dir, 'server-2026-03-13.log.gz'), gzipSync(text(callsOf(ada))));
  writeFileSync(join(dir, 'server-2026-03-12.log.gz.draft'), gzipSync(text(callsOf(ada))).subarray(0, 50));
  expect(await scrubLogs(dir, [ada])).toMatchObject({ left: [] });
  const texts = logFiles(dir).map((name) => textOf(dir, name));
  expect(texts.join()).not.toMatch(new RegExp(`${ada.uuid}|ada@`));
  expect(logFiles(dir)).not.toContain('server-2026-03-12.log.gz.draft');
  child.kill('SIGKILL');
  await ended(child);
});

it('waits for a process that compresses files, and removes the person from its result', async () => {
  const lock = tryLock(dir, 'archive')!;
  writeFileSync(join(dir, 'server-2026-03-13.log.gz.draft'), 'being written');
  const scrubbing = scrubLogs(dir, [ada]);
  await new Promise((resolve) => setImmediate(resolve));
  writeFileSync(join(dir, 'server-2026-03-13.log.gz'), gzipSync(text(callsOf(ada))));
  expect(logFiles(dir)).toContain('server-2026-03-13.log.gz.draft');
  lock.release();
  expect(await scrubbing).toMatchObject({ files: 1, rewritten: 1, left: [] });
  expect(logText(dir)).not.toContain(ada.uuid);
});

it('asks the process that writes a log for a new file, which is as private as the log', async () => {
  writeFileSync(join(dir, 'server-2026-03-13.log'), '');
  writeFileSync(join(dir, 'pipeline-2026-03-13.log'), '');
  const lock = tryLock(dir, 'server')!;
  await scrubLogs(dir, [ada]);
  lock.release();
  const [request, ...others] = readdirSync(dir).filter((name) => name.endsWith('.new'));
  expect([request, statSync(join(dir, request!)).mode & 0o777, others]).toEqual(['.server.new', 0o600, []]);
});

it('names the files that it could not read, and finds nothing in a folder that does not exist', async () => {
  mkdirSync(join(dir, 'server-2026-03-13.log'));
  writeFileSync(join(dir, 'server-2026-03-14.log.gz'), 'no gzip');
  const { left } = await scrubLogs(dir, [ada]);
  expect(left.map(({ file }) => file).sort()).toEqual(['server-2026-03-13.log', 'server-2026-03-14.log.gz']);
  expect(await scrubLogs(join(dir, 'none'), [ada])).toMatchObject({ files: 0, left: [] });
});

it('ends for words of any length that a caller wrote into the log', async () => {
  const long = `START GET /${'x'.repeat(500_000)}\nSTART GET /${"-'".repeat(250_000)}\n`;
  writeFileSync(join(dir, 'server-2026-03-14.log'), long + text(callsOf(ada)));
  expect((await scrubLogs(dir, [ada])).left).toEqual([]);
  expect(textOf(dir, 'server-2026-03-14.log')).toBe(long + text(callsOf(erased)));
});
