// A server with several workers reads large bodies in a process of its own, so that small calls do not wait behind
// them: workers pass such requests on to it, over a socket that only this server's user can open.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
 * A path in a new folder, which only the user of this process can enter. Throws where there can be no temporary files,
 * or their folder has too long a name.
 */
export async function makeSocketPath(): Promise<SocketPath> {
  if (process.platform === 'win32') {
    return { path: `\\\\.\\pipe\\mobility-${crypto.randomUUID()}`, remove: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), 'mobility-'));
  const path = join(folder, 'large');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  if (Buffer.byteLength(path) <= longestPath) return { path, remove };
  await remove();
  throw new Error(`expected a path of at most ${longestPath} bytes for it, found ${path}; set TMPDIR to a shorter one`);
}

/** True for a request whose body is large, or may be: one without a length. */
export function isLarge({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] !== undefined;
  return Number(length) * (headers['content-encoding'] === undefined ? 1 : usualCompression) > strangersLimit;
}

/**
 * What became of a request that was to be passed on: answered, whether its caller still is there or not; `unreachable`:
 * nothing of it was read; `lost`: the other process ended while it read.
 */
export type Passed = 'answered' | 'unreachable' | 'lost';

/** Passes a request on to the process that listens at the path, and its answer back. */
export async function passOn(path: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<Passed> {
  const connection = await connected(path);
  if (connection === null) return 'unreachable';
  if (outgoing.destroyed) {
    connection.destroy();
    return 'answered';
  }
  const request = requestLike(incoming, connection);
  if (request === null) return 'unreachable';
  return new Promise((resolve) => {
    const end = (passed: Passed): void => {
      incoming.unpipe(request);
      connection.destroy();
      resolve(passed);
    };
    request.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode!, headersOf(answer.rawHeaders, 'transfer-encoding'));
      answer.on('error', () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    request.on('error', () => {
      if (!outgoing.headersSent) end('lost'); // else the answer is on its way, and ends or breaks off by itself
    });
    outgoing.on('close', () => end('answered'));
    request.flushHeaders(); // a caller can be refused before the first byte of the body
    incoming.pipe(request);
  });
}

/** The same request over that connection, without its body; null where Node reads such a one but does not write it. */
function requestLike(incoming: IncomingMessage, connection: Socket): ClientRequest | null {
  const headers = headersOf(incoming.rawHeaders);
  if (incoming.headers.host === undefined) headers.push('Host', 'localhost'); // HTTP/1.0 need not name one
  // With `keep-alive` the other side reads the rest of a body that it has refused, for as long as it would for a phone.
  headers.push('Connection', 'keep-alive');
  try {
    const { method, url: path } = incoming;
    return httpRequest({ createConnection: () => connection, method, path, headers });
  } catch {
    connection.destroy();
    return null;
  }
}

/** A connection to the path; null where nobody listens. */
async function connected(path: string): Promise<Socket | null> {
  const connection = connect(path);
  try {
    await once(connection, 'connect');
    return connection;
  } catch {
    connection.destroy();
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
