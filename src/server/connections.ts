// Manages the connections of a server: runs the calls of a connection one after another, and closes idle connections if
// there are too many.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { BlockList, Socket } from 'node:net';

const mostAhead = 8; // calls before the first call is answered; phones and proxies wait for each answer

// ms for the headers of a request; `crowded`: when more than half of the connections are in use.
const headersTimeout = { usual: 20_000, crowded: 5_000 };

/**
 * Allows at most `most` connections, and a tenth of them from one address that is not in `proxies`. Beyond 90 % of
 * `most`, each new connection closes the oldest connection without a call.
 */
export class Connections {
  /**
   * Connections with an unanswered call. `waiting`: functions that start the calls sent ahead of its answer. `ahead`:
   * the number of calls sent ahead since the connection was last without a call.
   */
  readonly #busy = new Map<Socket, { waiting: (() => void)[]; ahead: number }>();
  readonly #idle = new Set<Socket>(); // connections without a call, the oldest first
  readonly #perAddress = new Map<string, number>();
  readonly #server: Server;
  readonly #most: number;
  readonly #proxies: BlockList;

  constructor(server: Server, most: number, proxies: BlockList) {
    this.#server = server;
    this.#most = most;
    this.#proxies = proxies;
    server.maxConnections = most;
    server.on('connection', (socket: Socket) => this.#open(socket));
    this.#setTimeout();
  }

  /** Starts a call when the earlier calls of its connection have been answered. */
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

  isBusy(socket: Socket): boolean {
    return this.#busy.has(socket);
  }

  #open(socket: Socket): void {
    const { remoteAddress: address = '', remoteFamily } = socket;
    const isProxy = address === '' || this.#proxies.check(address, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
    const count = this.#perAddress.get(address) ?? 0;
    if (!isProxy && count >= this.#most / 10) {
      socket.destroy();
      return;
    }
    this.#perAddress.set(address, count + 1);
    this.#idle.add(socket);
    socket.on('close', () => this.#close(socket, address));
    this.#setTimeout();
    const [oldest] = this.#idle;
    if (this.#size() > this.#most * 0.9 && oldest !== socket) oldest?.destroy();
  }

  #close(socket: Socket, address: string): void {
    this.#idle.delete(socket);
    this.#busy.delete(socket);
    const left = this.#perAddress.get(address)! - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
    this.#setTimeout();
  }

  #size(): number {
    return this.#busy.size + this.#idle.size;
  }

  #setTimeout(): void {
    this.#server.headersTimeout = headersTimeout[this.#size() > this.#most / 2 ? 'crowded' : 'usual'];
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
