// The connections of a server: one call of each at a time, and room for those that send.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Calls that a connection may send ahead while its first one is not answered: no phone or proxy sends any. */
const mostAhead = 8;

/** Tracks connections and their calls. */
export class Connections {
  /** Of each connection with a call that is not answered: the calls that wait for it. The oldest connection first. */
  readonly #busy = new Map<Socket, (() => void)[]>();
  /** Connections without a call, the oldest first. */
  readonly #idle = new Set<Socket>();
  readonly #most: number;

  /** `most`: connections open at once. When they are nearly reached, the oldest without a call make room. */
  constructor(server: Server, most: number) {
    this.#most = most;
    server.maxConnections = most;
    server.on('connection', (socket: Socket) => this.#open(socket));
  }

  /** Starts a call when the calls of its connection before it have been answered. */
  start(incoming: IncomingMessage, outgoing: ServerResponse, call: () => void): void {
    const { socket } = incoming;
    const ahead = this.#busy.get(socket);
    outgoing.on('close', () => this.#next(socket));
    if (ahead === undefined) {
      this.#idle.delete(socket);
      this.#busy.set(socket, []);
      call();
    } else if (ahead.length >= mostAhead) {
      socket.destroy();
    } else {
      ahead.push(call);
      socket.pause();
    }
  }

  /** True if a call of the connection is not answered. */
  isBusy(socket: Socket): boolean {
    return this.#busy.has(socket);
  }

  #open(socket: Socket): void {
    this.#idle.add(socket);
    socket.on('close', () => {
      this.#idle.delete(socket);
      this.#busy.delete(socket);
    });
    if (this.#busy.size + this.#idle.size <= this.#most * 0.9) return;
    for (const oldest of this.#idle) {
      if (oldest !== socket) oldest.destroy();
      return;
    }
  }

  #next(socket: Socket): void {
    const ahead = this.#busy.get(socket);
    if (ahead === undefined) return;
    const next = ahead.shift();
    if (next === undefined) {
      this.#busy.delete(socket);
      if (!socket.destroyed) this.#idle.add(socket);
    }
    if (ahead.length === 0) socket.resume();
    next?.();
  }
}
