// Other processes that use the embedded store.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { until } from '../../support/until.ts';

export interface Child {
  /** Lines it has written to standard output so far. */
  lines: string[];
  /** Resolves when a line begins with `text`, also if that was before; rejects when the child ends without it. */
  line(text: string): Promise<string>;
  /** Resolves when it has ended: its exit code, or the signal. */
  ended: Promise<number | NodeJS.Signals>;
  kill(): Promise<void>;
}

/**
 * Starts, with the program as `buildProgram` made it, `body`: the body of an async function of `openStore`, `args` and
 * `say`, which writes a line. It ends with the body, unless something keeps it alive. Its standard error is shown.
 */
export function startChild(program: string, body: string, args: Record<string, unknown>): Child {
  const script = `
    import { openStore } from ${JSON.stringify(join(program, 'dist/store/open.js'))};
    import { writeSync } from 'node:fs';
    const args = ${JSON.stringify(args)};
    const say = (line) => writeSync(1, line + '\\n');
    ${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line));
  let over = false;
  const ended = once(child, 'close').then(([code, signal]: (number | NodeJS.Signals)[]) => {
    over = true;
    return code ?? signal!;
  });
  const line = async (text: string): Promise<string> => {
    const found = () => lines.find((one) => one.startsWith(text));
    await until(() => over || found() !== undefined);
    return found() ?? expect.fail(`expected a line ${text}, found ${JSON.stringify(lines.slice(-5))}`);
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { lines, line, ended, kill };
}
