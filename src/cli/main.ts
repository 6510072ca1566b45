// The program: its commands in order, its global flags, and the one place where what happened becomes an exit code.
import { Command, CommanderError } from 'commander';
import { errorText, isMobilityError } from '../model/errors.ts';
import { backupCommand } from './commands/backup.ts';
import { configCommand } from './commands/config.ts';
import { diaryCommand } from './commands/diary.ts';
import { eraseCommand } from './commands/erase.ts';
import { evaluateCommand } from './commands/evaluate.ts';
import { exportCommand } from './commands/export.ts';
import { importCommand } from './commands/import.ts';
import { labelCommand } from './commands/label.ts';
import { logsCommand } from './commands/logs.ts';
import { migrateCommand } from './commands/migrate.ts';
import { pipelineCommand } from './commands/pipeline.ts';
import { purgeKeysCommand } from './commands/purge-keys.ts';
import { rebuildCommand } from './commands/rebuild.ts';
import { recoverErrorsCommand } from './commands/recover-errors.ts';
import { reportCommand } from './commands/report.ts';
import { serveCommand } from './commands/serve.ts';
import { simulateCommand } from './commands/simulate.ts';
import { statusCommand } from './commands/status.ts';
import { storeCommand } from './commands/store.ts';
import { studyCommand } from './commands/study.ts';
import { usersCommand } from './commands/users.ts';
import { type CommandContext, type ContextOptions, createContext } from './context.ts';
import { OutputClosed } from './output.ts';
import { packageVersion } from './version.ts';

/** Exit codes of every command. */
const exitCodes = { ok: 0, failed: 1, usage: 2, partly: 3, interrupted: 130 } as const;

/** Every command, by name. */
const commandFactories: readonly ((context: CommandContext) => Command)[] = [
  backupCommand,
  configCommand,
  diaryCommand,
  eraseCommand,
  evaluateCommand,
  exportCommand,
  importCommand,
  labelCommand,
  logsCommand,
  migrateCommand,
  pipelineCommand,
  purgeKeysCommand,
  rebuildCommand,
  recoverErrorsCommand,
  reportCommand,
  serveCommand,
  simulateCommand,
  statusCommand,
  storeCommand,
  studyCommand,
  usersCommand,
];

/**
 * Runs one command line and resolves with its exit code: 0 ok, 1 failed, 2 wrong usage, 3 partly done, 130 interrupted.
 * Never rejects. `surroundings` are those of the process unless a test brings its own.
 */
export async function main(
  argv: readonly string[],
  surroundings: ContextOptions = processSurroundings(),
): Promise<number> {
  const context = createContext(surroundings);
  const program = buildProgram(context, surroundings);
  let debug = isSet(surroundings.env.MOBILITY_DEBUG);
  program.hook('preAction', (_, command) => {
    const { store, logDir, json = false, debug: asked } = command.optsWithGlobals();
    context.setFlags({ json, settings: { store, logDir } });
    debug ||= asked === true;
  });
  let code: number;
  try {
    await program.parseAsync([...argv]);
    code = context.outcome.exitCode ?? exitCodes.ok;
  } catch (error) {
    code = report(error, { stderr: surroundings.stderr, debug, interrupted: context.signal.aborted });
  }
  try {
    await context.close();
  } catch (error) {
    code = report(error, { stderr: surroundings.stderr, debug, interrupted: false });
  }
  return context.signal.aborted && context.outcome.exitCode === undefined ? exitCodes.interrupted : code;
}

/** The program with all its commands; also what docs/cli.md is checked against. */
export function buildProgram(context: CommandContext, streams: Pick<ContextOptions, 'stdout' | 'stderr'>): Command {
  const program = new Command('mobility')
    .description('Mobility data service: phones push what they sensed, the pipeline turns it into a diary of trips.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .option('--store <address>', 'store: sqlite:FOLDER or mongodb://… (MOBILITY_STORE; default sqlite:./data)')
    .option('--log-dir <folder>', "folder of the log files (MOBILITY_LOG_DIR; default: logs in the store's folder)")
    .option('--json', 'print results as JSON')
    .option('--debug', 'print the stack of an error (MOBILITY_DEBUG)')
    .addHelpText('after', '\nExit codes: 0 ok, 1 failed, 2 wrong usage, 3 partly done.\nManual: docs/cli.md');
  for (const factory of commandFactories) program.addCommand(factory(context));
  const shape = (command: Command): void => {
    command
      .exitOverride()
      .showHelpAfterError('(add --help for how to use it)')
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
  // `mobility … | head` closes the pipe: what was going to be written no longer matters to anybody.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  return {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    now: () => Date.now() / 1000,
    zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}
