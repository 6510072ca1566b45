// Strangers and one hostile caller against a server with a small heap: what others' puts take meanwhile, and what is
// left of the server.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { openStore } from '../dist/index.js';
import { against, bodyOf, createClient, inFolder, line, locations, ms, quantile, seconds, startServer } from './kit.js';

const heap = 700; // MiB of heap for each process
const target = 20; // times the idle p99
const mebibyte = 1024 * 1024;
const pause = 500; // ms of an attacker between two requests

/** `{"user":…,"phone_to_server":[` and 63 MiB of what a piece repeats; small once compressed. */
const bombs = {
  zeros: '0,',
  objects: '{},',
  lists: '[],',
  nans: 'NaN,',
  unusable: '{"a":1},',
  nested: '[',
  controls: '\u0001',
  names: null,
};

function bombOf(piece, user, size) {
  const start = user === null ? '{"phone_to_server":[' : `{"user":"${user}","phone_to_server":[`;
  if (piece === '\u0001') return Buffer.from(`${start}"${piece.repeat(size)}"]}`);
  if (piece !== null) return Buffer.from(`${start}${piece.repeat(size / piece.length)}0]}`);
  let text = '';
  for (let i = 0; text.length < size; i++) text += `"k${i}":0,`;
  return Buffer.from(`${start}{${text}"z":0}]}`);
}

/** Prints p99 of other people's puts before and during the attacks, and the memory of each process. */
export async function attack({ heapMiB = heap, duration = 30 } = {}) {
  console.log(`\nattack: 2 workers with ${heapMiB} MiB of heap, default settings, ${duration} s`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    for (const name of ['eve', 'mallory']) await store.users.register(name, { now: 1 });
    await store.close();
    const env = { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` };
    const server = await startServer(folder, { workers: 2, env, limits: true });
    // Strangers send from a thread of their own, so that what they cost here does not count as the server's.
    const attackers = new Worker(new URL(import.meta.url), { workerData: { port: server.port } });
    await once(attackers, 'message'); // everything is packed
    const idle = await putsFor(server.port, duration / 2, 1_700_000_000);
    attackers.postMessage('go');
    const attacked = await putsFor(server.port, duration, 1_800_000_000);
    attackers.postMessage('stop');
    const [sent] = await once(attackers, 'message');
    await attackers.terminate();
    const peaks = server.peak();
    const told = server.stderr();
    await server.stop();
    const [before, during] = [idle, attacked].map(({ times }) => quantile(times, 0.99));
    line('attacks sent', String(sent));
    line('puts of others, idle: number, p99', `${idle.times.length}, ${ms(before)}`);
    line('puts of others, attacked: number, p99', `${attacked.times.length}, ${ms(during)}`);
    line('  ratio of p99', `${(during / before).toFixed(1)} x`, against(during / before, target, `${target} x`));
    line('  refused', String(attacked.refused), against(attacked.refused, 0, 'none'));
    line('peak memory of each process', peaks.map((mib) => `${mib.toFixed(0)} MiB`).join(', '));
    const died = told.match(/ended with/g)?.length ?? 0;
    line('processes that ended', String(died), against(died, 0, 'none'));
  });
}

/** Puts of 100 entries, one after the other with a pause, for so many seconds. */
async function putsFor(port, length, from) {
  const client = createClient(port, 2);
  const times = [];
  let refused = 0;
  const end = seconds() + length;
  for (let i = 0; seconds() < end; i++) {
    const body = bodyOf('eve', locations(100, from + i * 100));
    const began = seconds();
    await client.post('/usercache/put', body).then(
      () => times.push(seconds() - began),
      () => {
        refused += 1;
      },
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  client.close();
  return { times, refused };
}

/** In the thread of the attackers: packs bombs, waits for the word, and sends until told to stop. */
async function attackUntilStopped({ port }) {
  const stop = { now: false };
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const heard = new WeakSet();
  // A server that refuses a body closes while it is still being sent, and a socket may learn of that when no call holds
  // it.
  const forgive = (socket) => {
    if (heard.has(socket)) return;
    heard.add(socket);
    socket.on('error', () => {});
  };
  let sent = 0;
  const post = (path, body, headers = {}) =>
    new Promise((resolve) => {
      sent += 1;
      const call = request({ port, host: '127.0.0.1', path, method: 'POST', agent, headers }, (response) => {
        response.resume();
        response.on('close', resolve);
      });
      call.on('error', resolve);
      call.on('socket', forgive);
      call.setHeader('Content-Type', 'application/json');
      call.end(body);
    });
  const works = [];
  for (const [name, piece] of Object.entries(bombs)) {
    const size = 63 * mebibyte;
    const strange = gzipSync(bombOf(piece, null, size), { level: 6 });
    const nobody = gzipSync(bombOf(piece, 'nobody', size), { level: 6 });
    const zipped = gzipSync(bombOf(piece, 'mallory', name === 'names' ? 8 * mebibyte : size), { level: 1 });
    const plain = bombOf(piece, 'mallory', 4 * mebibyte);
    const plainly = bombOf(piece, null, 4 * mebibyte);
    const gzip = { 'Content-Encoding': 'gzip' };
    works.push(() => post('/usercache/put', strange, gzip));
    works.push(() => post('/usercache/put', nobody, gzip));
    works.push(() => post('/usercache/put', zipped, gzip));
    works.push(() => post('/usercache/put', plain));
    works.push(() => post('/usercache/put', plainly));
  }
  const told = once(parentPort, 'message');
  parentPort.postMessage('packed');
  await told;
  parentPort.once('message', () => {
    stop.now = true;
  });
  // Answers that nobody reads, and uploads that hardly go on.
  const body = JSON.stringify({ user: 'mallory', start_time: 0, end_time: 4e9 });
  const head = (length) =>
    `POST /datastreams/find_entries/timestamp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const sockets = [];
  for (let i = 0; i < 30; i++) sockets.push(held(port, head(body.length) + body));
  for (let i = 0; i < 30; i++)
    sockets.push(
      held(
        port,
        head(60 * mebibyte).replace('/datastreams/find_entries/timestamp', '/usercache/put') + ' '.repeat(mebibyte),
      ),
    );
  const loop = async (work) => {
    while (!stop.now) {
      await work();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  await Promise.all(works.map(loop));
  for (const socket of sockets) socket.destroy();
  agent.destroy();
  parentPort.postMessage(sent + sockets.length);
}

function held(port, text) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(text);
  return socket;
}

if (!isMainThread && workerData?.port !== undefined) await attackUntilStopped(workerData);
