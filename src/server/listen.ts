// Binds an app to a port with limits on time, headers and connections.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type BlockList, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { MobilityError } from '../model/mobility-error.ts';
import { privateNetworks } from '../model/networks.ts';
import type { ServerEnv } from './call.ts';
import { badRequest, problemOf, problemResponse } from './problem.ts';

const requestTimeout = 300_000; // ms for a whole request: a slow phone sends its 6 MB at 20 kB/s
const keepAliveTimeout = 65_000; // ms until an idle connection is closed; most proxies close earlier
const maxHeaderSize = 16 * 1024; // bytes
const connectionsCheckingInterval = 5_000; // ms between checks for late requests
const lingerTime = 1_000; // ms for which a caller may still send after the last answer
const idleCheck = 25; // ms between checks for idle connections while closing

export interface ServeOptions {
  app: Hono<ServerEnv>;
  host: string;
  port: number; // 0: any free port
  drainSeconds: number; // how long `close` waits for running calls before it cuts them off
  maxConnections?: number; // see `limitConnections`; the default 5,000 take about 100 MiB
  proxies?: BlockList; // default: this machine and private networks
  stallSeconds?: number; // a caller who reads nothing of the answer for so long is cut off; default 60
}

export interface Serving {
  port: number;
  /** Resolves when running calls have their answers, or after `drainSeconds`. May be repeated. */
  close(): Promise<void>;
}

/** Resolves when the server listens. Throws `MOBILITY_CONFIG` if it cannot. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { app, drainSeconds, maxConnections: most = 5_000, stallSeconds = 60 } = options;
  const running = new Set<ServerResponse>();
  let closing: Promise<void> | null = null;
  const listener = getRequestListener((request, env) => app.fetch(request, env as ServerEnv['Bindings']), {
    hostname: 'localhost', // for requests of HTTP/1.0, which may have no Host header
    errorHandler: refuseRequest,
  });
  const limits = { requestTimeout, keepAliveTimeout, maxHeaderSize, connectionsCheckingInterval };
  const server = createServer(limits, (incoming, outgoing) => {
    running.add(outgoing);
    outgoing.on('close', () => running.delete(outgoing));
    if (closing !== null) outgoing.shouldKeepAlive = false;
    closeGently(incoming);
    connections.start(incoming, outgoing, () => void listener(incoming, outgoing));
  });
  const connections = limitConnections(server, most, options.proxies ?? privateNetworks);
  // Runs for a socket on which no byte moved for `stallSeconds`. Closes the socket if the caller
  // does not read the answer, or if no call is in progress.
  server.setTimeout(stallSeconds * 1000, (socket) => {
    if (socket.writableLength > 0 || !connections.isBusy(socket)) socket.destroy();
  });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => (closing ??= drain(server, running, drainSeconds, connections.closeIdle)),
  };
}

// Node closes a connection as soon as its last answer is written. If the caller is still sending a
// refused body, the answer is then lost. So the server drops the rest of the body for `lingerTime`.
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

/** Throws `MOBILITY_CONFIG` if a server cannot listen at the address. Does not keep the port. */
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

async function drain(server: Server, running: Iterable<ServerResponse>, seconds: number, closeIdle: () => void) {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const outgoing of running) outgoing.shouldKeepAlive = false;
  const idle = setInterval(closeIdle, idleCheck);
  const deadline = setTimeout(() => server.closeAllConnections(), seconds * 1000);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
}

/** Answers an invalid request, such as a bad Host header. The answer has no request id. */
function refuseRequest(error: unknown): Response {
  const isBad = error instanceof Error && error.name === 'RequestError';
  return problemResponse(
    isBad ? badRequest('expected a valid target and Host, found an invalid one') : problemOf(error),
    '',
  );
}

const mostAhead = 8; // calls that may wait on a connection while an earlier call runs; phones send none

// ms until the headers must have arrived; `crowded`: more than half of the connections are in use
const headersTimeout = { usual: 20_000, crowded: 5_000 };

/**
 * Runs the calls of a connection one after another, and closes idle connections if there are too
 * many. Allows at most `most` connections, and a tenth of them from one address that is not in `proxies`.
 * Beyond 90 % of `most`, each new connection closes the connection that has been idle for longest.
 */
function limitConnections(server: Server, most: number, proxies: BlockList) {
  // Connections with an unanswered call. `waiting` has functions that start the further calls that
  // have arrived. `ahead` is the number of further calls since the connection was last idle.
  const busy = new Map<Socket, { waiting: (() => void)[]; ahead: number }>();
  const idle = new Set<Socket>(); // connections without a call, the oldest first
  const perAddress = new Map<string, number>();
  const size = (): number => busy.size + idle.size;
  const adaptTimeout = (): void => {
    server.headersTimeout = headersTimeout[size() > most / 2 ? 'crowded' : 'usual'];
  };
  adaptTimeout();
  server.maxConnections = most;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address = '', remoteFamily } = socket;
    const isProxy = address === '' || proxies.check(address, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
    const count = perAddress.get(address) ?? 0;
    if (!isProxy && count >= most / 10) return socket.destroy();
    perAddress.set(address, count + 1);
    idle.add(socket);
    socket.on('close', () => {
      idle.delete(socket);
      busy.delete(socket);
      const left = perAddress.get(address)! - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
      adaptTimeout();
    });
    adaptTimeout();
    const [oldest] = idle;
    if (size() > most * 0.9 && oldest !== socket) oldest?.destroy();
  });
  const startNext = (socket: Socket): void => {
    const calls = busy.get(socket);
    if (calls === undefined) return;
    const next = calls.waiting.shift();
    if (next === undefined) {
      busy.delete(socket);
      if (!socket.destroyed) idle.add(socket);
    }
    if (calls.waiting.length === 0) socket.resume();
    next?.();
  };
  return {
    isBusy: (socket: Socket): boolean => busy.has(socket),
    // Node's `closeIdleConnections` keeps connections without a first call. Browsers open them in advance.
    closeIdle(): void {
      for (const socket of idle) if (!socket.writableEnded) socket.destroy();
    },
    start({ socket }: IncomingMessage, outgoing: ServerResponse, call: () => void): void {
      const calls = busy.get(socket);
      outgoing.on('close', () => startNext(socket));
      if (calls === undefined) {
        idle.delete(socket);
        busy.set(socket, { waiting: [], ahead: 0 });
        call();
      } else if (calls.ahead >= mostAhead) {
        socket.destroy();
      } else {
        calls.ahead += 1;
        calls.waiting.push(call);
        socket.pause();
      }
    },
  };
}
