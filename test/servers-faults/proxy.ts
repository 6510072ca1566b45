// A proxy between the program and MongoDB that cuts connections, or falls silent, when the test says so.
import { createServer, connect as dial, type Socket } from 'node:net';

/** What becomes of a piece of data on its way, and of its connection. */
export type Fate = 'pass' | 'cut' | 'pass and cut' | 'silence';

export interface CuttingProxy {
  /** The same address, through the proxy. */
  through(address: string): string;
  /** Decides about each piece from now on; null: everything passes. */
  decide(fate: ((direction: 'to server' | 'to client', piece: Buffer) => Fate) | null): void;
  /** Connections cut so far. */
  readonly cuts: number;
  /** Cuts every connection. */
  cutAll(): void;
  close(): Promise<void>;
}

/** Starts a proxy to the server of the address, which must name one host. */
export async function startProxy(address: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(address);
  const open = new Set<() => void>();
  let decide: ((direction: 'to server' | 'to client', piece: Buffer) => Fate) | null = null;
  let cuts = 0;
  const listener = createServer((client) => {
    const server = dial(Number(port), hostname);
    const cut = (): void => {
      open.delete(cut);
      client.destroy();
      server.destroy();
    };
    open.add(cut);
    const carry = (from: Socket, to: Socket, direction: 'to server' | 'to client'): void => {
      let silent = false;
      from.on('data', (piece: Buffer) => {
        const fate = silent ? 'silence' : (decide?.(direction, piece) ?? 'pass');
        silent ||= fate === 'silence';
        if (fate === 'pass') to.write(piece);
        if (fate === 'pass and cut') to.write(piece, cut);
        if (fate === 'cut') cut();
        if (fate === 'cut' || fate === 'pass and cut') cuts += 1;
      });
      from.on('close', cut);
      from.on('error', cut);
    };
    carry(client, server, 'to server');
    carry(server, client, 'to client');
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const own = listener.address() as { port: number };
  return {
    // A driver that knows the members of a set would go past the proxy.
    through: (original) => {
      const url = new URL(original);
      url.port = String(own.port);
      url.searchParams.delete('replicaSet');
      url.searchParams.set('directConnection', 'true');
      return url.href;
    },
    decide: (fate) => {
      decide = fate;
    },
    get cuts() {
      return cuts;
    },
    cutAll: () => {
      for (const cut of [...open]) cut();
    },
    close: async () => {
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const cut of [...open]) cut();
      await closed;
    },
  };
}
