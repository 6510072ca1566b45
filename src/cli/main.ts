import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { hostZone } from '../log/line-format.ts';
import { printable } from '../log/text.ts';
import { errorText, isMobilityError, stackText } from '../model/mobility-error.ts';
import { packageVersion } from '../util/program-version.ts';
import { auditCommand } from './audit-action.ts';
import { CommandContext, type ContextOptions } from './context.ts';
import { OutputClosed, type Sink, sinkOf } from './output.ts';

const exitCodes = { ok: 0, failed: 1, usage: 2, partly: 3, interrupted: 130 } as const;

/** Descriptions of commands by task. Each command has a file of its name in `commands/`. */
const commandGroups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Set up': {
    config: 'show the effective settings and where each comes from',
    managers: 'manage accounts of people who manage studies in a browser',
    migrate: 'copy a whole store to another one and verify that both are equal',
    serve: 'run the server for phones until SIGTERM or Ctrl-C',
    store: 'prepare and check the store',
    study: "manage studies that people join with today's e-mission app",
    transit: 'manage transit feeds (GTFS), the evidence for modes and lines',
  },
  'Every day': {
    audit: 'show who did what to whose data, and how it ended',
    backup: 'copy the embedded store while server and pipeline keep running',
    doctor: 'find what is wrong with the installation, or the first failing step of one person, and its remedy',
    logs: 'read the log files of server and pipeline',
    pipeline: 'process pushed entries into trips and day documents',
    status: 'show who needs attention, what arrives, what is pending, and the state of the installation',
  },
  'People and their days': {
    correct: 'correct a day of a user, or list and undo corrections, and run the pipeline of the user',
    days: 'list days with trips, kilometres, observed time and flags',
    diary: 'show days of a user: times, places, modes and distances',
    erase: 'remove all data of users and verify that none is left',
    explain: 'explain a day of the diary: the rules, probabilities and readings that decided it',
    import: 'import exports, an e-mission database, or recordings of other apps',
    label: 'label a trip with mode and purpose, on behalf of its user',
    retain: 'remove data that are older than a given age',
    users: 'register and list users, and manage their tokens',
  },
  Research: {
    evaluate: 'score the analysis on recorded days with known truth, or by labels of users',
    export: 'write trips, sections, places, points, days, labels and entries to files for other programs',
    report: 'report trips, kilometres and minutes of all users, without figures that reveal a person',
  },
  Repair: {
    'debug-bundle': 'write a day as a case for a bug report, moved in place and time, without personal data',
    errors: 'show the rejected entries by reason, key, platform and version of the app; faults of the program first',
    'purge-keys': 'remove documents with obsolete keys',
    rebuild: 'derive trips again and report what changed',
    'recover-errors': 'retry the entries that could not be converted, by default of every user',
  },
  'Try out': {
    simulate: 'simulate people and push the data of their phones',
  },
};

/** Resolves with the exit code. Never rejects. Tests pass their own `surroundings`. */
export async function main(
  argv: readonly string[],
  surroundings: ContextOptions = processSurroundings(),
): Promise<number> {
  const context = new CommandContext(surroundings);
  let debug = isSet(surroundings.env.MOBILITY_DEBUG);
  const json = argv.includes('--json');
  let code: number;
  let ran: CommandUnknownOpts | null = null;
  let printed: Promise<unknown> = Promise.resolve();
  // Commander does not wait until its help is written, so `printed` keeps the error of a write.
  const print = (text: string): boolean => {
    const writing = context.output.write(text);
    printed = Promise.all([printed, writing]);
    printed.catch(() => {});
    return true;
  };
  try {
    const streams = { stdout: { write: print }, stderr: surroundings.stderr };
    const program = await buildProgram(context, streams, argv.slice(2), json);
    program.hook('preAction', (_, command) => {
      const { store, logDir, json = false, quiet = false, debug: asked = false } = program.opts();
      debug ||= asked;
      Object.assign(context.flags, { json, quiet, debug, settings: { store, logDir } });
      ran = command;
    });
    await program.parseAsync(argv.length > 2 ? [...argv] : [...argv, '--help']);
    code = context.outcome.exitCode ?? exitCodes.ok;
  } catch (error) {
    const first = await printed.then(() => error).catch((failure) => failure);
    code = report(first, surroundings.stderr, { json, debug, interrupted: context.signal.aborted });
  }
  if (ran !== null && code !== exitCodes.usage) await auditCommand(context, ran, code);
  try {
    await context.close();
  } catch (error) {
    code = report(error, surroundings.stderr, { json, debug, interrupted: false });
  }
  return context.signal.aborted && context.outcome.exitCode === undefined ? exitCodes.interrupted : code;
}

/** Loads only the commands in `words`. The others have only names, for help and errors. */
export async function buildProgram(
  context: CommandContext,
  streams: Record<'stdout' | 'stderr', Pick<Sink, 'write'>>,
  words?: readonly string[],
  json = false,
) {
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
  for (const [group, members] of Object.entries(commandGroups)) {
    for (const [name, description] of Object.entries(members)) {
      const isNamed = words === undefined || words.includes(name);
      const command = isNamed ? await loadCommand(name, context) : new Command(name);
      program.addCommand(command.description(description).helpGroup(`${group}:`));
    }
  }
  const setUp = (command: CommandUnknownOpts): void => {
    command
      .exitOverride()
      .showHelpAfterError(json ? false : '(add --help for how to use it)')
      .addHelpText('before', ({ error }) => (error ? 'mobility: MOBILITY_USAGE: expected one of the commands' : ''))
      .configureHelp({ sortSubcommands: command !== program, helpWidth: context.output.columns })
      .configureOutput({
        writeOut: (text) => streams.stdout.write(text),
        writeErr: (text) => streams.stderr.write(text),
        outputError: (message, write) => {
          const text = message.replace(/^error: /, '');
          write(json ? errorLine('MOBILITY_USAGE', text.trim(), json) : `mobility: MOBILITY_USAGE: ${text}`);
        },
      });
    if (command !== program) command.addHelpText('after', '\nFlags of every command: mobility --help');
    for (const child of command.commands) setUp(child);
  };
  setUp(program);
  return program;
}

/** Loads one command, because loading all commands takes longer than most commands run. */
async function loadCommand(name: string, context: CommandContext): Promise<CommandUnknownOpts> {
  const file: { command(context: CommandContext): CommandUnknownOpts } = await import(`./commands/${name}.ts`);
  return file.command(context);
}

function report(
  error: unknown,
  stderr: Sink,
  { json, debug, interrupted }: Record<'json' | 'debug' | 'interrupted', boolean>,
): number {
  if (error instanceof OutputClosed) return exitCodes.ok;
  // Commander has printed its errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (interrupted) return exitCodes.interrupted;
  stderr.write(errorLine(isMobilityError(error) ? error.code : null, errorText(error), json));
  if (debug) stderr.write(`${stackText(error)}\n`);
  return isMobilityError(error, 'MOBILITY_USAGE', 'MOBILITY_CONFIG', 'MOBILITY_STORE_ADDRESS', 'MOBILITY_USER_UNKNOWN')
    ? exitCodes.usage
    : exitCodes.failed;
}

function errorLine(code: string | null, text: string, json: boolean): string {
  const message = printable(text.replace(/\s*\n\s*/g, ' '));
  if (json) return `${JSON.stringify({ error: { code, message } })}\n`;
  return `mobility: ${code === null ? '' : `${code}: `}${message}\n`;
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
    // Read on demand, because the first use of time zones takes a tenth of the time to start.
    get zone() {
      return hostZone();
    },
  };
}
