// `mobility serve` as processes: several workers, one log file, signals, and what it refuses to do.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseFileLine } from '../../src/log/format.ts';
import { isLoopback } from '../../src/server/loopback.ts';
import { urlOf } from '../../src/server/run-server.ts';
import { openStore } from '../../src/store/open.ts';
import { type RunningServer, start, startServer } from '../faults/program.ts';
import { buildProgram } from '../support/build.ts';
import { androidLocation } from './kit.ts';

let folder: string;
let count = 0;
let address: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mobility-serve-'));
  await buildProgram();
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  count += 1;
  address = join(folder, String(count));
  const store = await openStore(address);
  await store.users.register('ada', { now: 1 });
  await store.close();
});

/** Lines of the server log, in order. Behind the last line break a process may be writing one. */
function logLines() {
  const dir = join(address, 'logs');
  const names = readdirSync(dir).filter((name) => name.endsWith('.log'));
  return names
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1))
    .map((text) => {
      const line = parseFileLine(text);
      expect(line, text).not.toBeNull();
      return line!;
    });
}
const put = (server: RunningServer, ts: number) =>
  server.post('/usercache/put', { user: 'ada', phone_to_server: [androidLocation(ts)] });

/** Sends a body up to a place, tells the server to stop, and sends the rest when it takes no more connections. */
async function stopDuringPut(server: RunningServer, body: string, place: number) {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (piece) => {
    received += piece;
  });
  const ended = new Promise((resolve) => socket.on('close', resolve));
  socket.write(
    `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, place)}`,
  );
  while (!server.output().stdout.includes(' POST /usercache/put'))
    await new Promise((resolve) => setTimeout(resolve, 10));
  const stopped = server.stop();
  const refused = () =>
    fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(500) }).then(
      () => false,
      () => true,
    );
  while (!(await refused())) await new Promise((resolve) => setTimeout(resolve, 10));
  socket.write(body.slice(place));
  await ended;
  return { received, exit: await stopped };
}

/** Of a process, as Linux names it: T is stopped, Z ended; null: it is gone. */
function stateOf(pid: string | number): string | null {
  try {
    return / (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))![1]!;
  } catch {
    return null;
  }
}

