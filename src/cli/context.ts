// What every command is given: settings, store, logs, output and the clock; and the closing of all of them.
import { type Config, readConfig } from '../config.ts';
import type { FileLog } from '../log/files.ts';
import type { Log } from '../log/log.ts';
import type { LogKind } from '../log/names.ts';
import { folderIn } from '../model/address.ts';
import { MobilityError } from '../model/errors.ts';
import { isUuid } from '../model/ids.ts';
import { type UserRecord, userNameOf } from '../model/user.ts';
import type { OpenOptions } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { createOutput, type Output, type Sink } from './output.ts';

/** Settings given as flags: texts as typed. */
export type SettingFlags = Partial<Record<keyof Config, string | boolean>>;

/**
 * What a command came to. 1: failed, and told why. 3: done in part. Left out: all is well, or, if `signal` was aborted
 * meanwhile, interrupted; a command whose proper end is a signal says 0.
 */
export interface Outcome {
  exitCode?: 0 | 1 | 3;
}

/** The surroundings of one run of the program. Opens what a command asks for, once, and `close` closes it. */
export interface CommandContext {
  readonly env: Record<string, string | undefined>;
  readonly output: Output;
  /** Text as it is, to standard output and standard error, for programs that run for long and write their own lines. */
  readonly writeOut: Sink['write'];
  readonly writeErr: (text: string) => void;
  /** Standard input, for typed confirmations. */
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  /** Seconds since the epoch. */
  readonly now: () => number;
  /** IANA zone of the host, for times that belong to no user. */
  readonly zone: string;
  /** Aborted by Ctrl-C or SIGTERM, once a command has called `interruptible`. */
  readonly signal: AbortSignal;
  /** Settings in force: the command's own `flags` and those that every command takes, else variables, else defaults. */
  config(flags?: SettingFlags): Config;
  /** The settings given by flags that every command takes. */
  readonly flags: SettingFlags;
  /**
   * Opens the store of the settings; the same one at every call, with the options of the first that succeeded. Throws
   * `MOBILITY_STORE_ADDRESS` when there is none, unless it may be made: a mistyped folder should not become a store.
   */
  store(options?: StoreOptions): Promise<Store>;
  /** What the store of the settings said at its opening: how it is weaker than it could be. */
  readonly storeWarnings: readonly string[];
  /** Opens the log files of that kind; the same ones at every call. */
  log(kind: LogKind): Promise<Log>;
  /** The same with all that an open log can do; `threadId` counts at the first call. */
  logFiles(kind: LogKind, threadId?: string): Promise<FileLog>;
  /** The user by name or UUID. Throws `MOBILITY_USER_UNKNOWN`, saying what to do. */
  findUser(nameOrUuid: string): Promise<UserRecord>;
  /** From here on Ctrl-C and SIGTERM abort `signal` instead of ending the program; a second Ctrl-C ends it at once. */
  interruptible(): AbortSignal;
  /** Makes an action of commander out of a handler, so that what it returns reaches the exit code. */
  run<Args extends unknown[]>(
    handler: (...args: Args) => Promise<Outcome | undefined>,
  ): (...args: Args) => Promise<void>;
  /** What the command came to. */
  readonly outcome: Outcome;
  /** Flushes and closes everything that was opened. */
  close(): Promise<void>;
}

/** What a command gets from the process it runs in; tests give their own. */
export interface ContextOptions {
  env: Record<string, string | undefined>;
  stdout: Sink;
  stderr: Sink;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  now: () => number;
  zone: string;
}

