// Malformed requests and misused connections, `npm run soak -- requests [number]`, against a server with a small heap.
// Checks that each request is answered, that no answer is a 5xx except the documented 503s, that no process ends, and
// that a phone can push all the time.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, malformedRequests, seeded } from '../../test/faults/malformed-requests.js';
import { startServer } from './server.js';

const heap = 700; // MiB for each process
const lanes = 24; // connections that send at the same time
const silent = 4_000; // connections that send nothing, opened again when they are closed
const patience = 120; // s; a connection without all answers by then is a problem
const mostAhead = 8; // requests that a connection may send ahead
const slowGap = 20; // ms between the pieces of a slow request
const phonePause = 200; // ms between two pushes of the phone that pushes meanwhile

/** Texts that are not HTTP requests. */
const broken = [
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  'POST /usercache/put HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
  'POST /usercache/put HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
  'POST /usercache/put HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
  'POST /usercache/put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
  `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
  '\u0016\u0003\u0001\u0002\u0000',
  '\n'.repeat(1_000),
];

/** Sends the requests. Resolves with the exit code. */
export async function requests(count) {
  const seed = Number(process.env.MOBILITY_TEST_SEED ?? 20161117);
  const folder = mkdtempSync(join(tmpdir(), 'mobility-soak-'));
  const store = join(folder, 'store');
  // Many callers: otherwise the limits per caller would answer in place of the routes.
  const users = Array.from({ length: 1_000 }, (_, n) => `ada${n}`);
  await register(store, [...users, 'phone']);
  const server = await startServer(store, { NODE_OPTIONS: `--max-old-space-size=${heap}` });
  const run = { port: Number(new URL(server.url).port), problems: [], statuses: {}, ways: {}, left: count, pushes: 0 };
  run.isOver = false;
  try {
    const { paths } = await (await fetch(`${server.url}/openapi.json`)).json();
    const { webRoutes } = await import('../../dist/web/routes.js');
    run.otherApps = Object.keys(paths).filter((path) => paths[path].post?.tags.includes('other apps'));
    const calls = Object.keys(paths).map((path) => path.replace(/\{(\w+)\}/g, ':$1'));
    run.paths = [...calls, ...webRoutes.map(({ path }) => path)];
    const silence = openSilent(run);
    const pushing = phone(run);
    await Promise.all(Array.from({ length: lanes }, (_, n) => lane(run, seed * 1_000 + n, users)));
    run.isOver = true;
    await pushing;
    silence.end();
    const { status } = await fetch(`${server.url}/healthz`);
    if (status !== 200) run.problems.push(`/healthz answers ${status} in the end`);
  } finally {
    run.isOver = true;
    const code = await server.stop();
    if (code !== 0) run.problems.push(`the server ended with ${code}`);
    for (const line of server.output().match(/.*ended with.*/g) ?? []) run.problems.push(line);
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`seed ${seed}: ${count} requests, of which by way ${JSON.stringify(run.ways)}`);
  const answers = Object.values(run.statuses).reduce((sum, n) => sum + n, 0);
  console.log(
    `${answers} answers by status ${JSON.stringify(run.statuses)}; ${run.pushes} pushes of a phone beside them`,
  );
  for (const problem of run.problems.slice(0, 50)) console.log(`PROBLEM  ${problem}`);
  console.log(`${run.problems.length} problems`);
  return run.problems.length === 0 ? 0 : 1;
}

async function register(address, names) {
  const { openStore } = await import('../../dist/index.js');
  const store = await openStore(address);
  for (const name of names) await store.users.register(name, { now: 1 });
  await store.close();
}

/** Opens one connection after another, each with one of `ways`. */
async function lane(run, seed, users) {
  const random = seeded(seed);
  const source = malformedRequests(seed, run.paths, users);
  while (run.left > 0) {
    const way = random.pick(Object.keys(ways));
    const most = way === 'ahead' ? 2 + random.below(10) : way === 'turns' ? 1 + random.below(10) : 1;
    const calls = Array.from({ length: Math.min(most, run.left) }, () => source.next().value);
    run.left -= calls.length;
    run.ways[way] = (run.ways[way] ?? 0) + calls.length;
    const problem = await ways[way](run, calls, random);
    if (problem !== undefined) run.problems.push(`${way}: ${problem}`);
  }
}

/** Ways to use a connection. Each resolves with a problem, or undefined. */
const ways = {
  /** Sends each request after the answer to the one before. */
  turns: async (run, calls) => judge(run, calls, await exchange(run.port, calls, oneByOne)),
  /** Sends all requests at once, often more than a connection may send ahead. */
  ahead: async (run, calls) =>
    judge(run, calls, await exchange(run.port, calls, (socket, texts) => socket.write(Buffer.concat(texts)))),
  /** Sends the body in chunks of random sizes. */
  chunked: async (run, calls, random) => judge(run, calls, await exchange(run.port, calls, writeAll, random)),
  /** Sends in pieces with pauses. */
  slow: async (run, calls, random) =>
    judge(run, calls, await exchange(run.port, calls, (socket, [text]) => inPieces(socket, text, 2 + random.below(5)))),
  /** Closes the connection within a request, at once or after a pause. */
  cut: async (run, [call], random) => {
    const text = textOf(call, true);
    const socket = connect(run.port, '127.0.0.1').on('error', () => {});
    socket.write(text.subarray(0, random.below(text.length + 1)));
    await sleep(random.below(10) === 0 ? 1_000 : random.below(slowGap));
    if (random.below(2) === 0) socket.destroy();
    else socket.resetAndDestroy();
  },
  /** Sends a text that is not a request. */
  broken: async (run, _calls, random) => {
    const { ended, answers } = await exchange(run.port, [], (socket) => socket.end(random.pick(broken)));
    for (const { status } of answers) count(run, status);
    if (!ended) return `no end after ${patience} s`;
    if (answers.some(({ status }) => status >= 500)) return `${answers[0].status} for what is no request`;
  },
};

function count({ statuses }, status) {
  statuses[status] = (statuses[status] ?? 0) + 1;
}

/** True for the address of the server without a path, such as `/configs/%2e%2e`: other apps send there, too. */
function isOfOtherApp(path, otherApps) {
  const { pathname } = new URL(path.replace(/^\/+/, '/'), 'http://localhost');
  return pathname === '/' || otherApps.some((one) => pathname === one || pathname.startsWith(`${one}/`));
}

/** The problem with the answers to complete requests; undefined if there is none. */
function judge(run, calls, { ended, answers }) {
  for (const { status } of answers) count(run, status);
  const describe = (i) =>
    `${calls[i].method} ${calls[i].path} ${JSON.stringify(calls[i].body?.toString())} ${answers[i]?.status} ${answers[i]?.text}`;
  const bad = answers.findIndex((answer, i) => !isRefusal(answer, isOfOtherApp(calls[i].path, run.otherApps)));
  if (bad !== -1) return describe(bad);
  if (!ended) return `no answer after ${patience} s: ${describe(answers.length)}`;
  const mayEnd = answers.at(-1)?.isLast === true || calls.length > mostAhead;
  if (answers.length < calls.length && !mayEnd) return `no answer: ${describe(answers.length)}`;
}

// ---------------------------------------------------------------- connections

/** A request as bytes. The last request of a connection has `Connection: close`. */
function textOf({ method, path, headers, body }, isLast, chunks = null) {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...(isLast ? ['Connection: close'] : [])];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (chunks !== null && body !== null) lines.push('Transfer-Encoding: chunked');
  else if (body !== null) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (body === null) return head;
  return Buffer.concat([head, chunks === null ? body : inChunks(body, chunks)]);
}

function inChunks(body, random) {
  const parts = [];
  for (let at = 0; at < body.length; ) {
    const part = body.subarray(at, at + 1 + random.below(400));
    parts.push(`${part.length.toString(16)}\r\n`, part, '\r\n');
    at += part.length;
  }
  return Buffer.concat([...parts, '0\r\n\r\n'].map((part) => Buffer.from(part)));
}

async function inPieces(socket, text, pieces) {
  const size = Math.ceil(text.length / pieces);
  for (let at = 0; at < text.length && !socket.destroyed; at += size) {
    socket.write(text.subarray(at, at + size));
    await sleep(slowGap);
  }
}

function writeAll(socket, texts) {
  for (const text of texts) socket.write(text);
}

/** Sends each text after the answer to the one before. */
function oneByOne(socket, texts, answers) {
  let sent = 0;
  const send = () => {
    if (sent < texts.length && answers().length === sent) socket.write(texts[sent++]);
  };
  socket.on('data', send);
  send();
}

/**
 * Opens a connection, calls `write`, and reads until the server closes it. Returns the answers, and whether it closed.
 */
function exchange(port, calls, write, chunks = null) {
  const texts = calls.map((call, i) => textOf(call, i === calls.length - 1, chunks));
  const methods = calls.map(({ method }) => method);
  return new Promise((resolve) => {
    let received = Buffer.alloc(0);
    const socket = connect(port, '127.0.0.1');
    const answers = () => answersIn(received, methods);
    const timer = setTimeout(() => {
      resolve({ ended: false, answers: answers() });
      socket.destroy();
    }, patience * 1000);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ ended: true, answers: answers() });
    });
    socket.on('connect', () => write(socket, texts, answers));
  });
}

/** The complete answers at the start of `bytes`, to requests with these methods. */
function answersIn(bytes, methods) {
  const answers = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) return answers;
    const head = bytes.toString('latin1', at, end);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    at = end + 4;
    if (status < 200) continue;
    const isEmpty = methods[answers.length] === 'HEAD' || status === 204 || status === 304;
    let text = '';
    if (!isEmpty && /^transfer-encoding: chunked/im.test(head)) {
      for (let size = -1; size !== 0; ) {
        const lineEnd = bytes.indexOf('\r\n', at);
        if (lineEnd === -1) return answers;
        size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
        if (bytes.length < lineEnd + 4 + size) return answers;
        text += bytes.toString('utf8', lineEnd + 2, lineEnd + 2 + size);
        at = lineEnd + 4 + size;
      }
    } else if (!isEmpty) {
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      if (bytes.length < at + length) return answers;
      text = bytes.toString('utf8', at, at + length);
      at += length;
    }
    answers.push({ status, text: text.slice(0, 500), isLast: /^connection: close/im.test(head) });
  }
}

/** Connections that send nothing, opened again when they are closed. */
function openSilent(run) {
  const sockets = new Set();
  const open = () => {
    if (run.isOver) return;
    const socket = connect(run.port, '127.0.0.1').on('error', () => {});
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      sleep(500).then(open);
    });
  };
  for (let i = 0; i < silent; i += 1) open();
  return { end: () => [...sockets].forEach((socket) => void socket.destroy()) };
}

/** Pushes one entry after the other. */
async function phone(run) {
  for (let i = 0; !run.isOver; i += 1) {
    const ts = 1_463_502_000 + i;
    const metadata = { key: 'background/location', type: 'sensor-data', platform: 'android', write_ts: ts + 0.5 };
    const data = { latitude: 48.5, longitude: 9, accuracy: 12, ts };
    const body = JSON.stringify({ user: 'phone', phone_to_server: [{ metadata, data }] });
    const answer = await fetch(`http://127.0.0.1:${run.port}/usercache/put`, {
      ...{ method: 'POST', body, headers: { 'Content-Type': 'application/json' } },
      signal: AbortSignal.timeout(patience * 1000),
    }).catch((error) => ({ status: error.name }));
    if (answer.status !== 200) run.problems.push(`a phone beside them got ${answer.status}`);
    run.pushes += 1;
    await sleep(phonePause);
  }
}
