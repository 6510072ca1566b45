// The program: its commands in order, its global flags, and the one place where what happened becomes an exit code.
import { Command, CommanderError } from 'commander';
import { hostZone } from '../log/format.ts';
import { errorText, isMobilityError } from '../model/errors.ts';
import { type CommandContext, type ContextOptions, createContext } from './context.ts';
import { OutputClosed, type Sink, sinkOf } from './output.ts';
import { packageVersion } from './version.ts';

/** Exit codes of every command. */
const exitCodes = { ok: 0, failed: 1, usage: 2, partly: 3, interrupted: 130 } as const;

/** Every command, by name. Each is loaded when it is asked for: to load all takes longer than most take to run. */
const commandLoaders: Readonly<Record<string, () => Promise<(context: CommandContext) => Command>>> = {
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  config: async () => (await import('./commands/config.ts')).configCommand,
  diary: async () => (await import('./commands/diary.ts')).diaryCommand,
  erase: async () => (await import('./commands/erase.ts')).eraseCommand,
  evaluate: async () => (await import('./commands/evaluate.ts')).evaluateCommand,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  import: async () => (await import('./commands/import.ts')).importCommand,
  label: async () => (await import('./commands/label.ts')).labelCommand,
  logs: async () => (await import('./commands/logs.ts')).logsCommand,
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  pipeline: async () => (await import('./commands/pipeline.ts')).pipelineCommand,
  'purge-keys': async () => (await import('./commands/purge-keys.ts')).purgeKeysCommand,
  rebuild: async () => (await import('./commands/rebuild.ts')).rebuildCommand,
  'recover-errors': async () => (await import('./commands/recover-errors.ts')).recoverErrorsCommand,
  report: async () => (await import('./commands/report.ts')).reportCommand,
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  simulate: async () => (await import('./commands/simulate.ts')).simulateCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  store: async () => (await import('./commands/store.ts')).storeCommand,
  study: async () => (await import('./commands/study.ts')).studyCommand,
  users: async () => (await import('./commands/users.ts')).usersCommand,
};

/**
 * Runs one command line and resolves with its exit code: 0 ok, 1 failed, 2 wrong usage, 3 partly done, 130 interrupted.
 * Never rejects. `surroundings` are those of the process unless a test brings its own.
 */
export async function main(
  argv: readonly string[],
  surroundings: ContextOptions = processSurroundings(),
): Promise<number> {
  const context = createContext(surroundings);
  let debug = isSet(surroundings.env.MOBILITY_DEBUG);
  let code: number;
  let printed: Promise<unknown> = Promise.resolve();
  /** Prints help, for which nobody waits before the end. */
  const print = (text: string): boolean => {
    const writing = context.output.write(text);
    printed = Promise.all([printed, writing]);
    printed.catch(() => {});
    return true;
  };
  try {
    const streams = { stdout: { write: print }, stderr: surroundings.stderr };
    const program = await buildProgram(context, streams, commandIn(argv.slice(2)));
    program.hook('preAction', (_, command) => {
      const { store, logDir, json = false, debug: asked } = command.optsWithGlobals();
      context.setFlags({ json, settings: { store, logDir } });
      debug ||= asked === true;
    });
    answerHelp(program, withoutGlobalFlags(argv.slice(2)));
    await program.parseAsync([...argv]);
    code = context.outcome.exitCode ?? exitCodes.ok;
  } catch (error) {
    const told = await printed.then(
      () => error,
      (failure) => failure,
    );
    code = report(told, { stderr: surroundings.stderr, debug, interrupted: context.signal.aborted });
  }
  try {
    await context.close();
  } catch (error) {
    code = report(error, { stderr: surroundings.stderr, debug, interrupted: false });
  }
  return context.signal.aborted && context.outcome.exitCode === undefined ? exitCodes.interrupted : code;
}

/** Global flags that a command may follow, and how many words each takes. */
const globalFlags: ReadonlyMap<string, number> = new Map([
  ['--store', 2],
  ['--log-dir', 2],
  ['--json', 1],
  ['--debug', 1],
]);

function withoutGlobalFlags(words: readonly string[]): readonly string[] {
  let at = 0;
  while (globalFlags.has(words[at]!)) at += globalFlags.get(words[at]!)!;
  return words.slice(at);
}

/**
 * Prints the help about the command that follows `help`, and refuses one that there is not, also before `--help`:
 * commander shows the help of the commands above. Returns if the line asks for neither.
 */
