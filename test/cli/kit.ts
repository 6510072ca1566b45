// Runs command lines in process, on a temporary store, and keeps their output.
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect } from 'vitest';
import { CommandContext } from '../../src/cli/context.ts';
import { buildProgram, main } from '../../src/cli/main.ts';
import type { Sink } from '../../src/cli/output.ts';
import { onEngine, openStore } from '../../src/store/open.ts';
import { accounts } from '../../src/store/rows/tables.ts';
import type { Store } from '../../src/store/store.ts';
import { tempFolder } from '../support/clean-up.ts';
import { logText } from '../support/log-files.ts';
import type { Untyped } from '../support/untyped.ts';

export { tempFolder } from '../support/clean-up.ts';

/** How a command line ended. */
export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
  /** Standard output as JSON. */
  json<T = Record<string, never>>(): T;
}

export interface Surroundings {
  env?: Record<string, string>;
  stdin?: string;
  /** Seconds since the epoch. */
  now?: number;
  tty?: boolean;
  zone?: string;
  /** Called before each write to standard output. */
  onOutput?: () => void;
}

/** The words of a command line, or the line itself if no word has a blank. */
type Line = string | readonly string[];

/** A store that does not exist yet, and command lines on it. Registers `people`. */
export async function freshProgram(...people: string[]): Promise<Program> {
  const folder = tempFolder();
  const program = programOn(join(folder, 'store'), folder);
  for (const name of people) await program.succeed(['users', 'add', name]);
  return program;
}

/** A store with the data of simulated people, through the pipeline. `flags`: of `simulate`. */
export async function simulatedProgram(flags: string, how?: Surroundings): Promise<Program> {
  const program = await freshProgram();
  await program.succeed(`simulate ${flags}`, how);
  await program.succeed('pipeline --all', how);
  return program;
}

export interface Program {
  folder: string;
  address: string;
  /** The functions of this module, on the store. */
  run: typeof run;
  succeed: typeof succeed;
  refuse: typeof refuse;
  show: typeof show;
  note: typeof note;
  /** Runs a command line with `--json`, whatever its exit code; returns its standard output. */
  json(...args: string[]): Promise<Untyped>;
  /** Every line of every log file, compressed or not. */
  logs(): string;
  /** Works with the store directly, and closes it. */
  withStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
  /** The same with the UUID of a person. */
  withUser<T>(name: string, work: (store: Store, uuid: string) => Promise<T>): Promise<T>;
}

function programOn(address: string, folder: string): Program {
  type How = Surroundings;
  const on = <T extends How>({ env, ...rest }: T = {} as T) => ({ ...rest, env: { MOBILITY_STORE: address, ...env } });
  const withStore: Program['withStore'] = async (work) => {
    const store = await openStore(address);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  return {
    folder,
    address,
    run: (args, how) => run(args, on(how)),
    succeed: (args, how) => succeed(args, on(how)),
    refuse: (args, text, how) => refuse(args, text, on(how)),
    show: (args, text, how) => show(args, text, on(how)),
    note: (args, text, how) => note(args, text, on(how)),
    json: async (...args) => (await run([...(args.length === 1 ? wordsOf(args[0]!) : args), '--json'], on())).json(),
    logs: () => logText(join(address, 'logs')),
    withStore,
    withUser: (name, work) => withStore(async (store) => work(store, (await store.users.byEmail(name))!.uuid)),
  };
}

/** Leaves a user as an erasure or a copy that was killed leaves them. */
export function setStage(address: string, user: string, stage: 'erasing' | 'arriving'): Promise<unknown> {
  return onEngine(address, {}, (engine) =>
    engine.write(user, async (rows) => {
      const [account] = await rows.find(accounts, { where: { user } });
      await rows.put(accounts, [{ ...account!, stage }]);
    }),
  );
}

const wordsOf = (line: Line): readonly string[] => (typeof line === 'string' ? line.split(' ') : line);

/** Runs one command line. */
export async function run(line: Line, surroundings: Surroundings = {}): Promise<CommandResult> {
  const { env = {}, stdin = '', now = 1_720_000_000, tty = false, zone = 'UTC', onOutput } = surroundings;
  const stdout = collect(tty, onOutput);
  const stderr = { ...collect(tty), columns: 0 }; // a terminal without a width gets no spinner
  const code = await main(['node', 'mobility', ...wordsOf(line)], {
    env,
    stdout,
    stderr,
    stdin: Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY: tty }),
    now: () => now,
    zone,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text(), json: () => JSON.parse(stdout.text()) };
}

/** Runs one command line that must end with 0. */
export async function succeed(line: Line, surroundings?: Surroundings): Promise<CommandResult> {
  const result = await run(line, surroundings);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result;
}

/** Runs one command line that must end with `code`, with a part or pattern of its standard error. */
export function refuse(line: Line, text: string | RegExp, how: Surroundings & { code?: number } = {}) {
  return runExpecting(line, { code: 2, ...how }, { stderr: like(text) });
}

/** Runs one command line that must end with `code`, with a part or pattern of its standard output. */
export function show(line: Line, text: string | RegExp, how: Surroundings & { code?: number } = {}) {
  return runExpecting(line, { code: 0, ...how }, { stdout: like(text) });
}

/** Runs one command line that must end with 0, with a part or pattern of its standard error. */
export function note(line: Line, text: string | RegExp, how: Surroundings = {}) {
  return runExpecting(line, { code: 0, ...how }, { stderr: like(text) });
}

async function runExpecting(line: Line, { code, ...how }: Surroundings & { code: number }, outputs: object) {
  const result = await run(line, how);
  expect(result, wordsOf(line).join(' ')).toMatchObject({ code, ...outputs });
  return result;
}

const like = (text: string | RegExp): string =>
  typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text);

/** The program as a tree of commands, which print nothing. */
export function commandTree(): Promise<CommandUnknownOpts> {
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  const context = new CommandContext({ ...streams, env: {}, stdin: process.stdin, now: () => 0, zone: 'UTC' });
  return buildProgram(context, streams);
}

/** Puts values that are no entries: they are rejected. */
export function putRejected(store: Store, userId: string, values: readonly unknown[], how = {}): Promise<unknown> {
  const { reason, at } = { reason: 'not_an_object', at: 1, ...how };
  const unusable = values.map((entry) => ({ entry, reason, message: 'found a text' }));
  return store.usercache.put(userId, { entries: [], unusable } as never, at);
}

function collect(isTTY: boolean, onOutput = () => {}): Sink & { text(): string } {
  let text = '';
  const write: Sink['write'] = (piece, done) => {
    onOutput();
    text += piece;
    done?.();
    return true;
  };
  return { isTTY, columns: 80, text: () => text, write };
}
