// Runs a command with a new MongoDB test server, whose address is in MONGODB_ADDRESS (the command may replace the
// database in it): `node test/servers/with-server.mjs COMMAND ARGS...`. Ends as the command does.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const python = fileURLToPath(new URL('../../.servers/bin/python3', import.meta.url));
const program = fileURLToPath(new URL('server.py', import.meta.url));
const startLimit = 240_000; // ms

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('expected a command to run');
if (!existsSync(python)) throw new Error('no test server is installed: run `npm run test:servers`');

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function listens(port) {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(Boolean, () => false);
  socket.destroy();
  return isOpen;
}

const folder = mkdtempSync(join(tmpdir(), 'mobility-mongodb-'));
const port = await freePort();
const place = ['--host', '127.0.0.1', '--port', String(port), '--storage-path', join(folder, 'data')];
// It ends when its standard input is closed, so also when this process is killed.
const server = spawn(python, [program, ...place], { stdio: ['pipe', 'ignore', 'inherit'] });
const ended = once(server, 'exit');
let code = 1;
try {
  for (const deadline = Date.now() + startLimit; !(await listens(port)); await sleep(50)) {
    if (server.exitCode !== null || Date.now() > deadline) throw new Error('the test server does not answer');
  }
  const env = { ...process.env, MONGODB_ADDRESS: `mongodb://127.0.0.1:${port}/mobility?replicaSet=secantus` };
  code = spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1;
} finally {
  server.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
process.exit(code);
