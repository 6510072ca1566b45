// What the tests of log files share: children that write, and the messages in files.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildProgram } from '../../../support/build.ts';
import { logFiles, textOf } from '../../../support/log-files.ts';

/** Starts a process that writes a log: `DIR KIND LINES END [MIB [WORKERS]]`, see `write-log.mjs`. */
export async function startChild(...args: string[]): Promise<ChildProcess> {
  const writer = fileURLToPath(new URL('./write-log.mjs', import.meta.url));
  return spawn(process.execPath, [writer, await buildProgram(), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Resolves with the exit code or signal. */
export function ended(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)));
}

/** Messages of all files, by name of the file. If files are renamed or compressed meanwhile, it reads them again. */
export function messagesOf(folder: string): string[] {
  for (;;) {
    try {
      const lines = logFiles(folder).flatMap((name) => textOf(folder, name).split('\n'));
      return lines.filter((line) => line !== '').map((line) => line.split(':').slice(6).join(':'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
