// Listens for an app, within limits on time, headers and connections, and closes so that no running call is cut off.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type BlockList, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { MobilityError } from '../model/mobility-error.ts';
import { privateNetworks } from '../model/networks.ts';
import type { ServerEnv } from './call.ts';
import { Connections } from './connections.ts';
import { badRequest, problemOf, problemResponse } from './problem.ts';

const requestTimeout = 300_000; // ms for a whole request: a phone on a thin line sends its 6 MB with 20 kB/s
const keepAliveTimeout = 65_000; // ms that an idle connection stays, longer than proxies keep theirs
const maxHeaderSize = 16 * 1024; // bytes
const connectionsCheck = 5_000; // ms between checks for requests that are late
const lingerTime = 1_000; // ms that a caller may send on after the last answer of a connection
const idleCheck = 25; // ms between checks for connections that have become idle while closing

/** How an app is bound to a port. */
export interface ServeOptions {
  app: Hono<ServerEnv>;
  host: string;
  /** 0: any free one. */
  port: number;
  /** s that `close` waits for running calls before it cuts them off. */
  drainSeconds: number;
  /** Connections open at once; idle ones make room. Default 5,000, which take some 100 MiB. */
  maxConnections?: number;
  /** Connections open at once from one address that is not in `proxies`. Default: a tenth of `maxConnections`. */
  maxPerAddress?: number;
  /** Default: this machine and private networks. */
  proxies?: BlockList;
  /** s after which an answer that its caller does not read is ended. Default 60. */
  stallSeconds?: number;
}

/** A server that listens. */
export interface Serving {
  /** The port it listens on. */
  port: number;
  /**
   * Stops accepting and resolves when running calls have their answers, or `drainSeconds` have passed. Can be repeated.
   */
  close(): Promise<void>;
}

/** Resolves when the server listens. Throws `MOBILITY_CONFIG` if it cannot listen on that host and port. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { app, drainSeconds, maxConnections: most = 5_000, stallSeconds = 60 } = options;
  const { maxPerAddress: mostPerAddress = Math.ceil(most / 10), proxies = privateNetworks } = options;
  const running = new Set<ServerResponse>();
  let closing: Promise<void> | null = null;
  const listener = getRequestListener((request, env) => app.fetch(request, env as ServerEnv['Bindings']), {
    hostname: 'localhost', // for requests of HTTP/1.0, which need not name one
    errorHandler: refuseRequest,
  });
  const limits = { requestTimeout, keepAliveTimeout, maxHeaderSize };
  const server = createServer({ ...limits, connectionsCheckingInterval: connectionsCheck }, (incoming, outgoing) => {
    running.add(outgoing);
    outgoing.on('close', () => running.delete(outgoing));
    if (closing !== null) outgoing.shouldKeepAlive = false;
    closeGently(incoming);
    connections.start(incoming, outgoing, () => void listener(incoming, outgoing));
  });
  const connections = new Connections(server, { most, mostPerAddress, proxies });
  // Without progress for so long: an answer that its caller does not read, or an idle connection; not a call that is
  // being worked on.
  server.setTimeout(stallSeconds * 1000, (socket) => {
    if (socket.writableLength > 0 || !connections.isBusy(socket)) socket.destroy();
  });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      closing ??= drain(server, running, drainSeconds);
      return closing;
    },
  };
}

/**
 * Node closes a connection as soon as its last answer is written. If its caller still sends a body that was refused,
 * the system resets the connection, and the answer is lost. Here the rest is read and dropped for a while.
 */
function closeGently(incoming: IncomingMessage): void {
  const { socket } = incoming;
  const close = Socket.prototype.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (incoming.complete || socket.destroyed) return close();
    socket.end();
    incoming.resume();
    const timer = setTimeout(() => socket.destroy(), lingerTime);
    incoming.once('end', close);
    socket.once('close', () => clearTimeout(timer));
  };
}

type Address = Pick<ServeOptions, 'host' | 'port'>;

/** Throws `MOBILITY_CONFIG` if nothing can listen on that host and port; leaves them free. */
export async function checkAddress(address: Address): Promise<void> {
  const server = createServer();
  await listen(server, address);
  await new Promise((resolve) => server.close(resolve));
}

async function listen(server: Server, { host, port }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message;
      const text = `expected to listen on ${host} port ${port}: ${why}; give another address with --host and --port`;
      reject(new MobilityError('MOBILITY_CONFIG', text, { cause: error }));
    });
    server.listen({ host, port }, resolve);
  });
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

/** The answer to what is not even a request, such as one with a bad Host header: it has no id. */
function refuseRequest(error: unknown): Response {
  const isBad = error instanceof Error && error.name === 'RequestError';
  return problemResponse(isBad ? badRequest('expected a request with a valid target and Host') : problemOf(error), '');
}
