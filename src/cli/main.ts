// The program: its commands, its global flags, and how a result or an error becomes an exit code.

import { Command, CommanderError } from 'commander';
import { hostZone } from '../log/format.ts';
import { printable } from '../log/text.ts';
import { errorText, isMobilityError } from '../model/errors.ts';
import { type CommandContext, type ContextOptions, createContext } from './context.ts';
import { noteAct } from './note-act.ts';
import { OutputClosed, type Sink, sinkOf } from './output.ts';
import { packageVersion } from './version.ts';

/** Exit codes of every command. */
const exitCodes = { ok: 0, failed: 1, usage: 2, partly: 3, interrupted: 130 } as const;

/**
 * Every command, by task and name. Only the one that runs is loaded: loading all takes longer than most take to run.
 */
const commandGroups: Readonly<Record<string, Readonly<Record<string, CommandLoader>>>> = {
  'Set up': {
    config: async () => (await import('./commands/config.ts')).configCommand,
    managers: async () => (await import('./commands/managers.ts')).managersCommand,
    migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
    serve: async () => (await import('./commands/serve.ts')).serveCommand,
    store: async () => (await import('./commands/store.ts')).storeCommand,
    study: async () => (await import('./commands/study.ts')).studyCommand,
  },
  'Every day': {
    audit: async () => (await import('./commands/audit.ts')).auditCommand,
    backup: async () => (await import('./commands/backup.ts')).backupCommand,
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
    logs: async () => (await import('./commands/logs.ts')).logsCommand,
    pipeline: async () => (await import('./commands/pipeline.ts')).pipelineCommand,
    status: async () => (await import('./commands/status.ts')).statusCommand,
  },
  'People and their days': {
    correct: async () => (await import('./commands/correct.ts')).correctCommand,
    days: async () => (await import('./commands/days.ts')).daysCommand,
    diary: async () => (await import('./commands/diary.ts')).diaryCommand,
    erase: async () => (await import('./commands/erase.ts')).eraseCommand,
    explain: async () => (await import('./commands/explain.ts')).explainCommand,
    import: async () => (await import('./commands/import.ts')).importCommand,
    label: async () => (await import('./commands/label.ts')).labelCommand,
    retain: async () => (await import('./commands/retain.ts')).retainCommand,
    users: async () => (await import('./commands/users.ts')).usersCommand,
  },
  Research: {
    evaluate: async () => (await import('./commands/evaluate.ts')).evaluateCommand,
    export: async () => (await import('./commands/export.ts')).exportCommand,
    report: async () => (await import('./commands/report.ts')).reportCommand,
  },
  Repair: {
    'debug-bundle': async () => (await import('./commands/debug-bundle.ts')).debugBundleCommand,
    errors: async () => (await import('./commands/errors.ts')).errorsCommand,
    'purge-keys': async () => (await import('./commands/purge-keys.ts')).purgeKeysCommand,
    rebuild: async () => (await import('./commands/rebuild.ts')).rebuildCommand,
    'recover-errors': async () => (await import('./commands/recover-errors.ts')).recoverErrorsCommand,
  },
  'Try out': {
    licences: async () => (await import('./commands/licences.ts')).licencesCommand,
    simulate: async () => (await import('./commands/simulate.ts')).simulateCommand,
  },
};
const commandLoaders = Object.assign({}, ...Object.values(commandGroups)) as Readonly<Record<string, CommandLoader>>;

type CommandLoader = () => Promise<(context: CommandContext) => Command>;

/**
 * Runs one command line and resolves with its exit code: 0 ok, 1 failed, 2 wrong usage, 3 partly done, 130 interrupted.
 * Never rejects. `surroundings`: those of the process, unless a test passes others.
 */
export async function main(
  argv: readonly string[],
  surroundings: ContextOptions = processSurroundings(),
): Promise<number> {
  const context = createContext(surroundings);
  let debug = isSet(surroundings.env.MOBILITY_DEBUG);
  const json = argv.includes('--json');
  let code: number;
  let ran: Command | null = null;
  let printed: Promise<unknown> = Promise.resolve();
  // Commander prints help without waiting for it.
  const print = (text: string): boolean => {
    const writing = context.output.write(text);
    printed = Promise.all([printed, writing]);
    printed.catch(() => {});
    return true;
  };
  try {
    const streams = { stdout: { write: print }, stderr: surroundings.stderr };
    const program = await buildProgram(context, streams, commandIn(argv.slice(2)), json);
    program.hook('preAction', (_, command) => {
      const { store, logDir, json = false, quiet = false, debug: asked } = command.optsWithGlobals();
      debug ||= asked === true;
      context.setFlags({ json, quiet, debug, settings: { store, logDir } });
      ran = command;
    });
    await program.parseAsync(argv.length > 2 ? [...argv] : [...argv, '--help']);
    code = context.outcome.exitCode ?? exitCodes.ok;
  } catch (error) {
    const first = await printed.then(
      () => error,
      (failure) => failure,
    );
    code = report(first, { stderr: surroundings.stderr, json, debug, interrupted: context.signal.aborted });
  }
  if (ran !== null && code !== exitCodes.usage) await noteAct(context, ran, code);
  try {
    await context.close();
  } catch (error) {
    code = report(error, { stderr: surroundings.stderr, json, debug, interrupted: false });
  }
  return context.signal.aborted && context.outcome.exitCode === undefined ? exitCodes.interrupted : code;
}

