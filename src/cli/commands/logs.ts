// `mobility logs`: calls, puts step by step, one user's story, and what went wrong, read back from the log files.
import { Command } from 'commander';
import { callOutcome, callTime, createCallTracker, isPut, type LoggedCall } from '../../log/calls.ts';
import { parseMessage } from '../../log/messages.ts';
import type { LogKind } from '../../log/names.ts';
import { type LogLine, type ReadStats, readLogs } from '../../log/read.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { type LogFlags, refuseEmptyRange, type UserMeant, userMeant, withLogFlags } from '../log-query.ts';
import { createLogScreen } from '../log-screen.ts';
import { callJson, createLogText, type LogText, lineJson, resultText } from '../log-text.ts';
import { counted } from '../output.ts';

const lateEnd = 600; // s beyond `--until` in which the END of a call is looked for
const mostNames = 10_000; // of users that `errors` remembers

/** Reads the server's and the pipeline's log files back; without a subcommand it shows calls. */
export function logsCommand(context: CommandContext): Command {
  const calls = withLogFlags(new Command('calls'), context, { calls: true })
    .description('show calls with time, user, duration and result (the default)')
    .action(context.run((flags: LogFlags) => showCalls(context, flags)));
  const put = withLogFlags(new Command('put'), context, { calls: true })
    .description('show each put step by step, with the step that failed')
    .action(context.run((flags: LogFlags) => showPuts(context, flags)));
  const user = withLogFlags(new Command('user'), context, { calls: false })
    .description('show the events of one user in server and pipeline logs')
    .argument('<name>', 'name or UUID')
    .action(context.run((name: string, flags: LogFlags) => showStory(context, name, flags)));
  const errors = withLogFlags(new Command('errors'), context, { calls: false })
    .description('show warnings, errors, and calls without an end')
    .action(context.run((flags: LogFlags) => showErrors(context, flags)));
  return new Command('logs')
    .description('read the log files of server and pipeline')
    .usage('[calls|put|user|errors] [options]')
    .addHelpText('after', examples)
    .addCommand(calls, { isDefault: true })
    .addCommand(put)
    .addCommand(user)
    .addCommand(errors);
}

const examples = `
Examples:
  mobility logs --since 2h
  mobility logs --user ada@example.org --failed --json
  mobility logs --path /usercache/ --slow 0.5 --follow
  mobility logs put --since 2026-11-21
  mobility logs user ada@example.org --since 1d
  mobility logs errors --since 1d

Exit code 3: a file could not be read to its end; lines may be missing.
Files and formats: docs/logs.md`;

// ---------------------------------------------------------------- reading

interface Reading {
  flags: LogFlags;
  kinds?: readonly LogKind[];
  /** Called for each call when it is complete, and at the end for those that are not. */
  onCall: (call: LoggedCall) => Promise<void>;
  /** Called for each line, in order; `call`: the one it belongs to. */
  onLine?: (line: LogLine, call: LoggedCall | undefined) => Promise<void> | undefined;
}

/** Reads what the flags ask for. Ctrl-C is the proper end of `--follow`. */
async function readThrough(
  context: CommandContext,
  { flags, kinds, onCall, onLine = () => undefined }: Reading,
): Promise<ReadStats> {
  const { since, until, follow, dir = context.config().logDir } = flags;
  refuseEmptyRange(flags, context.zone);
  const tracker = createCallTracker();
  const { lines, stats } = readLogs({
    dir,
    ...(kinds && { kinds }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until: until + lateEnd }),
    ...(follow && { follow, signal: context.interruptible() }),
  });
  for await (const batch of lines) {
    for (const line of batch) {
      for (const call of tracker.add(line)) await onCall(call);
      const pending = onLine(line, tracker.current());
      if (pending !== undefined) await pending;
    }
  }
  if (!follow) for (const call of tracker.open()) await onCall(call);
  return stats;
}

/** Ends a command with a note: the number of results, and what was skipped. */
function conclude(context: CommandContext, stats: ReadStats, flags: LogFlags, found: string): Outcome {
  const { output } = context;
  const passedOver = [
    ...(stats.foreign > 0 ? [`${counted(stats.foreign, 'line')} not understood`] : []),
    ...(stats.torn > 0 ? [`${counted(stats.torn, 'line')} cut short`] : []),
    ...stats.unreadable.map(({ file, reason }) => `${file} could not be read to its end (${reason})`),
  ];
  output.note([found, ...passedOver].join('; '));
  if (stats.unreadable.length > 0) return { exitCode: 3 };
  return flags.follow ? { exitCode: 0 } : {};
}

/** People at a terminal get what fits on it; programs and files get everything in one line. */
function textFor({ zone, output }: CommandContext): LogText {
  return output.isTerminal ? createLogScreen(zone, output) : createLogText(zone);
}

// ---------------------------------------------------------------- calls

/** Reads calls and hands on those that the flags ask for. Returns what to say at the end. */
async function readCalls(
  context: CommandContext,
  flags: LogFlags,
  show: (call: LoggedCall) => Promise<void>,
  wanted: (call: LoggedCall) => boolean = () => true,
): Promise<Outcome> {
  const user = flags.user === undefined ? null : await userMeant(context, flags.user);
  const found = { ok: 0, failed: 0, unfinished: 0 };
  const onCall = async (call: LoggedCall): Promise<void> => {
    if (!wanted(call) || !isAskedFor(call, flags, user)) return;
    found[callOutcome(call)] += 1;
    await show(call);
  };
  const stats = await readThrough(context, { flags, kinds: ['server'], onCall });
  const all = found.ok + found.failed + found.unfinished;
  const text = `${counted(all, 'call')}, ${found.failed} failed, ${found.unfinished} without an end`;
  return conclude(context, stats, flags, text);
}

