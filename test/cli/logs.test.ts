// `mobility logs`: what operators ask of the log files, through the program itself.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { createStamp, fileLine } from '../../src/log/line-format.ts';
import type { Level } from '../../src/log/log.ts';
import { line } from '../../src/log/messages.ts';
import { until } from '../support/until.ts';
import { type CommandResult, freshProgram, type Program, type Surroundings } from './kit.ts';

const ada = '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11';
const ben = '0b0e5c1e-7a55-4b27-8f0b-4df0b0a3c9aa';
const noon = Date.UTC(2026, 2, 14, 11) / 1000; // 12:00 in Berlin
const stamp = createStamp('Europe/Berlin');

let program: Program;
let dir = '';
beforeEach(async () => {
  program = await freshProgram();
  dir = join(program.address, 'logs');
  mkdirSync(dir, { recursive: true });
});

const how = { now: noon + 3600, zone: 'Europe/Berlin' };
const mobility = (args: readonly string[], more: Surroundings = {}): Promise<CommandResult> =>
  program.run(args, { ...how, ...more });
const rows = ({ stdout }: CommandResult): string[] => stdout.trimEnd().split('\n');
const records = (result: CommandResult): Record<string, unknown>[] =>
  result.stdout === '' ? [] : rows(result).map((row) => JSON.parse(row) as Record<string, unknown>);
const threadsOf = (result: CommandResult): string =>
  records(result)
    .map(({ thread }) => thread)
    .join(' ');
const at = (time: number, thread: string, message: string, level: Level = 'INFO'): string =>
  `${fileLine(stamp(time), level, thread, message)}\n`;

const usual = { path: '/usercache/put', email: 'ada@example.org', uuid: ada, status: 200, seconds: 0.25, entries: 0 };

/** The lines of one call. */
function call(time: number, thread: string, shape: Partial<typeof usual> = {}): string {
  const { path, email, uuid, status, seconds, entries: count } = { ...usual, ...shape };
  const entries = Array.from({ length: count }, (_, n) =>
    line.entryStored(uuid, 'background/location', 1_463_477_402.120934 + n, 'inserted'),
  );
  const isPut = path.startsWith('/usercache/put');
  return [
    at(time, thread, line.startCall('POST', path)),
    at(time, thread, line.called(isPut ? 'userCache.put' : 'other')),
    ...(status === 403
      ? [at(time, thread, 'Set aside: a bad entry', 'WARNING')]
      : [at(time, thread, line.foundEmail(email)), at(time, thread, line.userUuid(uuid))]),
    ...entries.map((text) => at(time + seconds, thread, text, 'DEBUG')),
    ...(isPut && status === 200
      ? [at(time + seconds, thread, line.putStored(uuid, { inserted: entries.length, updated: 0, rejected: 0 }))]
      : []),
    at(time + seconds, thread, line.answered(status, 'POST', path), status < 400 ? 'INFO' : 'WARNING'),
    at(time + seconds, thread, line.endCall('POST', path, status === 403 ? null : uuid, seconds)),
  ].join('');
}

function writeDay(): void {
  writeFileSync(join(dir, 'server-2026-03-13.log.gz'), gzipSync(call(noon - 86_400, 'w1-1', { entries: 1 })));
  writeFileSync(
    join(dir, 'server-2026-03-14.log'),
    [
      call(noon, 'w1-2', { entries: 2 }),
      call(noon + 10, 'w1-3', { path: '/usercache/get', email: 'ben', uuid: ben, seconds: 2 }),
      call(noon + 20, 'w1-4', { status: 403 }),
      at(noon + 30, 'w1-5', line.startCall('POST', '/usercache/put')),
      'a foreign line\n',
    ].join(''),
  );
  writeFileSync(
    join(dir, 'pipeline-2026-03-14.log'),
    [
      at(noon + 100, 'p7', line.stage(ada, 'move to long term')),
      at(noon + 100, 'p7', line.entryFailed(ada, 'no ts', 'manual/survey', 5, 'missing_ts'), 'WARNING'),
      at(noon + 101, 'p7', line.stage(ben, 'move to long term')),
      at(noon + 102, 'p7', line.pipelineFailed(ben, 'out of luck'), 'ERROR'),
    ].join(''),
  );
}

