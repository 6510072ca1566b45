import { Command, InvalidArgumentError, type OptionValues } from '@commander-js/extra-typings';
import type { LoggedCall } from '../../log/calls.ts';
import { CallTracker, callJson, callOutcome, callTime, createLogText, isPut } from '../../log/calls.ts';
import { LineFold } from '../../log/line-fold.ts';
import { type LogLine, type ReadOptions, readLogs } from '../../log/read-log.ts';
import { isUuid } from '../../model/ids.ts';
import { usageError } from '../../model/mobility-error.ts';
import { DocumentedCommand, type OptionsOf, timeArgument } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted } from '../output.ts';

const lateEnd = 600; // s after `--until` in which to look for the END of a call

export function command(context: CommandContext) {
  const calls = callFlags(context)
    .name('calls')
    .description('show calls with time, user, duration and result (the default)')
    .action(context.run((_, flags) => showCalls(context, flags, false)));
  const put = callFlags(context)
    .name('put')
    .description('show each put step by step, with the step that failed')
    .action(context.run((_, flags) => showCalls(context, flags, true)));
  const errors = withLogFlags(new Command('errors'), context)
    .description('show warnings, errors, and calls without an end')
    .action(context.run(showErrors));
  return new DocumentedCommand('logs')
    .examples(`
  mobility logs --since 2h
  mobility logs --user ada@example.org --failed --json
  mobility logs --path /usercache/ --slow 0.5 --follow
  mobility logs put --since 2026-11-21
  mobility logs errors --since 1d

Exit code 3: a file could not be read to its end; lines may be missing.
Files and formats: docs/logs.md`)
    .usage('[calls|put|errors] [options]')
    .addCommand(calls, { isDefault: true })
    .addCommand(put)
    .addCommand(errors);
}

const callFlags = (context: CommandContext) =>
  withLogFlags(
    new Command()
      .option('--user <name>', 'calls of one user, by name or UUID')
      .option('--path <path>', 'calls whose path begins with this, such as /usercache/put')
      .option('--slow <seconds>', 'calls that took at least this long', secondsArgument)
      .option('--failed', 'calls that failed or have no end'),
    context,
  );

type LogFlags = Pick<CallFlags, 'since' | 'until' | 'follow'>;
type CallFlags = OptionsOf<typeof callFlags>;

function withLogFlags<Flags extends OptionValues>(command: Command<[], Flags>, context: CommandContext) {
  const since = 'this time and later: 2h (ago), 3d, 10:00, yesterday, monday, 2026-11-21, 2026-11-21T09:30';
  return command
    .option('--since <time>', since, timeArgument(context, 'from'))
    .option('--until <time>', 'up to this time; a day is included as a whole', timeArgument(context, 'to'))
    .option('-f, --follow', 'keep showing new lines until Ctrl-C');
}

function secondsArgument(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected seconds, such as 0.5.');
}

interface Reader {
  kinds?: ReadOptions['kinds'];
  /** Runs once for each HTTP call: at its END line, or after the last line if it has none. */
  onCall: (call: LoggedCall) => Promise<void>;
  onLine?: (line: LogLine, call: LoggedCall | undefined) => Promise<void> | undefined;
  summary: () => string;
}

/** Returns exit code 0 also after Ctrl-C, which is the usual way to end `--follow`. */
async function read(context: CommandContext, flags: LogFlags, reader: Reader): Promise<Outcome> {
  const { since = 0, until = Infinity } = flags;
  const { logDir: dir } = context.config();
  if (since >= until) {
    const [from, to] = [since, until].map((ts) => new Date(ts * 1000).toISOString());
    throw usageError(`expected a time in --since that is before --until, found ${from} and ${to}`);
  }
  const { kinds } = reader;
  const follow = flags.follow && context.interruptible();
  const { lines, stats } = readLogs({ dir, follow, kinds, since: flags.since, until: until + lateEnd });
  const tracker = new CallTracker();
  const showAll = async (calls: LoggedCall[]): Promise<void> => {
    for (const call of calls.filter((one) => callTime(one) >= since && callTime(one) < until))
      await reader.onCall(call);
  };
  for await (const line of lines) {
    const { call, done } = tracker.add(line);
    if (done.length > 0) await showAll(done);
    if (line.time < until) await reader.onLine?.(line, call);
  }
  if (!follow) await showAll(tracker.open());
  const skipped = stats.unreadable.map(({ file, reason }) => `${file} could not be read to its end (${reason})`);
  if (stats.foreign > 0) skipped.unshift(`${counted(stats.foreign, 'line')} not understood`);
  context.output.note([reader.summary(), ...skipped].join('; '));
  return { exitCode: stats.unreadable.length > 0 ? 3 : 0 };
}

async function showCalls(context: CommandContext, flags: CallFlags, onlyPuts: boolean): Promise<Outcome> {
  const { output, zone } = context;
  const { path = '', slow = 0, failed } = flags;
  const text = createLogText(zone);
  const user = flags.user === undefined ? null : await uuidOf(context, flags.user);
  const count = { ok: 0, failed: 0, unfinished: 0 };
  const all = (): number => count.ok + count.failed + count.unfinished;
  const onCall = async (call: LoggedCall): Promise<void> => {
    const outcome = callOutcome(call);
    if ((user !== null && call.user_id !== user) || (onlyPuts && !isPut(call))) return;
    if (!call.path.startsWith(path) || (call.seconds ?? 0) < slow || (failed && outcome === 'ok')) return;
    if (all() === 0 && !output.json && !onlyPuts) await output.line(text.titles());
    count[outcome] += 1;
    if (output.json) await output.line(JSON.stringify(callJson(call)));
    else await output.line(onlyPuts ? `${text.put(call)}\n` : text.call(call));
  };
  const summary = (): string => `${counted(all(), 'call')}, ${count.failed} failed, ${count.unfinished} without an end`;
  return read(context, flags, { kinds: ['server'], onCall, summary });
}

/** Does not look up a UUID in the store: people also read the logs because the store fails. */
async function uuidOf(context: CommandContext, nameOrUuid: string): Promise<string> {
  const uuid = nameOrUuid.toLowerCase();
  return isUuid(uuid) ? uuid : (await context.findUser(nameOrUuid)).uuid;
}

function showErrors(context: CommandContext, flags: LogFlags): Promise<Outcome> {
  const { output, zone } = context;
  const text = createLogText(zone);
  const count = { lines: 0, calls: 0 };
  const fold = new LineFold();
  const summary = () =>
    `${counted(count.lines, 'warning or error', 'warnings and errors')}, ${counted(count.calls, 'call')} without an end`;
  return read(context, flags, {
    onCall: async (call) => {
      if (callOutcome(call) !== 'unfinished') return;
      count.calls += 1;
      await output.line(output.json ? JSON.stringify({ kind: 'call', ...callJson(call) }) : text.call(call));
    },
    onLine: (line, call) => {
      if (line.level !== 'WARNING' && line.level !== 'ERROR') return;
      count.lines += 1;
      const record = { kind: 'line', ...line, user_id: call?.user_id ?? null };
      if (output.json) return output.line(JSON.stringify(record));
      return fold.isNew(line.message) ? output.line(text.line(line)) : undefined;
    },
    summary: () => [...fold.rest(), summary()].join('\n'),
  });
}
