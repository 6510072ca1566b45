// Runs a command with a MongoDB test server of its own, whose address it finds in MONGODB_ADDRESS (a database may be
// put in place of the one named there): `node test/servers/with-server.mjs COMMAND ARGS...`. Ends as the command does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const python = fileURLToPath(new URL('../../.servers/bin/python3', import.meta.url));
const program = fileURLToPath(new URL('server.py', import.meta.url));
const startLimit = 60_000; // ms

const [command, ...args] = process.argv.slice(2);
if (command === undefined) fail('expected a command to run', 2);
if (!existsSync(python)) fail('no test server is installed: run `npm run test:servers`', 1);

function fail(message, code) {
  console.error(`with-server: ${message}`);
  process.exit(code);
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

async function listens(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'mobility-mongodb-'));
const port = await freePort();
const place = ['--host', '127.0.0.1', '--port', String(port), '--storage-path', join(folder, 'data')];
const server = spawn(python, [program, ...place], { stdio: ['pipe', 'ignore', 'pipe'] });
let said = '';
server.stderr.on('data', (text) => {
  said = (said + text).slice(-4000);
});
const ended = once(server, 'exit');
const finish = async (code) => {
  server.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.exit(code);
};
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => finish(1));

for (const deadline = Date.now() + startLimit; !(await listens(port)); ) {
  if (server.exitCode !== null || Date.now() > deadline) {
    console.error(`with-server: the server does not answer\n${said}`);
    await finish(1);
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const env = { ...process.env, MONGODB_ADDRESS: `mongodb://127.0.0.1:${port}/mobility?replicaSet=secantus` };
const child = spawn(command, args, { stdio: 'inherit', env });
child.on('error', (error) => {
  console.error(`with-server: ${error.message}`);
  finish(1);
});
child.on('exit', (code) => finish(code ?? 1));