describe('mobility logs', () => {
  it('shows calls with time, status, duration, user and result, and reports what it skipped', async () => {
    writeDay();
    const result = await mobility(['logs']);
    expect(result.code).toBe(0);
    expect(rows(result).map((row) => row.replace(/ {2,}/g, '  '))).toEqual([
      'STARTED  THREAD  HTTP  SECONDS  CALL  USER  RESULT',
      '2026-03-13T12:00:00.000+01:00  w1-1  200  0.250  POST /usercache/put  ada@example.org  1 inserted',
      '2026-03-14T12:00:00.000+01:00  w1-2  200  0.250  POST /usercache/put  ada@example.org  2 inserted',
      '2026-03-14T12:00:10.000+01:00  w1-3  200  2.000  POST /usercache/get  ben',
      '2026-03-14T12:00:20.000+01:00  w1-4  403  0.250  POST /usercache/put  -  failed; missing: user name found; Set aside: a bad entry',
      '2026-03-14T12:00:30.000+01:00  w1-5  -  -  POST /usercache/put  -  no END: still running, or its process ended; missing: handler called',
    ]);
    expect(result.stderr).toBe('5 calls, 1 failed, 1 without an end; 1 line not understood\n');
  });

  it.each([
    ['--failed', 'w1-4 w1-5'],
    ['--slow 1', 'w1-3'],
    ['--path /usercache/get', 'w1-3'],
    [`--user ${ada.toUpperCase()}`, 'w1-1 w1-2'],
    ['--since 2026-03-14', 'w1-2 w1-3 w1-4 w1-5'],
    ['--since today', 'w1-2 w1-3 w1-4 w1-5'],
    ['--until yesterday', 'w1-1'],
    ['--since 2026-03-14T12:00:10', 'w1-3 w1-4 w1-5'],
    ['--since 2026-03-14T11:00:10Z', 'w1-3 w1-4 w1-5'],
    ['--since 59.8m', 'w1-4 w1-5'],
    [`--since ${noon + 20}`, 'w1-4 w1-5'],
    ['--until 2026-03-13', 'w1-1'],
    ['--since 2026-03-14 --until 2026-03-14T12:00:20', 'w1-2 w1-3'],
    ['calls --failed --path /nothing', ''],
  ])('logs %s shows the selected calls', async (flags, threads) => {
    writeDay();
    const result = await mobility(['logs', ...flags.split(' '), '--json']);
    expect([result.code, threadsOf(result)]).toEqual([0, threads]);
  });

  it('gives each call as a line of JSON', async () => {
    writeDay();
    const [first] = records(await mobility(['--json', 'logs', '--since', '2026-03-14']));
    const times = { start_ts: noon, end_ts: noon + 0.25, seconds: 0.25 };
    const user = { user_id: ada, user_email: 'ada@example.org' };
    const stored = { inserted: 2, updated: 0, rejected: 0 };
    const outcome = { status: 200, outcome: 'ok', stored, missing_step: null };
    expect(first).toMatchObject({ source: 'server', path: '/usercache/put', ...times, ...user, ...outcome });
  });

  it('finds a user by name through the registry, even if the log does not contain the name', async () => {
    writeDay();
    await mobility(['users', 'add', 'renamed@example.org', '--uuid', ada]);
    const result = await mobility(['logs', '--user', 'renamed@example.org', '--json']);
    expect(threadsOf(result)).toBe('w1-1 w1-2');
    await program.refuse(['logs', '--user', 'nobody'], 'MOBILITY_USER_UNKNOWN');
  });

  it('ends with 3 when a file cannot be read to its end, and shows the lines of the others', async () => {
    writeDay();
    const other = join(program.folder, 'broken');
    mkdirSync(other);
    writeFileSync(join(other, 'server-2026-03-14.log'), call(noon, 'w9-9'));
    writeFileSync(join(other, 'server-2026-03-13.log.gz'), 'no gzip');
    for (const command of [[], ['put'], ['errors']]) {
      const log = ['logs', ...command, '--log-dir', other];
      await program.refuse(log, 'server-2026-03-13.log.gz could not be read to its end', { code: 3 });
    }
    expect(records(await mobility(['logs', '--log-dir', other, '--json']))).toHaveLength(1);
  });

  it('prints what to do without a folder, and names wrong values', async () => {
    const { refuse, folder } = program;
    const unreadable = /MOBILITY_LOG_UNREADABLE: expected a folder of log files.*found nothing; .*MOBILITY_LOG_DIR/;
    await refuse(['logs', '--log-dir', join(folder, 'none')], unreadable, { code: 1 });
    for (const flags of ['--since soon', '--until 2026-02-30', '--slow -1', '--since 2026-03-14T99:00'])
      await refuse(['logs', ...flags.split(' ')], 'MOBILITY_USAGE');
  });
});

