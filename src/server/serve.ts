// Listens for an app, within limits on time and headers, and closes so that no running call is cut off.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { MobilityError } from '../model/errors.ts';
import type { ServerEnv } from './call.ts';
import { LiveSet } from './live-set.ts';

const requestTimeout = 300_000; // ms for a whole request: a phone on a thin line sends its 6 MB with 20 kB/s
const headersTimeout = 20_000; // ms for the headers
const keepAliveTimeout = 65_000; // ms that an idle connection stays, longer than proxies keep theirs
const maxHeaderSize = 16 * 1024; // bytes
const connectionsCheck = 5_000; // ms between looks for requests that are late
const progressCheck = 5_000; // ms between looks for answers that nobody reads
const idleCheck = 25; // ms between looks for connections that have become idle while closing

/** How an app is bound to a port. */
export interface ServeOptions {
  app: Hono<ServerEnv>;
  host: string;
  /** 0: any free one. */
  port: number;
  /** Of a socket to listen on, in place of host and port. */
  path?: string;
  /** s that `close` waits for running calls before it cuts them off. */
  drainSeconds: number;
  /** Connections open at once; more are refused, idle ones make room. Default 5,000. */
  maxConnections?: number;
  /** s after which an answer that its caller does not read is ended. Default 60. */
  stallSeconds?: number;
}

/** A server that listens. */
export interface Serving {
  host: string;
  /** The port it listens on. */
  port: number;
  /**
   * Stops accepting and resolves when running calls have their answers, or `drainSeconds` have passed. Can be repeated.
   */
  close(): Promise<void>;
}

/** What an app returns for a request whose answer is written by other means. */
export const alreadySent = RESPONSE_ALREADY_SENT;

/** Resolves when the server listens. Throws `MOBILITY_CONFIG` when it cannot listen on that host and port. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { app, host, drainSeconds, maxConnections = 5_000, stallSeconds = 60 } = options;
  const running = new LiveSet<ServerResponse>();
  let closing: Promise<void> | null = null;
  const listener = getRequestListener((request, env) => app.fetch(request, env as ServerEnv['Bindings']), {
    hostname: 'localhost', // for requests of HTTP/1.0, which need not name one
    errorHandler: refuseRequest,
  });
  const limits = {
    requestTimeout,
    headersTimeout,
    keepAliveTimeout,
    // A worker that passes a request on adds to its headers.
    maxHeaderSize: options.path === undefined ? maxHeaderSize : 2 * maxHeaderSize,
    connectionsCheckingInterval: connectionsCheck,
  };
  const server = createServer(limits, (incoming, outgoing) => {
    outgoing.on('close', running.add(outgoing));
    if (closing !== null) outgoing.shouldKeepAlive = false;
    void listener(incoming, outgoing);
  });
  // Those of a path are of workers, which have their own limit each.
  if (options.path === undefined) server.maxConnections = maxConnections;
  server.on('drop', () => server.closeIdleConnections());
  const stalled = setInterval(endStalled(running, stallSeconds), Math.min(progressCheck, stallSeconds * 500));
  server.on('close', () => clearInterval(stalled));
  try {
    await listen(server, options);
  } catch (error) {
    clearInterval(stalled);
    throw error;
  }
  return {
    host,
    port: options.path === undefined ? (server.address() as AddressInfo).port : options.port,
    close: () => {
      closing ??= drain(server, running, drainSeconds);
      return closing;
    },
  };
}

/** Throws `MOBILITY_CONFIG` when nothing can listen on that host and port; leaves them free. */
export async function checkAddress(address: Address): Promise<void> {
  const server = createServer();
  await listen(server, address);
  await new Promise((resolve) => server.close(resolve));
}

type Address = Pick<ServeOptions, 'host' | 'port' | 'path'>;

async function listen(server: Server, { host, port, path }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message;
      const text =
        path === undefined
          ? `expected to listen on ${host} port ${port}: ${why}; give another address with --host and --port`
          : `expected to listen on the socket ${path}: ${why}; name another folder for temporary files with TMPDIR`;
      reject(new MobilityError('MOBILITY_CONFIG', text, { cause: error }));
    });
    // Exclusive: connections to the path come here, not through the primary.
    server.listen(path === undefined ? { host, port } : { path, exclusive: true }, resolve);
  });
}

/**
 * Ends the connections of answers of which the caller has taken nothing for so long. Made once; called again and again.
 */
function endStalled(running: Iterable<ServerResponse>, seconds: number): () => void {
  const seen = new WeakMap<ServerResponse, { written: number; since: number }>();
  return () => {
    const now = performance.now();
    for (const outgoing of running) {
      const { socket } = outgoing;
      // What waits to be sent is what is not read: an answer that is still being made holds up nobody.
      if (socket === null || socket.writableLength === 0) {
        seen.delete(outgoing);
        continue;
      }
      const before = seen.get(outgoing);
      if (before === undefined || before.written !== socket.bytesWritten) {
        seen.set(outgoing, { written: socket.bytesWritten, since: now });
      } else if (now - before.since >= seconds * 1000) {
        socket.destroy();
      }
    }
  };
}

async function drain(server: Server, running: Iterable<ServerResponse>, seconds: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const outgoing of running) outgoing.shouldKeepAlive = false;
  const idle = setInterval(() => server.closeIdleConnections(), idleCheck);
  const deadline = setTimeout(() => server.closeAllConnections(), seconds * 1000);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
}

/** The answer where no app answers: to what is not even a request, such as a bad Host header. */
function refuseRequest(error: unknown): Response {
  const bad = error instanceof Error && error.name === 'RequestError';
  const problem = bad
    ? {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: 'expected a request with a valid target and Host',
      }
    : { type: 'about:blank', title: 'Internal Server Error', status: 500, detail: 'the server failed' };
  const headers = { 'Content-Type': 'application/problem+json' };
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}
