// The built program as processes: commands to run, servers and pipelines to kill.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { buildProgram } from '../support/build.ts';
import { until } from '../support/until.ts';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** s it ran */
  seconds: number;
}

export interface Running {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  /** What it wrote so far. */
  output(): { stdout: string; stderr: string };
  /** Kills it and its workers, as a power cut would, and resolves when they have ended. */
  kill(): Promise<Exit>;
  /** Asks it to stop, and resolves when it has. */
  stop(): Promise<Exit>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) signalGroup(child, 'SIGKILL');
});

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // it is gone
  }
}

export interface How {
  /** Settings, on top of an environment without any. */
  env?: Record<string, string>;
  /** A command that runs it, such as `prlimit`, with its arguments. */
  through?: readonly string[];
}

/** Starts a command line in a new process group. */
export async function start(args: readonly string[], { env, through = [] }: How = {}): Promise<Running> {
  const folder = await buildProgram();
  const started = performance.now();
  const [command, ...rest] = [...through, process.execPath, join(folder, 'bin', 'mobility.js'), ...args];
  const child = spawn(command!, rest, {
    env: { ...withoutSettings(process.env), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    // `close` comes when the output of the workers has ended too, that is, when they are gone.
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, stdout, stderr, seconds: (performance.now() - started) / 1000 });
    });
  });
  return {
    pid: child.pid!,
    exit,
    output: () => ({ stdout, stderr }),
    kill: () => {
      signalGroup(child, 'SIGKILL');
      return exit;
    },
    stop: () => {
      child.kill('SIGTERM');
      return exit;
    },
  };
}

function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(MOBILITY|VITEST|NODE_OPTIONS)/.test(name)));
}

export const run = async (args: readonly string[], how?: How): Promise<Exit> => (await start(args, how)).exit;

/** Runs a command line that must end with 0. */
export async function succeed(args: readonly string[], how?: How): Promise<Exit> {
  const exit = await run(args, how);
  expect(exit, exit.stdout + exit.stderr).toMatchObject({ code: 0 });
  return exit;
}

export interface RunningServer extends Running {
  readonly url: string;
  /** Posts a JSON value, or a text as it is. Rejects when the server dies meanwhile. */
  post(path: string, body: unknown): Promise<{ status: number; text: string }>;
}

const answerLimit = 240; // s

/** Starts `mobility serve` on the store, on any free port, and waits until it listens. */
export async function startServer(store: string, how: How = {}): Promise<RunningServer> {
  const env = { MOBILITY_AUTH: 'dev', MOBILITY_WORKERS: '1', MOBILITY_PORT: '0', ...how.env };
  const server = await start(['serve', '--store', store], { ...how, env });
  const url = await address(server);
  return {
    ...server,
    url,
    post: async (path, body) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json; charset=UTF-8' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(answerLimit * 1000),
      });
      return { status: response.status, text: await response.text() };
    },
  };
}

/** The address that a server prints. */
async function address(server: Running): Promise<string> {
  let ended = false;
  void server.exit.then(() => {
    ended = true;
  });
  const printed = (): string | undefined => /listens on (http:\S+)/.exec(server.output().stderr)?.[1];
  await until(() => ended || printed() !== undefined);
  return printed() ?? Promise.reject(new Error(`the server ended: ${JSON.stringify(await server.exit)}`));
}
