// MongoDB servers for tests: one for each test file in a temporary folder, and those that MOBILITY_TEST_MONGODB names.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe } from 'vitest';
import type { MongoOptions } from '../../src/store/mongodb/connect.ts';
import { openMongoEngine } from '../../src/store/mongodb/mongodb-engine.ts';
import { storeOver } from '../../src/store/rules/build-store.ts';
import type { Store } from '../../src/store/store.ts';
import { atEnd, tempFolder } from '../support/clean-up.ts';
import { freePort } from '../support/free-port.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';
import type { Opened } from './contract.ts';
import { watch } from './watch.ts';

/** A running server. */
export interface TestServer {
  /** The address of a database on it, or of a new one for a test. */
  address(database?: string): string;
  /** The process behind it; null for a server that the tests did not start. */
  control: Control | null;
}

export interface Control {
  isRunning(): boolean;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same folder and port; resolves when it answers. */
  restart(): Promise<void>;
}

const python = fileURLToPath(new URL('../../.servers/bin/python3', import.meta.url));
const isInstalled = existsSync(fileURLToPath(new URL('../../.servers/installed.txt', import.meta.url)));

/** True for servers that the tests start and may kill; also where there are none and tests are counted as skipped. */
export const startedHere = (mode: string): boolean => !mode.startsWith('given');

/** A way to run the tests: a server to start, or an address that was given. */
interface Mode {
  name: string;
  /** A durable server keeps what it acknowledged when it is killed: it waits for the disk at each commit. */
  start(durable: boolean): Promise<TestServer>;
}

/** Runs the server with corrections, and ends when the process that started it ends, also by a kill. */
const program = fileURLToPath(new URL('../servers/server.py', import.meta.url));

/** Every mode that can run here. Throws when none can and everything is required. */
function modes(): Mode[] {
  const given = (process.env.MOBILITY_TEST_MONGODB ?? '').split(/,(?=\s*mongodb)/).filter((one) => one.trim() !== '');
  const found = given.map((one, i): Mode => {
    const [, host, options] = /^(mongodb(?:\+srv)?:\/\/[^/?]*)(?:\/[^?]*)?(.*)$/.exec(one.trim())!;
    const address = (database = newName()): string => `${host}/${database}${options}`;
    return { name: `given address ${i + 1}`, start: async () => ({ address, control: null }) };
  });
  if (isHere('a test server for MongoDB: `npm run test:servers`', isInstalled))
    found.push({ name: 'replica set of one', start: startServer });
  return found;
}

const newName = (): string => `mobility-test-${randomUUID()}`;

/** Which servers tests need. */
export interface Needs {
  /** Chooses modes by name; default: all. */
  only?: (mode: string) => boolean;
  /** For tests that kill the server; default: false. */
  durable?: boolean;
  /** For tests that kill processes: transactions may be open after them; default: as `durable`. */
  mayLeave?: boolean;
}

/** Describes tests once for each mode, or skips them where there is no server. */
export function describeOnServers(
  title: string,
  tests: (server: () => TestServer, mode: string) => void,
  { only = () => true, durable = false, mayLeave = durable }: Needs = {},
): void {
  const wanted = modes().filter(({ name }) => only(name));
  if (wanted.length === 0) {
    describe.skip(`${title} (no server)`, () => tests(() => null as never, 'no server'));
  }
  for (const mode of wanted) {
    describe(`${title}, ${mode.name}`, () => {
      let server: TestServer;
      beforeAll(async () => {
        server = await mode.start(durable);
      });
      afterAll(() => server?.control?.kill());
      watch(() => server, { mayLeave });
      tests(() => server, mode.name);
    });
  }
}

/** A store and its address, credentials included. */
export type OpenedOnServer = Opened & { address: string };

/** A new, empty store on the server, for the contract. */
export async function openOn(server: TestServer, options: MongoOptions = {}): Promise<OpenedOnServer> {
  const address = server.address();
  const open = async (): Promise<Store> => storeOver(await openMongoEngine(address, options));
  const store = await open();
  return {
    store,
    address,
    reopen: open,
    async dispose() {
      await store.close();
      await dropDatabase(server, address);
    },
  };
}

/** The same until the test ends. */
export async function newStoreOn(server: TestServer, options: MongoOptions = {}): Promise<OpenedOnServer> {
  const opened = await openOn(server, options);
  atEnd(() => opened.dispose());
  return opened;
}

/** The address of a new database, which is dropped when the test ends. */
export function newDatabase(server: TestServer): string {
  const address = server.address();
  atEnd(() => dropDatabase(server, address));
  return address;
}

/** Dropping waits for transactions. The server that is started here keeps those of killed processes: they end first. */
async function dropDatabase(server: TestServer, address: string): Promise<void> {
  await withClient(address, async (client) => {
    if (server.control !== null) await client.db('admin').command({ killAllSessions: [] });
    await client.db().dropDatabase();
  });
}

/** Runs `work` with a plain client, to look at what the store does. */
export async function withClient<T>(address: string, work: (client: MongoClient) => Promise<T>, limitMS = 5_000) {
  const client = new MongoClient(address, { serverSelectionTimeoutMS: limitMS });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Starts a replica set of one in a temporary folder. */
async function startServer(durable: boolean): Promise<TestServer> {
  const folder = tempFolder();
  const port = await freePort();
  let child = await launch(folder, port, durable);
  // The driver checks immediately whether a failed server is available: this one does not announce it, as MongoDB does.
  const parameters = '?serverMonitoringMode=poll&minHeartbeatFrequencyMS=10&replicaSet=secantus';
  return {
    address: (database = newName()) => `mongodb://127.0.0.1:${port}/${database}${parameters}`,
    control: {
      isRunning: () => isRunning(child),
      kill: () => end(child),
      restart: async () => {
        child = await launch(folder, port, durable);
      },
    },
  };
}

async function launch(folder: string, port: number, durable: boolean): Promise<ChildProcess> {
  const log = await open(join(folder, 'server.log'), 'a');
  const options = ['--enable-test-commands', ...(durable ? ['--sync-on-commit'] : [])];
  const place = ['--host', '127.0.0.1', '--port', String(port), '--storage-path', join(folder, 'data')];
  const child = spawn(python, [program, ...place, ...options], { stdio: ['pipe', log.fd, log.fd] });
  await log.close();
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the test server ended with code ${child.exitCode}, see server.log`);
    return answers(port);
  });
  return child;
}

async function answers(port: number): Promise<boolean> {
  const address = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const ping = (client: MongoClient) => client.db('admin').command({ ping: 1 });
  return withClient(address, ping, 300).then(Boolean, () => false);
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
