// Runs command lines in process, on a temporary store, and keeps their output.
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect } from 'vitest';
import { CommandContext } from '../../src/cli/context.ts';
import { buildProgram, main } from '../../src/cli/main.ts';
import type { Sink } from '../../src/cli/output.ts';
import { onEngine } from '../../src/store/open.ts';
import { accounts } from '../../src/store/rows/tables.ts';
import type { Store } from '../../src/store/store.ts';
import { contentOf, withStore } from '../faults/kit.ts';
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
  json<T = Untyped>(): T;
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

export type Program = ReturnType<typeof programOn>;

function programOn(address: string, folder: string) {
  return {
    ...commandsOn({ MOBILITY_STORE: address }),
    folder,
    address,
    /** Every line of every log file, compressed or not. */
    logs: () => logText(join(address, 'logs')),
    /** Works with the store directly, and closes it. */
    withStore: <T>(work: (store: Store) => Promise<T>) => withStore(address, work),
    /** The same with the UUID of a person. */
    withUser: <T>(name: string, work: (store: Store, uuid: string) => Promise<T>) =>
      withStore(address, async (store) => work(store, (await store.users.byEmail(name))!.uuid)),
  };
}

/** All data of all users, without times of runs. */
export function everybodyAt(address: string): Promise<string[]> {
  return withStore(address, async (store) => {
    const users = await store.users.list({ limit: 100 });
    const texts = await Promise.all(users.map(({ uuid }) => contentOf(store, uuid)));
    return [JSON.stringify(await store.studies.list()), ...texts];
  });
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

/** Functions that run a command line with these settings. */
function commandsOn(settings: Record<string, string> = {}) {
  async function run(line: Line, surroundings: Surroundings = {}): Promise<CommandResult> {
    const { env, stdin = '', now = 1_720_000_000, tty = false, zone = 'UTC', onOutput } = surroundings;
    const stdout = collect(tty, onOutput);
    const stderr = { ...collect(tty), columns: 0 }; // a terminal without a width gets no spinner
    const code = await main(['node', 'mobility', ...wordsOf(line)], {
      env: { ...settings, ...env },
      stdout,
      stderr,
      stdin: Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY: tty }),
      now: () => now,
      zone,
    });
    return { code, stdout: stdout.text(), stderr: stderr.text(), json: () => JSON.parse(stdout.text()) };
  }
  async function expecting(line: Line, { code, ...how }: Ending & { code: number }, outputs = {}) {
    const result = await run(line, how);
    expect(result, `${wordsOf(line).join(' ')}\n${result.stderr}`).toMatchObject({ code, ...outputs });
    return result;
  }
  return {
    run,
    /** The command must end with 0. */
    succeed: (line: Line, how: Surroundings = {}) => expecting(line, { code: 0, ...how }),
    /** The command must end with 2 or `code`, with a part or pattern of its standard error. */
    refuse: (line: Line, text: Text, how: Ending = {}) => expecting(line, { code: 2, ...how }, { stderr: like(text) }),
    /** The command must end with 0 or `code`, with a part or pattern of its standard output. */
    show: (line: Line, text: Text, how: Ending = {}) => expecting(line, { code: 0, ...how }, { stdout: like(text) }),
    /** The command must end with 0, with a part or pattern of its standard error. */
    note: (line: Line, text: Text, how: Ending = {}) => expecting(line, { code: 0, ...how }, { stderr: like(text) }),
    /** The standard output of a command with `--json`, whatever its exit code. */
    json: async (...args: string[]): Promise<Untyped> =>
      (await run([...(args.length === 1 ? wordsOf(args[0]!) : args), '--json'])).json(),
  };
}

export const { run, succeed, refuse, show } = commandsOn();

type Ending = Surroundings & { code?: number };
type Text = string | RegExp;
const like = (text: Text): string =>
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

/** A stream that keeps its text. */
export function collect(isTTY: boolean, onOutput = () => {}): Sink & { text(): string } {
  let text = '';
  const write: Sink['write'] = (piece, done) => {
    onOutput();
    text += piece;
    done?.();
    return true;
  };
  return { isTTY, columns: 80, text: () => text, write };
}
