// Measures puts of other people while strangers and one hostile caller send bombs and misuse connections, on a server
// with a small heap; and reports processes that end.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { openStore } from '../dist/index.js';
import { against, bodyOf, createClient, inFolder, line, locations, ms, quantile, seconds, startServer } from './kit.js';

const heap = 700; // MiB of heap for each process
const target = 20; // times the idle p99
const mebibyte = 1024 * 1024;
const pause = 500; // ms between two requests of an attacker
const patience = 30_000; // ms after which a put counts as refused
const silent = 4_000; // connections that send nothing; more need a higher limit of open files

/** A body `{"user":…,"phone_to_server":[` with a piece repeated up to 63 MiB. It is small when compressed. */
const bombs = ['0,', '{},', '[],', 'NaN,', '{"a":1},', '[', '\u0001'];

function bombOf(piece, user, size) {
  const start = `{${user === null ? '' : `"user":"${user}",`}"phone_to_server":[`;
  const [open, end] = piece === '\u0001' ? ['"', '"]}'] : ['', '0]}'];
  return Buffer.from(start + open + piece.repeat(size / piece.length) + end);
}

/** Prints p99 of other people's puts before and during the attacks, and the memory of each process. */
export async function attack({ heapMiB = heap, duration = 30 } = {}) {
  console.log(`\nattack: 2 workers with ${heapMiB} MiB of heap, default settings, ${duration} s`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    for (const name of ['eve', 'mallory']) {
      const { user } = await store.users.register(name, { now: 1 });
      if (name === 'mallory') await store.profiles.merge(user.uuid, { note: 'x'.repeat(1_000_000) });
    }
    await store.close();
    const env = { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` };
    const server = await startServer(folder, { workers: 2, env, limits: true });
    // Strangers send from their own thread, so that their CPU is not counted for the server.
    const attackers = new Worker(new URL(import.meta.url), { workerData: { port: server.port } });
    await once(attackers, 'message'); // the bombs are compressed
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

/** Sends puts of 100 entries one after another, with a pause, for some seconds. */
async function putsFor(port, length, from) {
  const client = createClient(port, 2);
  const times = [];
  let refused = 0;
  const end = seconds() + length;
  for (let i = 0; seconds() < end; i++) {
    const body = bodyOf('eve', locations(100, from + i * 100));
    const began = seconds();
    const answer = client.post('/usercache/put', body);
    await Promise.race([answer, setTimeout(patience, undefined, { ref: false }).then(() => Promise.reject())]).then(
      () => times.push(seconds() - began),
      () => {
        refused += 1;
      },
    );
    await setTimeout(25); // stay below the rate limit of a caller
  }
  client.close();
  return { times, refused };
}

/** Runs in the thread of the attackers: compresses bombs, waits for a message, and sends until the next message. */
async function attackUntilStopped({ port }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  let [isOver, sent] = [false, 0];
  const post = (body, headers = {}) =>
    new Promise((resolve) => {
      sent += 1;
      const options = { port, host: '127.0.0.1', path: '/usercache/put', method: 'POST', agent };
      const call = request({ ...options, headers: { 'Content-Type': 'application/json', ...headers } }, (response) => {
        response.resume();
        response.on('close', resolve);
      });
      call.on('error', resolve);
      // A server that refuses a body closes the connection while the body is being sent; the error may come after the
      // call.
      call.on('socket', (socket) => socket.listenerCount('error') < 3 && socket.on('error', () => {}));
      call.setTimeout(patience, () => call.destroy());
      call.end(body);
    });
  const works = bombs.flatMap((piece) => {
    const zipped = [null, 'nobody', 'mallory'].map((user) => gzipSync(bombOf(piece, user, 63 * mebibyte)));
    const plain = [null, 'mallory'].map((user) => bombOf(piece, user, 4 * mebibyte));
    return [
      ...zipped.map((body) => () => post(body, { 'Content-Encoding': 'gzip' })),
      ...plain.map((body) => () => post(body)),
    ];
  });
  const started = once(parentPort, 'message');
  parentPort.postMessage('packed');
  await started;
  parentPort.once('message', () => {
    isOver = true;
  });
  const sockets = connectionsOf(port, () => isOver);
  const loop = async (work) => {
    while (!isOver) {
      await work();
      await setTimeout(pause);
    }
  };
  await Promise.all(works.map(loop));
  sockets.end();
  agent.destroy();
  parentPort.postMessage(sent + sockets.opened());
}

/** Calls sent ahead: with answers read or not, with a token or without, of fixed length or in chunks. */
function pipelines() {
  const head = (path, more) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;
  const profile = JSON.stringify({ user: 'mallory' });
  return {
    answers: 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n',
    profiles: `${head('/profile/get', `Content-Length: ${profile.length}`)}${profile}`,
    chunked: `${head('/usercache/put', 'Transfer-Encoding: chunked')}1\r\n{\r\n`,
  };
}

/**
 * Opens hostile connections, and opens each again when it is closed: unread answers, slow uploads, calls sent ahead,
 * and silent connections.
 */
function connectionsOf(port, isOver) {
  const body = JSON.stringify({ user: 'mallory', start_time: 0, end_time: 4e9 });
  const head = (path, length) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const { answers, profiles, chunked } = pipelines();
  const unread = head('/datastreams/find_entries/timestamp', body.length) + body;
  const slow = head('/usercache/put', 60 * mebibyte) + ' '.repeat(mebibyte);
  const kinds = [
    ...[unread, slow, chunked.repeat(500)].map((text) => ({ count: 30, text })),
    ...[answers, profiles].flatMap((call) => [
      { count: 30, text: call.repeat(8) }, // the most that a connection may send ahead
      { count: 10, text: call.repeat(1_600) },
      { count: 4, text: call.repeat(8), reads: true },
    ]),
    { count: silent, text: '' },
  ];
  const sockets = new Set();
  let opened = 0;
  const open = ({ text, reads = false }) => {
    if (isOver()) return;
    opened += 1;
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(pause).then(() => open({ text, reads }));
    });
    if (reads) socket.on('data', () => socket.writableLength === 0 && socket.write(text.slice(0, text.length / 8)));
    else socket.pause();
    if (text !== '') socket.write(text);
  };
  for (const { count, ...kind } of kinds) for (let i = 0; i < count; i++) open(kind);
  return {
    opened: () => opened,
    end: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

if (!isMainThread && workerData?.port !== undefined) await attackUntilStopped(workerData);
