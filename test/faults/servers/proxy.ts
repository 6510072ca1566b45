// A proxy between the program and MongoDB that cuts connections on request of the test.
import { createServer, connect as dial, type Socket } from 'node:net';

/** What happens to a piece of data, and to its connection. */
type Decide = () => 'pass' | 'cut' | 'pass and cut';

export interface CuttingProxy {
  /** The same address, through the proxy. */
  through(address: string): string;
  /** Decides about each piece from now on; null: everything passes. */
  decide(decide: Decide | null): void;
  /** Connections cut by decisions so far. */
  cuts(): number;
  close(): Promise<void>;
}

/** Starts a proxy to the server of the address, which must name one host. */
export async function startProxy(address: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(address);
  const open = new Set<() => void>();
  let decide: Decide | null = null;
  let cuts = 0;
  const listener = createServer((client) => {
    const server = dial(Number(port), hostname);
    const cut = (): void => {
      open.delete(cut);
      client.destroy();
      server.destroy();
    };
    open.add(cut);
    const carry = (from: Socket, to: Socket): void => {
      from.on('data', (piece: Buffer) => {
        const fate = decide?.() ?? 'pass';
        if (fate === 'cut') cut();
        else to.write(piece, fate === 'pass' ? undefined : cut);
        if (fate !== 'pass') cuts += 1;
      });
      from.on('close', cut);
      from.on('error', cut);
    };
    carry(client, server);
    carry(server, client);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port: local } = listener.address() as { port: number };
  return {
    // A driver that knows the members of a set would go past the proxy.
    through: (original) => {
      const url = new URL(original);
      url.port = String(local);
      url.searchParams.delete('replicaSet');
      url.searchParams.set('directConnection', 'true');
      return url.href;
    },
    decide: (next) => {
      decide = next;
    },
    cuts: () => cuts,
    close: () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const cut of [...open]) cut();
      return closed;
    },
  };
}