describe('several workers', () => {
  it.runIf(process.platform === 'linux')(
    'have a smaller young generation, or the one that the operator names',
    async () => {
      for (const [given, found] of [
        ['', '--max-semi-space-size=8'],
        ['--max-semi-space-size=32', undefined],
      ]) {
        const server = await startServer(address, { env: { MOBILITY_WORKERS: '2', NODE_OPTIONS: given! } });
        const tasks = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
        const flags = tasks.map(
          (pid) => /--max-semi-space-size=\d+/.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.[0],
        );
        expect(flags).toEqual([found, found, found]);
        await server.stop();
      }
    },
  );

  it.runIf(process.platform === 'linux')('give freed bodies back to the system', async () => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2' } });
    const workers = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
    const settings = workers.map(
      (pid) => /MALLOC_MMAP_THRESHOLD_=(\d+)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1],
    );
    expect(settings).toEqual(['1048576', '1048576', '1048576']);
    await server.stop();
  });

  it('share one address and one log file, and each call keeps its thread id', async () => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2' } });
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => put(server, 1463502000 + i)));
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
    const exit = await server.stop();
    expect([exit.code, exit.signal]).toEqual([0, null]);
    const lines = logLines();
    const threads = new Set(lines.map(({ thread }) => thread));
    expect([...threads].filter((thread) => /^w[12]-\d+$/.test(thread))).toHaveLength(40);
    for (const thread of threads) {
      if (!thread.startsWith('w')) continue;
      const own = lines.filter((line) => line.thread === thread).map(({ message }) => message.split(' ')[0]);
      expect(own).toEqual(['START', 'Called', 'Found', 'user_uuid', 'Updated', 'Stored', 'Answered', 'END']);
    }
    expect(lines[0]!.message).toMatch(/^Server started with workers = 2 on http:/);
    expect(lines.at(-1)!.message).toBe('Server stopped');
    expect(exit.stdout.split('\n').filter((line) => line.startsWith('END '))).toHaveLength(40);
  });

  // Which processes are whose children is read from /proc.
  it.skipIf(process.platform !== 'linux')('a worker that dies is replaced, and told of', async () => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2' } });
    const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
    expect(children).toHaveLength(3); // the third reads large bodies
    process.kill(Number(children[0]), 'SIGKILL');
    const sees = (text: string) => server.output().stderr.includes(text);
    while (!sees('ended with SIGKILL')) await new Promise((resolve) => setTimeout(resolve, 10));
    for (let i = 0; i < 10; i += 1) expect((await put(server, i)).status).toBe(200);
    const workers = () =>
      readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ').length;
    while (workers() < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await server.stop()).code).toBe(0);
    expect(logLines().some(({ level, message }) => level === 'ERROR' && message.includes('ended with SIGKILL'))).toBe(
      true,
    );
  });

  /** Runs a script as primary process; it has `startWorkers`, `options` for it, `deaths`, and workers that listen. */
  const runPrimary = async (lines: readonly string[]) => {
    const script = join(folder, `${count}.mjs`);
    await writeFile(script, primaryOf(await buildProgram(), lines));
    return promisify(execFile)(process.execPath, [script]);
  };

  // The state of a process is read from /proc.
  it.skipIf(process.platform !== 'linux')('a message to a worker that has just died ends nothing', async () => {
    const { stdout, stderr } = await runPrimary([
      'const workers = await startWorkers(options);',
      'const [{ process: child }] = Object.values(cluster.workers);',
      "child.kill('SIGKILL');",
      // No news comes to this process while it waits like this.
      "while (!readFileSync('/proc/' + child.pid + '/stat', 'utf8').includes(') Z'));",
      'Object.values(cluster.workers)[0].send({});',
      'while (deaths.length === 0) await turn();',
      'await workers.stop();',
      'console.log(deaths.join());',
    ]);
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^worker 1 ended with SIGKILL;.*\n$/), '']);
  });

  it('one that cannot be started is told of, and tried again', async () => {
    const { stdout, stderr } = await runPrimary([
      'const workers = await startWorkers(options);',
      'const node = process.execPath;',
      "process.execPath = node + '-is-gone';",
      "Object.values(cluster.workers)[0].process.kill('SIGKILL');",
      'while (deaths.length < 3) await turn();',
      'process.execPath = node;',
      "await new Promise((resolve) => cluster.once('listening', resolve));",
      'await workers.stop();',
      "console.log(deaths.slice(0, 3).join('\\n'));",
    ]);
    const failed = /^worker 1 ended with spawn .*-is-gone ENOENT; the next one starts in \d+ ms$/;
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringContaining('worker 1 ended with SIGKILL'),
      expect.stringMatching(failed),
      expect.stringMatching(failed),
    ]);
    expect(stderr).toBe('');
  });

  it('none that can be started ends the server, and says why', async () => {
    const { stdout, stderr } = await runPrimary([
      "process.execPath += '-is-gone';",
      'await startWorkers(options).catch((error) => console.log(error.code, error.message));',
    ]);
    expect(stdout).toMatch(/^MOBILITY_CONFIG a worker ended with spawn .* ENOENT before it listened;.*\n$/);
    expect(stderr).toBe('');
  });

  // A stopped process still has its messages when it goes on.
  it.skipIf(process.platform !== 'linux')('end without a word when the primary process is killed', async () => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2' } });
    const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
    const { hostname, port } = new URL(server.url);
    const phones = Array.from({ length: 4 }, () => connect(Number(port), hostname).on('error', () => {}));
    // The first small call of a worker is told to the others, a body that may be large is not.
    const small = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const large = 'POST /nowhere HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    // Each connection has its worker by the time of its first answer.
    await Promise.all(phones.map((phone) => new Promise((resolve) => phone.once('data', resolve).write(large))));
    for (const pid of children) process.kill(Number(pid), 'SIGSTOP');
    for (const pid of children) while (stateOf(pid) !== 'T');
    for (const phone of phones) phone.write(small);
    process.kill(server.pid, 'SIGKILL');
    while (![null, 'Z', 'X'].includes(stateOf(server.pid)));
    for (const pid of children) process.kill(Number(pid), 'SIGCONT');
    const { stderr } = await server.exit;
    for (const phone of phones) phone.destroy();
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining('mobility listens on')]);
  });
});

/** A primary process whose workers just listen. */
const primaryOf = (program: string, lines: readonly string[]) => `
  import cluster from 'node:cluster';
  import { readFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  import { startWorkers } from ${JSON.stringify(join(program, 'dist/server/workers.js'))};

  if (cluster.isWorker) {
    createServer().listen(0, '127.0.0.1');
    process.once('SIGTERM', () => process.exit(0));
  } else {
    const deaths = [];
    const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
    const options = {
      count: 2,
      largeBodies: null,
      drainSeconds: 1,
      logSource: () => 'source',
      onDeath: (text) => deaths.push(text),
    };
    ${lines.join('\n    ')}
  }
`;

