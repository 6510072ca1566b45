import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CommandContext } from './context.ts';

const program = fileURLToPath(new URL('../../bin/mobility.js', import.meta.url));

/** Starts `mobility` with these words and the settings of this process, and with a channel for messages. */
export function forkProgram(
  context: CommandContext,
  words: readonly string[],
  stdout: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  // Settings travel as variables: all accounts of the host can see arguments, and an address may hold a password.
  const { store, logDir } = context.config();
  const env = { ...context.env, MOBILITY_STORE: store, MOBILITY_LOG_DIR: logDir };
  return fork(program, words, { env, stdio: ['ignore', stdout, 'inherit', 'ipc'] });
}

/** In a forked process: ignores signals that Ctrl-C and systemd send to all processes, so that the parent decides. */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}
