import { type Config, readConfig } from '../config.ts';
import type { LogKind } from '../log/file-names.ts';
import type { FileLog } from '../log/files.ts';
import type { Log } from '../log/log.ts';
import { isUuid } from '../model/ids.ts';
import { MobilityError } from '../model/mobility-error.ts';
import { pseudonymOf, type UserRecord, userNameOf } from '../model/user.ts';
import type { OpenOptions } from '../store/open.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { didYouMean } from './nearest-name.ts';
import { createOutput, type Output, type Sink } from './output.ts';

export type SettingFlags = Partial<Record<keyof Config, string | boolean>>;

/** 1: the command failed and printed why. 3: done in part. Absent: 0, or 130 after a signal. */
export type Outcome = { exitCode?: 0 | 1 | 3 };

export interface ContextOptions {
  env: Record<string, string | undefined>;
  stdout: Sink;
  stderr: Sink;
  /** The source of typed confirmations, and of data if a file is named `-`. */
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  now: () => number;
  /** IANA zone of the host, for times that belong to no user. */
  zone: string;
}

/** Opens the store and the log files when a command first needs them, and closes them. */
export class CommandContext {
  readonly env: ContextOptions['env'];
  readonly stdin: ContextOptions['stdin'];
  readonly now: ContextOptions['now'];
  readonly output: Output;
  readonly storeWarnings: string[] = [];
  /** The `audit_key` of each user whom the command has looked up so far. */
  readonly named = new Set<string>();
  readonly flags = { json: false, quiet: false, debug: false, settings: {} as SettingFlags };
  outcome: Outcome = {};
  readonly #options: ContextOptions;
  readonly #abort = new AbortController();
  readonly #logs = new Map<LogKind, Promise<FileLog>>();
  #store: Promise<Store> | undefined;
  #stopListening: (() => void) | undefined;

  constructor(options: ContextOptions) {
    const { env, stdin, now, stdout, stderr } = options;
    this.#options = options;
    this.env = env;
    this.stdin = stdin;
    this.now = now;
    this.output = createOutput({ stdout, stderr, env, flags: this.flags });
  }

  get zone(): string {
    return this.#options.zone;
  }

  /** Aborted by Ctrl-C or SIGTERM, once a command has called `interruptible`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  writeOut: Sink['write'] = (text, done) => this.#options.stdout.write(text, done);
  writeErr = (text: string): void => void this.#options.stderr.write(text);

  /** Flags take precedence over variables, and variables over defaults. */
  config(own: SettingFlags = {}): Config {
    return readConfig(this.env, { ...own, ...this.flags.settings });
  }

  /** Opens the store once: later calls ignore `how`. Creates a store only with `make`. */
  store(how: OpenOptions = {}): Promise<Store> {
    if (this.#store !== undefined) return this.#store;
    const onWarning = (text: string): void => void this.storeWarnings.push(text);
    this.#store = openStoreAt(this.config().store, { onWarning, ...how });
    this.#store.catch(() => {
      this.#store = undefined; // the next call tries again
    });
    return this.#store;
  }

  async log(kind: LogKind): Promise<Log> {
    return (await this.logFiles(kind)).log;
  }

  /** Opens the files of a `kind` once: later calls ignore `threadId`. */
  logFiles(kind: LogKind, threadId?: string): Promise<FileLog> {
    const open = async (): Promise<FileLog> => {
      const { openFileLog } = await import('../log/files.ts');
      return openFileLog({ ...this.config(), kind, threadId, warn: this.output.note });
    };
    if (!this.#logs.has(kind)) this.#logs.set(kind, open());
    return this.#logs.get(kind)!;
  }

  /** Finds a user by name, UUID or unique pseudonym. Throws `MOBILITY_USER_UNKNOWN`. */
  async findUser(nameOrUuid: string): Promise<UserRecord> {
    const store = await this.store();
    const user = await findUserIn(store, nameOrUuid);
    // A damaged row of the user must not stop commands that look for the user.
    const [figures] = await store.users.figures({ uuid: user.uuid }).catch(() => []);
    if (figures !== undefined) this.named.add(figures.audit_key);
    return user;
  }

  /** From now on, Ctrl-C and SIGTERM abort `signal`. A second Ctrl-C ends the program. */
  interruptible(): AbortSignal {
    this.#stopListening ??= abortOnSignals(this.#abort);
    return this.signal;
  }

  run<Args extends unknown[]>(handler: (context: CommandContext, ...args: Args) => Promise<Outcome> | Promise<void>) {
    return async (...args: Args): Promise<void> => {
      const work = handler(this, ...args) as Promise<Outcome | undefined>;
      this.outcome = (await work.finally(this.output.endProgress)) ?? {};
    };
  }

  async close(): Promise<void> {
    this.#stopListening?.();
    // Closes only what was opened. If an opening failed, its caller has reported the error.
    const opened = await Promise.allSettled([this.#store, ...this.#logs.values()]);
    const closings = opened.map((one) => (one.status === 'fulfilled' ? one.value?.close() : undefined));
    for (const closing of await Promise.allSettled(closings)) if (closing.status === 'rejected') throw closing.reason;
  }
}

/** Loads the engines only here, so that `--help` starts in a third of the time. */
export async function openStoreAt(address: string, options: OpenOptions): Promise<Store> {
  const { openStore } = await import('../store/open.ts');
  return openStore(address, { make: false, ...options });
}

async function findUserIn(store: Store, nameOrUuid: string): Promise<UserRecord> {
  const uuid = nameOrUuid.toLowerCase();
  // Try the UUID first: a user may have the UUID of another user as a name.
  const user =
    (isUuid(uuid) ? await store.users.byUuid(uuid) : null) ??
    (await store.users.byEmail(nameOrUuid)) ??
    (await store.users.byEmail(userNameOf(nameOrUuid)));
  if (user !== null) return user;
  const shown: UserRecord[] = [];
  for await (const one of everyUser(store)) if (pseudonymOf(one) === nameOrUuid) shown.push(one);
  if (shown.length === 1) return shown[0]!;
  const near = await didYouMean(nameOrUuid, namesIn(store));
  const next = 'see `mobility users list`, or register with `mobility users add NAME`';
  const text = `no user ${JSON.stringify(nameOrUuid)} in ${store.address}${near}; expected a registered name or UUID`;
  throw new MobilityError('MOBILITY_USER_UNKNOWN', `${text}: ${next}`);
}

async function* namesIn(store: Store): AsyncGenerator<string> {
  for await (const { user_email } of everyUser(store)) yield user_email;
}

// Aborts at the first SIGINT or SIGTERM. A second SIGINT ends the program at once. A second SIGTERM
// does not: stopping a server with workers signals each of them twice.
function abortOnSignals(abort: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals): void => abort.abort(signal);
  process.once('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.removeListener('SIGINT', onSignal);
    process.removeListener('SIGTERM', onSignal);
  };
}