it.each(['logs', 'logs put', 'logs errors'])('refuses an empty range of time, accepts a day: %s', async (command) => {
  writeDay();
  const range = /MOBILITY_USAGE: expected a time in --since that is before --until, found 2026-\S+Z and 2026-\S+Z/;
  for (const times of ['2026-03-14T12:00 --until 2026-03-14T12:00', '2026-03-15 --until 2026-03-14', '1h --until 2h'])
    await program.refuse(`${command} --since ${times}`, range, how);
  await program.succeed(`${command} --since 2026-03-14 --until 2026-03-14`, how);
});

it('reads a time that occurs twice as the first of both', async () => {
  const time = '2026-10-25T02:30'; // Europe/Berlin turns the clock back at 01:00 UTC
  const found = 'found 2026-10-25T00:30:00.000Z and 2026-10-25T00:30:00.000Z';
  await program.refuse(['logs', '--since', time, '--until', time], found, how);
});

describe('mobility logs put', () => {
  it('shows each put step by step and names the first missing one', async () => {
    writeDay();
    const result = await mobility(['logs', 'put', '--since', '2026-03-14']);
    expect(result.stdout.trimEnd().split('\n\n')).toEqual([
      expect.stringMatching(/ w1-2 [\s\S]*\n {2}found {4}entries stored: 2 inserted\n {2}found {4}END$/),
      [
        '2026-03-14T12:00:20.000+01:00  w1-4  POST /usercache/put  403  0.250 s',
        '  found    START',
        '  found    handler called',
        '  MISSING  user name found: the put failed here',
        '  MISSING  user UUID found',
        '  MISSING  entries stored',
        '  found    END',
        '  note     Set aside: a bad entry',
      ].join('\n'),
      expect.stringMatching(/ w1-5 .* -\n.*\n {2}MISSING {2}handler called: the put failed here, or it still runs\n/),
    ]);
  });

  it('has the steps in JSON', async () => {
    writeDay();
    const found = records(await mobility(['logs', 'put', '--failed', '--json']));
    expect(found.map(({ thread }) => thread)).toEqual(['w1-4', 'w1-5']);
    expect(found.map(({ missing_step }) => missing_step)).toEqual(['user name found', 'handler called']);
    expect(found[0]!.steps).toContainEqual({ step: 'END', found: true });
  });
});

describe('mobility logs errors', () => {
  it('shows warnings and errors as in the log, and calls without an end', async () => {
    writeDay();
    const result = await mobility(['logs', 'errors']);
    expect(rows(result).map((row) => row.replace(/ {2,}/g, '  '))).toEqual([
      '2026-03-14T12:01:40.000+01:00:WARNING:p7:UUID 6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11: Got error no ts while saving entry key = manual/survey, write_ts = 5 -> missing_ts',
      '2026-03-14T12:01:42.000+01:00:ERROR:p7:UUID 0b0e5c1e-7a55-4b27-8f0b-4df0b0a3c9aa: pipeline failed: out of luck',
      '2026-03-14T12:00:20.000+01:00:WARNING:w1-4:Set aside: a bad entry',
      '2026-03-14T12:00:20.250+01:00:WARNING:w1-4:Answered 403 POST /usercache/put',
      '2026-03-14T12:00:30.000+01:00  w1-5  -  -  POST /usercache/put  -  no END: still running, or its process ended; missing: handler called',
    ]);
    expect(result.stderr).toContain('4 warnings and errors, 1 call without an end');
    const kinds = records(await mobility(['logs', 'errors', '--json'])).map(({ kind }) => kind);
    expect(kinds.join(' ')).toBe('line line line line call');
  });
});

describe('mobility logs --follow', () => {
  it('shows calls as they end, until Ctrl-C, and exits with 0', async () => {
    const file = join(dir, 'server-2026-03-14.log');
    writeFileSync(file, call(noon, 'w1-1'));
    let isShown = false;
    const onOutput = () => {
      isShown = true;
    };
    const following = mobility(['logs', '--follow', '--json'], { onOutput });
    // The command does not report that it has begun: calls come until it shows one.
    let next = 2;
    await until(() => {
      if (!isShown) appendFileSync(file, call(noon + next, `w1-${next++}`));
      return isShown;
    });
    process.emit('SIGINT', 'SIGINT');
    const result = await following;
    expect([result.code, threadsOf(result)]).toEqual([0, expect.not.stringMatching(/w1-1\b/)]);
  });
});
