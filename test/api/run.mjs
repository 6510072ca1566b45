// Calls a new server with what its OpenAPI description allows and forbids: no answer is a failure of the server, and each
// has a status, a type and a body as described. Needs `npm run build`; `npm run test:api` installs Schemathesis first.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const program = file('../../bin/mobility.js');
const tester = file(`../../.api-tests/${process.platform === 'win32' ? 'Scripts' : 'bin'}/schemathesis`);
const examples = process.env.MOBILITY_TEST_RUNS ?? '10';
const folder = mkdtempSync(join(tmpdir(), 'mobility-api-'));

/** Runs a command of the program; ends with its messages if it fails. */
function mobility(...args) {
  const { status, stderr } = spawnSync(process.execPath, [program, ...args, '--store', folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mobility ${args.join(' ')} failed: ${stderr}`);
}

/** Starts the server; resolves with its address when it listens. */
function listening(server) {
  return new Promise((resolve, reject) => {
    let text = '';
    server.stderr.on('data', (chunk) => {
      text += chunk;
      const found = /listens on (http:\S+)/.exec(text);
      if (found) resolve(found[1]);
    });
    server.once('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
}

mobility('users', 'add', 'ada');
const settings = { MOBILITY_AUTH: 'dev', MOBILITY_PORT: '0', MOBILITY_WORKERS: '1', MOBILITY_CALLS_PER_MINUTE: '0' };
const server = spawn(process.execPath, [program, 'serve', '--store', folder], {
  env: { ...process.env, ...settings },
  stdio: ['ignore', 'ignore', 'pipe'],
});
const address = await listening(server);
const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
const args = [
  ...['--config-file', file('schemathesis.toml'), 'run', `${address}/openapi.json`],
  ...['-H', 'Authorization: Bearer ada', '--checks', checks, '--phases', 'examples,coverage,fuzzing'],
  ...['--generation-deterministic', '--max-examples', examples, '--continue-on-failure', '--warnings', 'off'],
];
const testing = spawn(tester, args, { cwd: folder, stdio: 'inherit' });
testing.on('error', (error) =>
  console.error(`expected Schemathesis as ${tester}: ${error.message}; run npm run test:api`),
);
const code = await new Promise((resolve) => testing.on('close', resolve));
server.removeAllListeners('exit');
const ended = new Promise((resolve) => server.once('exit', resolve));
server.kill('SIGTERM');
await ended;
rmSync(folder, { recursive: true, force: true });
process.exitCode = code === 0 ? 0 : 1;