function answerHelp(program: Command, words: readonly string[]): void {
  let byWord = false;
  let command = program;
  for (const name of words) {
    // What follows the last command are its arguments: `users add help` adds somebody.
    if (name.startsWith('-') || command.commands.length === 0) break;
    if (name === 'help') {
      byWord = true;
      continue;
    }
    const found = command.commands.find((one) => one.name() === name);
    if (found !== undefined) command = found;
    else if (byWord || words.includes('--help') || words.includes('-h')) refuseCommand(command, name);
    else return;
  }
  if (byWord) command.help();
}

/** Prints what an unknown command is answered with, and throws: a command of the same parts without work parses it. */
function refuseCommand(command: Command, name: string): void {
  const bare = new Command(command.name()).copyInheritedSettings(command);
  for (const part of command.commands) bare.command(part.name());
  bare.parse([name], { from: 'user' });
}

/** The command that a line names beyond doubt; undefined for any other, such as a call for help. */
function commandIn(words: readonly string[]): string | undefined {
  const [name] = withoutGlobalFlags(words);
  return name !== undefined && Object.hasOwn(commandLoaders, name) ? name : undefined;
}

/**
 * The program with all its commands, or with one; also what docs/cli.md is checked against. Help and the word about a
 * wrong command know all of them.
 */
export async function buildProgram(
  context: CommandContext,
  streams: Record<'stdout' | 'stderr', Pick<Sink, 'write'>>,
  only?: string,
): Promise<Command> {
  const program = new Command('mobility')
    .description('Mobility data service: phones push what they sensed, the pipeline turns it into a diary of trips.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .option('--store <address>', 'store: sqlite:FOLDER or mongodb://… (MOBILITY_STORE; default sqlite:./data)')
    .option('--log-dir <folder>', "folder of the log files (MOBILITY_LOG_DIR; default: logs in the store's folder)")
    .option('--json', 'print results as JSON')
    .option('--debug', 'print the stack of an error (MOBILITY_DEBUG)')
    .addHelpText(
      'after',
      '\nExit codes: 0 ok, 1 failed, 2 wrong usage, 3 partly done, 130 interrupted.\nManual: docs/cli.md',
    );
  const loaders = only === undefined ? Object.values(commandLoaders) : [commandLoaders[only]!];
  for (const factory of await Promise.all(loaders.map((load) => load()))) program.addCommand(factory(context));
  const shape = (command: Command): void => {
    command
      .exitOverride()
      .showHelpAfterError('(add --help for how to use it)')
      .addHelpText('before', ({ error }) => (error ? 'mobility: MOBILITY_USAGE: expected one of these commands' : ''))
      .configureHelp({
        showGlobalOptions: command !== program,
        sortSubcommands: true,
        helpWidth: context.output.columns,
      })
      .configureOutput({
        writeOut: (text) => streams.stdout.write(text),
        writeErr: (text) => streams.stderr.write(text),
        outputError: (text, write) => write(text.replace(/^error: /, 'mobility: MOBILITY_USAGE: ')),
      });
    for (const child of command.commands) shape(child);
  };
  shape(program);
  return program;
}

/** Tells people what went wrong, in one line; returns the exit code. */
function report(
  error: unknown,
  { stderr, debug, interrupted }: { stderr: ContextOptions['stderr']; debug: boolean; interrupted: boolean },
): number {
  if (error instanceof OutputClosed) return exitCodes.ok;
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage; // it has printed
  if (interrupted) return exitCodes.interrupted;
  const known = isMobilityError(error);
  const text = errorText(error).replace(/\s*\n\s*/g, ' ');
  stderr.write(`mobility: ${known ? `${error.code}: ` : ''}${text}\n`);
  if (debug && error instanceof Error) stderr.write(`${stackOf(error)}\n`);
  return isMobilityError(error, 'MOBILITY_USAGE', 'MOBILITY_CONFIG', 'MOBILITY_STORE_ADDRESS')
    ? exitCodes.usage
    : exitCodes.failed;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}

const isSet = (value: string | undefined): boolean =>
  !['', '0', 'false', 'no', 'off'].includes((value ?? '').toLowerCase());

function processSurroundings(): ContextOptions {
  return {
    env: process.env,
    stdout: sinkOf(process.stdout),
    stderr: sinkOf(process.stderr),
    stdin: process.stdin,
    now: () => Date.now() / 1000,
    // Read only when a command asks for it: the first use of time zones takes a tenth of the start.
    get zone() {
      return hostZone();
    },
  };
}
