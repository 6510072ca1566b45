// Runs the calls of a connection one after another, and closes idle connections if there are too
// many.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { BlockList, Socket } from 'node:net';

const mostAhead = 8; // calls that may wait on a connection while an earlier call runs; phones send none

// ms until the headers must have arrived; `crowded`: more than half of the connections are in use
const headersTimeout = { usual: 20_000, crowded: 5_000 };

/**
 * Allows at most `most` connections, and a tenth of them from one address that is not in `proxies`.
 * Beyond 90 % of `most`, each new connection closes the oldest connection without a call.
 */
export function limitConnections(server: Server, most: number, proxies: BlockList) {
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