describe('the process that reads large bodies', () => {
  const large = (server: RunningServer, ts: number) =>
    server.post('/usercache/put', {
      user: 'ada',
      phone_to_server: [androidLocation(ts, { note: 'x'.repeat(300_000) })],
    });
  const threadOf = (ts: number): string =>
    logLines().find(({ message }) => message.includes(`write_ts = ${ts} `))?.thread ?? '';
  /** Temporary files of a server alone in a folder: with a short name, as paths of sockets are. */
  const temporary: string[] = [];
  const running: RunningServer[] = [];
  let pushed = 100;
  const startTwo = async (env: Record<string, string> = {}) => {
    const own = await mkdtemp(join(tmpdir(), 'm-'));
    temporary.push(own);
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2', TMPDIR: own, ...env } });
    running.push(server);
    return { server, temporary: own };
  };
  /** Each worker gets some: then large bodies are passed on for a while. */
  const smallCalls = (server: RunningServer) =>
    Promise.all(Array.from({ length: 8 }, () => fetch(`${server.url}/healthz`, { headers: { Connection: 'close' } })));
  afterEach(async () => {
    for (const server of running.splice(0)) await server.kill();
    for (const own of temporary.splice(0)) await rm(own, { recursive: true, force: true });
  });
  const children = (server: RunningServer): string[] =>
    readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const sees = (server: RunningServer, text: string) => () => server.output().stderr.includes(text);
  /**
   * Pushes large bodies until the other process stores one of them. One that goes to a connection which has just broken
   * is to be sent again.
   */
  const pushUntilPassed = async (server: RunningServer) => {
    const found: number[] = [];
    do {
      pushed += 1;
      await smallCalls(server);
      found.push((await large(server, pushed)).status);
    } while (!threadOf(pushed).startsWith('w3-'));
    expect(found.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(found.filter((status) => status === 503).length).toBeLessThanOrEqual(2); // one of each worker
  };

  it('is left alone while nobody makes small calls', async () => {
    const { server } = await startTwo();
    for (const ts of [1, 2, 3]) expect((await large(server, ts)).status).toBe(200);
    await server.stop();
    expect([1, 2, 3].map(threadOf)).toEqual(Array(3).fill(expect.stringMatching(/^w[12]-/)));
  });

  it('reads them for all workers, in a folder that is gone afterwards', async () => {
    const { server, temporary } = await startTwo();
    expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^mobility-/)]);
    const small = connect(Number(new URL(server.url).port), '127.0.0.1');
    const calls = Array.from({ length: 16 }, (_, i) => i);
    const allByOne = async (round: number): Promise<boolean> => {
      // To one of the workers, which tells the other.
      await new Promise((resolve) =>
        small.once('data', resolve).write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'),
      );
      const answers = await Promise.all(calls.map((i) => large(server, 100 * round + i)));
      expect(answers.map(({ status }) => status)).toEqual(calls.map(() => 200));
      return calls.every((i) => threadOf(100 * round + i).startsWith('w3-'));
    };
    // A busy machine may take longer than small calls count.
    let round = 1;
    while (!(await allByOne(round))) round += 1;
    small.destroy();
    await put(server, 3);
    await server.stop();
    expect(threadOf(3)).toMatch(/^w[12]-/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')(
    'is replaced when it dies; until then each worker reads its own',
    async () => {
      const { server, temporary } = await startTwo();
      const commands = children(server).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      expect(commands.map((command) => command.includes('--no-parallel-scavenge'))).toEqual([false, false, true]);
      const [own, ...nice] = [process.pid, ...children(server).map(Number)].map((pid) => getPriority(pid));
      expect(nice).toEqual([own, own, Math.min(own! + 5, 19)]);
      process.kill(Number(children(server)[2]), 'SIGKILL');
      await until(sees(server, 'worker 3 ended with SIGKILL'));
      await pushUntilPassed(server);
      // A program that clears temporary files takes the folder: it comes back with the next process.
      await rm(join(temporary, readdirSync(temporary)[0]!), { recursive: true });
      expect((await large(server, 1)).status).toBe(200);
      process.kill(Number(children(server)[2]), 'SIGKILL');
      await pushUntilPassed(server);
      expect((await server.stop()).code).toBe(0);
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  it.skipIf(process.platform !== 'linux')('leaves no folder behind when the primary process is killed', async () => {
    const { server, temporary } = await startTwo();
    process.kill(server.pid, 'SIGKILL');
    await server.exit;
    expect(readdirSync(temporary)).toEqual([]);
  });

  it.each([
    { whom: 'the primary process', signal: (pid: number) => process.kill(pid, 'SIGTERM') },
    { whom: 'all processes', signal: (pid: number) => process.kill(-pid, 'SIGTERM') },
  ])('answers all puts that run when $whom get SIGTERM', async ({ signal }) => {
    const { server } = await startTwo();
    await smallCalls(server);
    const pushing = Array.from({ length: 40 }, (_, i) =>
      large(server, i).then(
        ({ status }) => status,
        () => 'not accepted',
      ),
    );
    await until(() => server.output().stdout.includes(' POST /usercache/put'));
    signal(server.pid);
    const answers = await Promise.all(pushing);
    const exit = await server.exit;
    expect([exit.code, exit.stderr.split('\n').length]).toEqual([0, 2]);
    expect(new Set(answers.filter((answer) => answer !== 'not accepted'))).toEqual(new Set([200]));
    const store = await openStore(address);
    const ada = await store.users.byEmail('ada');
    expect((await store.usercache.summary(ada!.uuid)).count).toBe(answers.filter((answer) => answer === 200).length);
    await store.close();
  });

  it('is missing where there can be no socket, and the log says what follows', async () => {
    const long = join(folder, 'long'.repeat(20));
    await mkdir(long);
    for (const [ts, temporary] of [join(address, 'none'), long].entries()) {
      const server = await startServer(address, { env: { MOBILITY_WORKERS: '2', TMPDIR: temporary } });
      expect((await large(server, ts)).status).toBe(200);
      const { stderr } = await server.stop();
      expect(stderr).toContain('small calls wait for large bodies');
      expect(stderr).toContain(temporary);
      expect(threadOf(ts)).toMatch(/^w[12]-1$/);
    }
    expect(readdirSync(long)).toEqual([]);
  });

  it('finishes what it reads when the server is told to stop', async () => {
    const { server } = await startTwo();
    await smallCalls(server);
    const body = JSON.stringify({ user: 'ada', phone_to_server: [androidLocation(7, { note: 'x'.repeat(300_000) })] });
    const { received, exit } = await stopDuringPut(server, body, 200_000);
    expect(received).toContain('{"inserted":1,"updated":0,"rejected":0}');
    expect(exit.code).toBe(0);
  });
});

describe('SIGTERM', () => {
  it.each(['1', '2'])('with %s workers: what runs is finished, the exit code is 0', async (workers) => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: workers } });
    const body = JSON.stringify({ user: 'ada', phone_to_server: [androidLocation(7)] });
    const { received, exit } = await stopDuringPut(server, body, 30);
    expect(received).toContain('{"inserted":1,"updated":0,"rejected":0}');
    expect([exit.code, exit.signal, exit.stderr.split('\n').length]).toEqual([0, null, 2]);
    expect(logLines().some(({ message }) => message.startsWith('END POST /usercache/put'))).toBe(true);
  });
});

