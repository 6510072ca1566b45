// `mobility serve` as processes: several workers, one log file, signals, and what it refuses to do.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseFileLine } from '../../../src/log/line-format.ts';
import { isLoopback } from '../../../src/model/networks.ts';
import { urlOf } from '../../../src/server/run-server.ts';
import { freshProgram } from '../../cli/kit.ts';
import { type RunningServer, start, startServer } from '../../faults/program.ts';
import { androidLocation } from '../../server/kit.ts';
import { buildProgram } from '../../support/build.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { until } from '../../support/until.ts';

let address: string;

beforeAll(async () => {
  await buildProgram();
});
beforeEach(async () => {
  ({ address } = await freshProgram('ada'));
});

/** Lines of the server log, in order. Behind the last line break a process may be writing one. */
function logLines() {
  const dir = join(address, 'logs');
  const names = readdirSync(dir).filter((name) => /^server.*\.log$/.test(name));
  const texts = names.flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1));
  const lines = texts.map(parseFileLine);
  expect(texts.filter((_, i) => lines[i] === null)).toEqual([]);
  return lines.map((line) => line!);
}
const put = (server: RunningServer, ts: number) =>
  server.post('/usercache/put', { user: 'ada', phone_to_server: [androidLocation(ts)] });

/** Sends a part of a body, stops the server, and sends the rest when the server accepts no more connections. */
async function stopDuringPut(server: RunningServer, body: string, place: number) {
  const socket = connectTo(server);
  const received = text(socket);
  const head = ['POST /usercache/put HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'].join('\r\n');
  socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, place)}`);
  await until(() => server.output().stdout.includes(' POST /usercache/put'));
  const stopped = server.stop();
  const healthz = () => fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(500) }).catch(() => 'refused');
  await until(async () => (await healthz()) === 'refused');
  socket.write(body.slice(place));
  return { received: await received, exit: await stopped };
}

function connectTo({ url }: RunningServer): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname);
}

/** The processes that a server has started, as Linux lists them. */
const childrenOf = ({ pid }: RunningServer): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];

/** The fields of a process behind its name, as Linux lists them; none: it is gone. */
function fieldsOf(pid: string | number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  } catch {
    return [];
  }
}
const hasProc = process.platform === 'linux';

describe('several workers', () => {
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

  it.skipIf(!hasProc)('a worker that dies is replaced and reported, and no counter falls', async () => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2', MOBILITY_METRICS: 'true' } });
    const counted = async (name: string): Promise<number> => {
      const metrics = await fetch(`${server.url}/metrics`).then((answer) => answer.text());
      const line = metrics.split('\n').find((one) => one.startsWith(`${name} `));
      return Number(line?.slice(name.length));
    };
    const puts = 'mobility_calls_total{handler="userCache.put",status="200",cause="none"}';
    expect(await counted(puts)).toBe(0);
    for (let i = 0; i < 10; i += 1) await put(server, i);
    expect(await counted(puts)).toBe(10);
    expect(await counted('mobility_call_seconds_count{handler="userCache.put"}')).toBe(10);
    const memory = await counted('process_resident_memory_bytes');
    const children = childrenOf(server);
    expect(children).toHaveLength(2);
    process.kill(Number(children[0]), 'SIGKILL');
    await until(() => server.output().stderr.includes('ended with SIGKILL'));
    for (let i = 0; i < 10; i += 1) expect((await put(server, i)).status).toBe(200);
    await until(() => childrenOf(server).length >= 2);
    expect(await counted(puts)).toBe(20);
    expect(await counted('mobility_call_seconds_count{handler="userCache.put"}')).toBe(20);
    expect(await counted('process_resident_memory_bytes')).toBeLessThan(1.4 * memory);
    process.kill(server.pid, 'SIGINT'); // Ctrl-C
    expect((await server.exit).code).toBe(0);
    const errors = logLines().filter(({ level }) => level === 'ERROR');
    expect(errors).toContainEqual(expect.objectContaining({ message: expect.stringContaining('ended with SIGKILL') }));
  });

  it.skipIf(!hasProc)('makes an archive in a process of low priority, which ends with its reader', async () => {
    const { address: store, succeed } = await freshProgram();
    await succeed('study create sunny');
    await succeed('simulate --study sunny --users 3 --days 7');
    await succeed('pipeline --all');
    const added = await succeed('managers add mira --study sunny --may-export');
    const server = await startServer(store, { env: { MOBILITY_WORKERS: '1' } });
    const send = (path: string, fields: Record<string, string>, Cookie = '') => {
      const body = new URLSearchParams(fields);
      return fetch(`${server.url}${path}`, { method: 'POST', redirect: 'manual', headers: { Cookie }, body });
    };
    const signedIn = await send('/sign-in/study', { name: 'mira', password: added.stdout.trim() });
    const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
    const page = await fetch(`${server.url}/study/sunny/export`, { headers: { Cookie: cookie } });
    const csrf = /name="csrf" value="([^"]*)"/.exec(await page.text())![1]!;
    await until(async () => {
      const download = send('/study/sunny/export.zip', { csrf }, cookie);
      let isDone = false;
      void download.finally(() => (isDone = true));
      let found = false;
      while (!isDone) {
        found ||= childrenOf(server).some((pid) => fieldsOf(pid)[16] === '10');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const bytes = Buffer.from(await (await download).arrayBuffer());
      expect(bytes.readUInt32LE(bytes.length - 22)).toBe(0x06054b50); // the end of a whole archive
      return found;
    });
    await (await send('/study/sunny/export.zip', { csrf }, cookie)).body!.cancel();
    await until(() => childrenOf(server).length === 0);
    expect((await server.stop()).code).toBe(0);
  });

  /** Runs lines as primary process: with `startWorkers`, `options` for it, `deaths`, and workers that just listen. */
  const runPrimary = async (...lines: string[]) => {
    const workers = join(await buildProgram(), 'dist/server/workers.js');
    const script = `
      import cluster from 'node:cluster';
      import { readFileSync } from 'node:fs';
      import { createServer } from 'node:http';
      import { startWorkers } from ${JSON.stringify(workers)};

      if (cluster.isWorker) {
        createServer().listen(0, '127.0.0.1');
        process.once('SIGTERM', () => process.exit(0));
      } else {
        const deaths = [];
        const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
        const options = { count: 2, drainSeconds: 1, logSource: () => 'a', onDeath: (text) => deaths.push(text) };
        ${lines.join('\n')}
      }`;
    const file = join(tempFolder(), 'primary.mjs');
    await writeFile(file, script);
    return promisify(execFile)(process.execPath, [file]);
  };

  it.skipIf(!hasProc)('survive a message to a worker that has just died', async () => {
    const { stdout, stderr } = await runPrimary(
      'const workers = await startWorkers(options);',
      'const [{ process: child }] = Object.values(cluster.workers);',
      "child.kill('SIGKILL');",
      // No news comes to this process while it waits like this.
      "while (!readFileSync('/proc/' + child.pid + '/stat', 'utf8').includes(') Z'));",
      'Object.values(cluster.workers)[0].send({});',
      'while (deaths.length === 0) await turn();',
      'await workers.stop();',
      'console.log(deaths.join());',
    );
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^worker 1 ended with SIGKILL;.*\n$/), '']);
  });

  it('report a worker that is killed early or cannot be started, and start it again', async () => {
    const { stdout, stderr } = await runPrimary(
      'const starting = startWorkers(options);',
      "Object.values(cluster.workers)[0].process.kill('SIGKILL');",
      'const workers = await starting;',
      'const node = process.execPath;',
      "process.execPath = node + '-is-gone';",
      "Object.values(cluster.workers)[0].process.kill('SIGKILL');",
      'while (deaths.length < 4) await turn();',
      'process.execPath = node;',
      "await new Promise((resolve) => cluster.once('listening', resolve));",
      'await workers.stop();',
      "console.log(deaths.slice(0, 4).join('\\n'));",
    );
    const failed = 'worker 2 ended with spawn .*-is-gone ENOENT; the next one starts in \\d+ ms\n';
    const all = new RegExp(`^worker 1 ended with SIGKILL.*\nworker 2 ended with SIGKILL.*\n${failed}${failed}$`);
    expect([stdout, stderr]).toEqual([expect.stringMatching(all), '']);
  });

  it('end without output if the primary process is killed before they begin', async () => {
    const ended = runPrimary('void startWorkers(options);', "process.kill(process.pid, 'SIGKILL');");
    await expect(ended).rejects.toMatchObject({ signal: 'SIGKILL', stderr: '' });
  });

  it('end the server with the reason if none can be started', async () => {
    const { stdout, stderr } = await runPrimary(
      "process.execPath += '-is-gone';",
      'await startWorkers(options).catch((error) => console.log(error.code, error.message));',
    );
    const reason = /^MOBILITY_CONFIG a worker ended with spawn .* ENOENT before it listened;.*\n$/;
    expect([stdout, stderr]).toEqual([expect.stringMatching(reason), '']);
  });

  it.skipIf(!hasProc)('end without output when the primary process is killed', async () => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: '2', MOBILITY_METRICS: 'true' } });
    const children = childrenOf(server);
    const callers = Array.from({ length: 4 }, () => connectTo(server).on('error', () => {}));
    const call = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    // Each connection has its worker by the time of its first answer.
    await Promise.all(
      callers.map((one) => new Promise((resolve) => one.once('data', resolve).write(call('/healthz')))),
    );
    for (const pid of children) process.kill(Number(pid), 'SIGSTOP');
    for (const pid of children) await until(() => fieldsOf(pid)[0] === 'T');
    for (const one of callers) one.write(call('/metrics')); // each worker will ask the primary
    process.kill(server.pid, 'SIGKILL');
    await until(() => ['Z', 'X', undefined].includes(fieldsOf(server.pid)[0]));
    for (const pid of children) process.kill(Number(pid), 'SIGCONT');
    const { stderr } = await server.exit;
    for (const one of callers) one.destroy();
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining('mobility listens on')]);
  });
});

describe('SIGTERM', () => {
  it.each([
    ['1', 30],
    ['2', 30],
    ['2', 200_000],
  ])('finishes a put, and ends with 0, for %s workers and %d received bytes', async (workers, place) => {
    const server = await startServer(address, { env: { MOBILITY_WORKERS: workers } });
    const entry = androidLocation(7, { note: 'x'.repeat(300_000) });
    const body = JSON.stringify({ user: 'ada', phone_to_server: [entry] });
    const { received, exit } = await stopDuringPut(server, body, place);
    expect(received).toContain('{"inserted":1,"updated":0,"rejected":0}');
    expect([exit.code, exit.signal, exit.stderr.split('\n').length]).toEqual([0, null, 2]);
    expect(logLines().some(({ message }) => message.startsWith('END POST /usercache/put'))).toBe(true);
  });
});

describe('refusals', () => {
  it('--auth dev refuses addresses other than loopback unless the operator allows them', async () => {
    const { exit } = await start(['serve', '--store', address, '--port', '0', '--auth', 'dev', '--host', '0.0.0.0']);
    expect(await exit).toMatchObject({ code: 2, stderr: expect.stringContaining('MOBILITY_DEV_ANYWHERE') });
    const server = await startServer(address, { env: { MOBILITY_DEV_ANYWHERE: 'true', MOBILITY_HOST: '0.0.0.0' } });
    expect((await server.stop()).code).toBe(0);
  });

  it.each(['1', '2'])('a file without tiles or an address in use ends a server with %s workers', async (workers) => {
    const MOBILITY_TILES = fileURLToPath(import.meta.url);
    const args = ['serve', '--store', address, '--workers', workers];
    const { exit } = await start([...args, '--port', '0'], { env: { MOBILITY_TILES } });
    const expected = /^mobility: MOBILITY_CONFIG: expected MOBILITY_TILES .*\n$/;
    expect(await exit).toMatchObject({ code: 2, stderr: expect.stringMatching(expected) });
    const server = await startServer(address);
    const second = await start([...args, '--port', new URL(server.url).port]);
    const inUse = /^.*another program listens there.*\n$/;
    expect(await second.exit).toMatchObject({ code: 2, stderr: expect.stringMatching(inUse) });
    await server.stop();
  });
});

describe('addresses', () => {
  it('loopback is an address that only this machine reaches', () => {
    const local = ['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST'];
    const others = ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.org', 'localhost.example.org', '1127.0.0.1', ''];
    expect([...local, ...others].filter(isLoopback)).toEqual(local);
  });

  it('an IPv6 address is written in brackets', () => {
    expect(urlOf({ host: '::1', port: 80 })).toBe('http://[::1]:80');
    expect(urlOf({ host: '127.0.0.1', port: 80 })).toBe('http://127.0.0.1:80');
  });
});
