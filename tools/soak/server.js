// The server under test.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const program = fileURLToPath(new URL('../../bin/mobility.js', import.meta.url));

/** Starts a server with two workers, and waits until it listens. `stop` resolves with its exit code. */
export async function startServer(store, env = {}) {
  const args = ['serve', '--auth', 'dev', '--port', '0', '--workers', '2', '--store', store];
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  const exit = new Promise((resolve) => child.once('exit', resolve));
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output = (output + text).slice(-20_000);
  });
  while (!/listens on (\S+)/.test(output)) {
    if (child.exitCode !== null) throw new Error(`the server did not start: ${output}`);
    await sleep(50);
  }
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    return exit;
  };
  return { store, url: /listens on (\S+)/.exec(output)[1], pid: child.pid, stop, output: () => output };
}