function isAskedFor(call: LoggedCall, { path, since, until, slow, failed }: LogFlags, user: UserMeant | null): boolean {
  const time = callTime(call);
  return (
    (user === null || isOf(call, user)) &&
    (path === undefined || call.path.startsWith(path)) &&
    (since === undefined || time >= since) &&
    (until === undefined || time < until) &&
    (slow === undefined || (call.seconds ?? 0) >= slow) &&
    (failed !== true || callOutcome(call) !== 'ok')
  );
}

/** True for the user's calls; learns their UUID from them if only the name is known. */
function isOf(call: LoggedCall, user: UserMeant): boolean {
  if (user.uuid === null && call.user_email === user.email && call.user_id !== null) user.uuid = call.user_id;
  return user.uuid === null ? call.user_email !== null && call.user_email === user.email : call.user_id === user.uuid;
}

async function showCalls(context: CommandContext, flags: LogFlags): Promise<Outcome> {
  const { output } = context;
  const text = textFor(context);
  let titled = output.json;
  const outcome = await readCalls(context, flags, async (call) => {
    if (!titled) await output.line(text.callTitles());
    titled = true;
    await output.line(output.json ? JSON.stringify(callJson(call)) : text.call(call));
  });
  if (text.hasCut()) output.note('Paths and names that end with … were cut: --json, or a pipe, gives them whole.');
  return outcome;
}

async function showPuts(context: CommandContext, flags: LogFlags): Promise<Outcome> {
  const { output } = context;
  const text = textFor(context);
  const show = (call: LoggedCall): Promise<void> =>
    output.line(output.json ? JSON.stringify(callJson(call)) : `${text.put(call)}\n`);
  return readCalls(context, flags, show, isPut);
}

// ---------------------------------------------------------------- one user

/** Calls when they end, and everything that the pipeline said about the user. */
async function showStory(context: CommandContext, name: string, flags: LogFlags): Promise<Outcome> {
  const { output } = context;
  const text = textFor(context);
  const user = await userMeant(context, name);
  let found = 0;
  const onCall = async (call: LoggedCall): Promise<void> => {
    if (!isAskedFor(call, flags, user)) return;
    found += 1;
    const time = call.end_ts ?? callTime(call);
    const told = [`${call.method} ${call.path}`, call.status ?? '-', `in ${call.seconds ?? '-'} s`, resultText(call)];
    const said = { ...call, time, level: callOutcome(call) === 'ok' ? 'INFO' : 'WARNING' } as const;
    await output.line(
      output.json
        ? JSON.stringify({ kind: 'call', time, ...callJson(call) })
        : text.line(said, null, told.join(' ').trimEnd()),
    );
  };
  const onLine = (line: LogLine): Promise<void> | undefined => {
    if (line.source.startsWith('server') || user.uuid === null || isBeyond(line, flags)) return;
    if (parseMessage(line.message)?.user_id !== user.uuid) return;
    found += 1;
    return output.line(
      output.json
        ? JSON.stringify({ kind: 'line', ...lineJson(line) })
        : text.line(line, null, line.message.replace(`UUID ${user.uuid}: `, '')),
    );
  };
  const stats = await readThrough(context, { flags, onCall, onLine });
  return conclude(context, stats, flags, counted(found, 'event'));
}

const isBeyond = ({ time }: LogLine, { until }: LogFlags): boolean => until !== undefined && time >= until;

// ---------------------------------------------------------------- what went wrong

async function showErrors(context: CommandContext, flags: LogFlags): Promise<Outcome> {
  const { output } = context;
  const text = textFor(context);
  const found = { lines: 0, calls: 0 };
  const names = new Map<string, string>(); // by UUID, from the lines of calls
  const onCall = async (call: LoggedCall): Promise<void> => {
    if (callOutcome(call) !== 'unfinished' || !isAskedFor(call, flags, null)) return;
    found.calls += 1;
    const said = { ...call, time: callTime(call), level: 'WARNING' } as const;
    const who = call.user_email ?? call.user_id ?? '-';
    await output.line(
      output.json
        ? JSON.stringify({ kind: 'call', ...callJson(call) })
        : text.line(said, who, `${call.method} ${call.path}: ${resultText(call)}`),
    );
  };
  const onLine = (line: LogLine, call?: LoggedCall): Promise<void> | undefined => {
    if (call?.user_id && call.user_email && names.size < mostNames) names.set(call.user_id, call.user_email);
    if ((line.level !== 'WARNING' && line.level !== 'ERROR') || isBeyond(line, flags)) return;
    found.lines += 1;
    const user = call === undefined ? (parseMessage(line.message)?.user_id ?? null) : call.user_id;
    const who = user === null ? null : (names.get(user) ?? user);
    const told = line.message.replace(`UUID ${user}: `, '');
    return output.line(
      output.json ? JSON.stringify({ kind: 'line', ...lineJson(line), user_id: user }) : text.line(line, who, told),
    );
  };
  const stats = await readThrough(context, { flags, onCall, onLine });
  const told = `${counted(found.lines, 'warning or error', 'warnings and errors')}, ${counted(found.calls, 'call')} without an end`;
  return conclude(context, stats, flags, told);
}