describe('refusals', () => {
  const refused = async (...args: string[]) => {
    const server = await start(['serve', '--store', address, '--port', '0', ...args]);
    const { code, stderr } = await server.exit;
    return { code, stderr };
  };

  it('dev listens beyond loopback only if the operator allows it', async () => {
    const { code, stderr } = await refused('--auth', 'dev', '--host', '0.0.0.0');
    expect([code, stderr]).toEqual([2, expect.stringContaining('MOBILITY_DEV_ANYWHERE')]);
    const server = await startServer(address, { env: { MOBILITY_DEV_ANYWHERE: 'true', MOBILITY_HOST: '0.0.0.0' } });
    expect((await server.stop()).code).toBe(0);
  });

  it('an address that is taken ends it, with one worker and with two', async () => {
    const server = await startServer(address);
    const { port } = new URL(server.url);
    for (const workers of ['1', '2']) {
      const { code, stderr } = await refused('--port', port, '--workers', workers);
      expect([code, stderr.match(/another program listens there/g)?.length]).toEqual([2, 1]);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    await server.stop();
  });
});

describe('addresses', () => {
  it('loopback is an address that only this machine reaches', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST']) expect(isLoopback(host)).toBe(true);
    for (const host of [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      '127.0.0.1.example.org',
      'localhost.example.org',
      '1127.0.0.1',
      '',
    ]) {
      expect(isLoopback(host)).toBe(false);
    }
  });

  it('an IPv6 address is written in brackets', () => {
    expect(urlOf({ host: '::1', port: 80 })).toBe('http://[::1]:80');
    expect(urlOf({ host: '127.0.0.1', port: 80 })).toBe('http://127.0.0.1:80');
  });
});