/** Makes the context of one run. `flags` and `json` are filled in by `main.ts` when the command line is parsed. */
export function createContext(options: ContextOptions): CommandContext & { setFlags(flags: GlobalFlags): void } {
  let json = false;
  let flags: SettingFlags = {};
  let outcome: Outcome = {};
  let store: Promise<Store> | undefined;
  const storeWarnings: string[] = [];
  const logs = new Map<LogKind, Promise<FileLog>>();
  const abort = new AbortController();
  const stopListening: (() => void)[] = [];
  const context: CommandContext & { setFlags(flags: GlobalFlags): void } = {
    env: options.env,
    stdin: options.stdin,
    now: options.now,
    get zone() {
      return options.zone;
    },
    signal: abort.signal,
    writeOut: (text, done) => options.stdout.write(text, done),
    writeErr: (text) => void options.stderr.write(text),
    output: createOutput({ stdout: options.stdout, stderr: options.stderr, env: options.env, json: () => json }),
    get flags() {
      return flags;
    },
    get outcome() {
      return outcome;
    },
    setFlags: (given) => {
      ({ json, settings: flags } = given);
    },
    config: (own = {}) => readConfig(options.env, { ...own, ...flags }),
    store: (how = {}) => {
      const onWarning = (text: string): void => void storeWarnings.push(text);
      if (store === undefined) {
        store = openStoreAt(context.config().store, { onWarning, ...how });
        store.catch(() => {
          store = undefined; // the next call tries again
        });
      }
      return store;
    },
    storeWarnings,
    log: async (kind) => (await context.logFiles(kind)).log,
    logFiles: (kind, threadId) => {
      if (!logs.has(kind)) logs.set(kind, openLogOf(context.config(), kind, threadId, context.output.note));
      return logs.get(kind)!;
    },
    findUser: async (nameOrUuid) => findUser(await context.store(), nameOrUuid),
    interruptible: () => {
      if (stopListening.length === 0) stopListening.push(abortOnSignals(abort));
      return abort.signal;
    },
    run:
      (handler) =>
      async (...args) => {
        outcome = (await handler(...args)) ?? {};
      },
    close: async () => {
      for (const stop of stopListening) stop();
      // The caller that waited for a failed opening has reported it: here only open stores and logs matter.
      const opened = await Promise.allSettled([store, ...logs.values()]);
      const closings = opened.map((one) => (one.status === 'fulfilled' ? one.value?.close() : undefined));
      for (const closing of await Promise.allSettled(closings)) if (closing.status === 'rejected') throw closing.reason;
    },
  };
  return context;
}

/** How a command opens the store. */
export interface StoreOptions extends OpenOptions {
  /** Create the store if it does not exist. */
  make?: boolean;
}

/** Flags that every command takes, as parsed. */
export interface GlobalFlags {
  json: boolean;
  settings: SettingFlags;
}

// Store engines and the log writer are loaded when a command needs them: `--help` and `config` start in a third of the
// time.

/** Opens any store, as `CommandContext.store` opens that of the settings. The caller closes it. */
export async function openStoreAt(address: string, { make = false, ...options }: StoreOptions): Promise<Store> {
  const { openStore } = await import('../store/open.ts');
  return openStore(address, { ...options, make });
}

async function openLogOf(
  config: Config,
  kind: LogKind,
  threadId: string | undefined,
  warn: (text: string) => void,
): Promise<FileLog> {
  const { openFileLog } = await import('../log/files.ts');
  return openFileLog({ ...config, kind, threadId, warn });
}

async function findUser(store: Store, nameOrUuid: string): Promise<UserRecord> {
  const uuid = nameOrUuid.toLowerCase();
  // The UUID first: somebody may have the UUID of another user as their name.
  const user =
    (isUuid(uuid) ? await store.users.byUuid(uuid) : null) ??
    (await store.users.byEmail(nameOrUuid)) ??
    (await store.users.byEmail(userNameOf(nameOrUuid)));
  if (user !== null) return user;
  throw new MobilityError(
    'MOBILITY_USER_UNKNOWN',
    `no user ${JSON.stringify(nameOrUuid)} in ${store.address}; expected a registered name or UUID: ` +
      'see `mobility users list`, or register with `mobility users add NAME`',
  );
}

/**
 * Aborts at the first SIGINT or SIGTERM. A second SIGINT ends the program as usual: somebody at a terminal is in a
 * hurry. A second SIGTERM does not: stopping a server with workers signals each of them twice.
 */
function abortOnSignals(abort: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals): void => abort.abort(signal);
  process.once('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.removeListener('SIGINT', onSignal);
    process.removeListener('SIGTERM', onSignal);
  };
}
