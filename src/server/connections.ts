// The connections of a server: one call of each at a time, and room for those that send.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { BlockList, Socket } from 'node:net';

/** Calls that a connection may send ahead while its first one is not answered: no phone or proxy sends any. */
const mostAhead = 8;

// ms for the headers of a request, and when more than half of the connections are taken.
const headersTimeout = { usual: 20_000, crowded: 5_000 };

/** How many connections may be open. */
export interface ConnectionLimits {
  /** In all; when they are nearly reached, the oldest without a call make room. */
  most: number;
  /** From one address that is not in `proxies`. */
  mostPerAddress: number;
  proxies: BlockList;
}

/** Tracks connections and their calls. */
export class Connections {
  /**
   * Of each connection with a call that is not answered: the calls that wait for it, and how many were sent ahead since
   * it was without a call. The oldest connection first.
   */
  readonly #busy = new Map<Socket, { waiting: (() => void)[]; ahead: number }>();
  /** Connections without a call, the oldest first. */
  readonly #idle = new Set<Socket>();
  /** Connections by address. */
  readonly #from = new Map<string, number>();
  readonly #server: Server;
  readonly #limits: ConnectionLimits;

  constructor(server: Server, limits: ConnectionLimits) {
    this.#server = server;
    this.#limits = limits;
    server.maxConnections = limits.most;
    server.on('connection', (socket: Socket) => this.#open(socket));
    this.#setTimeout();
  }

  /** Starts a call when the calls of its connection before it have been answered. */
  start(incoming: IncomingMessage, outgoing: ServerResponse, call: () => void): void {
    const { socket } = incoming;
    const busy = this.#busy.get(socket);
    outgoing.on('close', () => this.#next(socket));
    if (busy === undefined) {
      this.#idle.delete(socket);
      this.#busy.set(socket, { waiting: [], ahead: 0 });
      call();
    } else if (busy.ahead >= mostAhead) {
      socket.destroy();
    } else {
      busy.ahead += 1;
      busy.waiting.push(call);
      socket.pause();
    }
  }

  /** True if a call of the connection is not answered. */
  isBusy(socket: Socket): boolean {
    return this.#busy.has(socket);
  }

  #open(socket: Socket): void {
    const { remoteAddress: address = '', remoteFamily } = socket;
    const isProxy = address === '' || this.#limits.proxies.check(address, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
    const count = this.#from.get(address) ?? 0;
    if (!isProxy && count >= this.#limits.mostPerAddress) {
      socket.destroy();
      return;
    }
    this.#from.set(address, count + 1);
    this.#idle.add(socket);
    socket.on('close', () => this.#close(socket, address));
    this.#setTimeout();
    if (this.#size() <= this.#limits.most * 0.9) return;
    for (const oldest of this.#idle) {
      if (oldest !== socket) oldest.destroy();
      return;
    }
  }

  #close(socket: Socket, address: string): void {
    this.#idle.delete(socket);
    this.#busy.delete(socket);
    const left = this.#from.get(address)! - 1;
    if (left > 0) this.#from.set(address, left);
    else this.#from.delete(address);
    this.#setTimeout();
  }

  #size(): number {
    return this.#busy.size + this.#idle.size;
  }

  #setTimeout(): void {
    this.#server.headersTimeout = headersTimeout[this.#size() > this.#limits.most / 2 ? 'crowded' : 'usual'];
  }

  #next(socket: Socket): void {
    const busy = this.#busy.get(socket);
    if (busy === undefined) return;
    const next = busy.waiting.shift();
    if (next === undefined) {
      this.#busy.delete(socket);
      if (!socket.destroyed) this.#idle.add(socket);
    }
    if (busy.waiting.length === 0) socket.resume();
    next?.();
  }
}
