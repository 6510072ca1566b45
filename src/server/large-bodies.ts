// A server with several workers reads large bodies in a process of its own, so that small calls do not wait behind
// them: workers pass such requests on to it, over a socket that only this server's user can open.
import { once } from 'node:events';
import { lstatSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MobilityError } from '../model/errors.ts';
import { strangersLimit } from './read-body.ts';

/** How many times smaller than what it holds a compressed body may be: batches of phones compress about ten to one. */
const usualCompression = 10;

/** Headers about one connection, not about the request or its answer (RFC 9110, 7.6.1), and those that Node writes. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'date',
  'expect', // answered with 100 here
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

/** Bytes that all systems allow the path of a socket; Linux has room for 107. */
const longestPath = 100;

/** The path of a socket, and the function that removes it. */
export interface SocketPath {
  path: string;
  remove(): Promise<void>;
}

/**
 * A path in a new folder, which only the user of this process can enter. Throws where nothing can listen there: no
 * temporary files, too long a name, a file system without sockets.
 */
export async function makeSocketPath(): Promise<SocketPath> {
  if (process.platform === 'win32') {
    return { path: `\\\\.\\pipe\\mobility-${crypto.randomUUID()}`, remove: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), 'mobility-'));
  const path = join(folder, 'large');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    if (Buffer.byteLength(path) > longestPath) throw new Error(`${path} has more than ${longestPath} bytes`);
    const server = createServer().listen(path);
    await once(server, 'listening');
    await new Promise((resolve) => server.close(resolve));
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Makes room to listen at the path, where a killed process may have left its socket. Where the primary process was
 * killed, removes the folder when this one ends. Throws `MOBILITY_CONFIG` where the folder is somebody else's.
 */
export async function prepareSocket(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = dirname(path);
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!isOwn(folder)) {
    const text = `expected ${folder} to be open to this user alone; found another folder`;
    throw new MobilityError('MOBILITY_CONFIG', text);
  }
  await rm(path, { force: true });
  process.once('exit', () => {
    // While the primary lives, workers use the folder, and nobody else may make one of its name.
    if (!process.connected) rmSync(folder, { recursive: true, force: true });
  });
}

/**
 * True for a folder that only the user of this process can enter. Asked before each request is passed on: where a
 * program that clears temporary files took the folder, somebody else may have made it again.
 */
function isOwn(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.geteuid?.() && (found.mode & 0o077) === 0;
}

/** True for a request whose body is large, or may be: one without a length. No route reads the body of a GET. */
export function isLarge({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] !== undefined;
  return Number(length) * (headers['content-encoding'] === undefined ? 1 : usualCompression) > strangersLimit;
}

/**
 * What became of a request that was to be passed on: answered, whether its caller still is there or not; `unreachable`:
 * nothing of its body was read; `lost`: the other process ended while it read.
 */
export type Passed = 'answered' | 'unreachable' | 'lost';

/** Passes a request on, and its answer back. */
export type PassOn = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<Passed>;

/** ms that a connection to the other process stays without a request; it would close one after a longer time. */
const idleTime = 10_000;

/** Passes requests on to the process that listens at the path, and its answers back. */
export function createPasser(path: string): PassOn {
  const folder = dirname(path);
  // Kept connections: that process accepts one in a turn of its event loop, and its turns are long.
  const agent = new Agent({ keepAlive: true, timeout: idleTime });
  return function passOn(incoming, outgoing) {
    return new Promise((resolve) => {
      if (outgoing.destroyed) return resolve('answered');
      if (process.platform !== 'win32' && !isOwn(folder)) return resolve('unreachable');
      const request = requestLike(incoming, { agent, socketPath: path });
      if (request === null) return resolve('unreachable');
      const begin = (): void => {
        // The headers at once: a caller can be refused before the first byte of the body. As `flushHeaders`, which
        // writes those in Latin-1 as UTF-8.
        request.write('', 'latin1');
        incoming.pipe(request);
      };
      const { socket: phone } = incoming;
      const end = (passed: Passed): void => {
        phone.off('close', leave);
        incoming.unpipe(request);
        if (!isComplete) request.destroy();
        resolve(passed);
      };
      const leave = (): void => end('answered');
      let isComplete = false;
      request.on('socket', (socket) => {
        if (socket.connecting) socket.once('connect', begin);
        else begin();
      });
      request.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode!, headersOf(answer.rawHeaders, 'transfer-encoding'));
        answer.on('error', () => outgoing.destroy());
        answer.on('end', () => {
          isComplete = incoming.readableEnded;
        });
        answer.pipe(outgoing);
      });
      request.on('error', () => {
        if (outgoing.headersSent) return; // the answer is on its way, and ends or breaks off by itself
        end(incoming.readableDidRead ? 'lost' : 'unreachable');
      });
      outgoing.on('close', leave);
      // The answer to a request that came while the one before it was not answered has no connection yet to tell of.
      // Any number of such requests may wait.
      phone.setMaxListeners(0).once('close', leave);
    });
  };
}

/** The same request without its body; null where Node reads such a one but does not write it. */
function requestLike(
  incoming: IncomingMessage,
  to: Pick<RequestOptions, 'agent' | 'socketPath'>,
): ClientRequest | null {
  const headers = headersOf(incoming.rawHeaders);
  if (incoming.headers.host === undefined) headers.push('Host', 'localhost'); // HTTP/1.0 need not name one
  headers.push('Connection', 'keep-alive');
  try {
    const { method, url: path } = incoming;
    return httpRequest({ ...to, method, path, headers });
  } catch {
    return null;
  }
}

/** Names and values in turns, as they came, without those that concern one connection. */
function headersOf(raw: readonly string[], also?: string): string[] {
  const headers: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    if (!hopByHop.has(name) && name !== also) headers.push(raw[i]!, raw[i + 1]!);
  }
  return headers;
}