/** The command that a line names with its first word; undefined for all others, such as `help`. */
function commandIn([name]: readonly string[]): string | undefined {
  return name !== undefined && Object.hasOwn(commandLoaders, name) ? name : undefined;
}

/** The program with all commands, or with `only` one. Help and the error about a wrong command need all of them. */
export async function buildProgram(
  context: CommandContext,
  streams: Record<'stdout' | 'stderr', Pick<Sink, 'write'>>,
  only?: string,
  json = false,
): Promise<Command> {
  const program = new Command('mobility')
    .description('Mobility data service: phones push what they sensed, the pipeline turns it into a diary of trips.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .option('--store <address>', 'store: sqlite:FOLDER or mongodb://… (MOBILITY_STORE; default sqlite:./data)')
    .option('--log-dir <folder>', "folder of the log files (MOBILITY_LOG_DIR; default: logs in the store's folder)")
    .option('--json', 'print results as JSON')
    .option('--quiet', 'print results and errors only: no notes, no progress')
    .option('--debug', 'print the stack of an error (MOBILITY_DEBUG)')
    .addHelpText(
      'after',
      '\nExit codes: 0 ok, 1 failed, 2 wrong usage, 3 partly done, 130 interrupted.\nManual: docs/cli.md',
    );
  const loaders = only === undefined ? Object.values(commandLoaders) : [commandLoaders[only]!];
  const factories = new Map(await Promise.all(loaders.map(async (load) => [load, await load()] as const)));
  for (const [group, members] of Object.entries(commandGroups)) {
    for (const load of Object.values(members)) {
      const factory = factories.get(load);
      if (factory !== undefined) program.addCommand(factory(context).helpGroup(`${group}:`));
    }
  }
  const shape = (command: Command): void => {
    command
      .exitOverride()
      .showHelpAfterError(json ? false : '(add --help for how to use it)')
      .addHelpText('before', ({ error }) => (error ? 'mobility: MOBILITY_USAGE: expected one of these commands' : ''))
      .configureHelp({
        sortSubcommands: command !== program,
        helpWidth: context.output.columns,
      })
      .configureOutput({
        writeOut: (text) => streams.stdout.write(text),
        writeErr: (text) => streams.stderr.write(text),
        outputError: (text, write) =>
          write(
            json
              ? errorLine('MOBILITY_USAGE', text.replace(/^error: /, '').trim(), json)
              : text.replace(/^error: /, 'mobility: MOBILITY_USAGE: '),
          ),
      });
    if (command !== program) command.addHelpText('after', '\nFlags of every command: mobility --help');
    for (const child of command.commands) shape(child);
  };
  shape(program);
  return program;
}

/** Writes what went wrong in one line; returns the exit code. */
function report(
  error: unknown,
  {
    stderr,
    json,
    debug,
    interrupted,
  }: Pick<ContextOptions, 'stderr'> & Record<'json' | 'debug' | 'interrupted', boolean>,
): number {
  if (error instanceof OutputClosed) return exitCodes.ok;
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage; // commander has printed it
  if (interrupted) return exitCodes.interrupted;
  stderr.write(errorLine(isMobilityError(error) ? error.code : null, errorText(error), json));
  if (debug && error instanceof Error) stderr.write(`${stackOf(error)}\n`);
  return isMobilityError(error, 'MOBILITY_USAGE', 'MOBILITY_CONFIG', 'MOBILITY_STORE_ADDRESS', 'MOBILITY_USER_UNKNOWN')
    ? exitCodes.usage
    : exitCodes.failed;
}

/** One line; with `--json` `{"error": {"code", "message"}}`, where the code may be null. */
function errorLine(code: string | null, text: string, json: boolean): string {
  const message = printable(text.replace(/\s*\n\s*/g, ' '));
  if (json) return `${JSON.stringify({ error: { code, message } })}\n`;
  return `mobility: ${code === null ? '' : `${code}: `}${message}\n`;
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
