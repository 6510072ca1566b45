// `mobility logs`: calls, puts step by step, one user's events, and what failed, from the log files.
import { Command } from 'commander';
import { CallTracker, callOutcome, callTime, isPut, type LoggedCall } from '../../log/calls.ts';
import { parseMessage } from '../../log/messages.ts';
import { type LogLine, type ReadOptions, readLogs } from '../../log/read.ts';
import { isUuid } from '../../model/ids.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { type LogFlags, refuseEmptyRange, withLogFlags } from '../log-query.ts';
import { callJson, createLogText, resultText } from '../log-text.ts';
import { counted } from '../output.ts';

const lateEnd = 600; // s after `--until` in which the END of a call is searched
const mostNames = 10_000; // of users that `errors` remembers

/** Reads the log files of server and pipeline; without a subcommand it shows calls. */
export function logsCommand(context: CommandContext): Command {
  const command = (name: string, text: string, calls: boolean): Command =>
    withLogFlags(new Command(name), context, { calls }).description(text);
  return new Command('logs')
    .description('read the log files of server and pipeline')
    .usage('[calls|put|user|errors] [options]')
    .addHelpText('after', examples)
    .addCommand(
      command('calls', 'show calls with time, user, duration and result (the default)', true).action(
        context.run((flags: LogFlags) => showCalls(context, flags, false)),
      ),
      { isDefault: true },
    )
    .addCommand(
      command('put', 'show each put step by step, with the step that failed', true).action(
        context.run((flags: LogFlags) => showCalls(context, flags, true)),
      ),
    )
    .addCommand(
      command('user', 'show the events of one user in server and pipeline logs', false)
        .argument('<name>', 'name or UUID')
        .action(context.run((name: string, flags: LogFlags) => showUser(context, name, flags))),
    )
    .addCommand(
      command('errors', 'show warnings, errors, and calls without an end', false).action(
        context.run((flags: LogFlags) => showErrors(context, flags)),
      ),
    );
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

/** What a command does with the lines that its flags select. */
interface Reader {
  kinds?: ReadOptions['kinds'];
  /** Called for each call when it is complete, and at the end for the others. */
  onCall: (call: LoggedCall) => Promise<void>;
  /** Called for each line, with its call if it has one. */
  onLine?: (line: LogLine, call: LoggedCall | undefined) => Promise<void> | undefined;
  /** The note at the end. */
  summary: () => string;
}

/** Reads the lines that the flags select. Ctrl-C is the usual end of `--follow`. */
async function read(context: CommandContext, flags: LogFlags, reader: Reader): Promise<Outcome> {
  refuseEmptyRange(flags);
  const { since, until = Infinity, follow, dir = context.config().logDir } = flags;
  const tracker = new CallTracker();
  const { lines, stats } = readLogs({
    ...{ dir, until: until + lateEnd, ...(reader.kinds && { kinds: reader.kinds }) },
    ...(since !== undefined && { since }),
    ...(follow && { follow, signal: context.interruptible() }),
  });
  const onCall = async (call: LoggedCall): Promise<void> => {
    if (callTime(call) >= (since ?? -Infinity) && callTime(call) < until) await reader.onCall(call);
  };
  for await (const line of lines) {
    const { call, done } = tracker.add(line);
    for (const one of done) await onCall(one);
    const pending = line.time < until ? reader.onLine?.(line, call) : undefined;
    if (pending !== undefined) await pending;
  }
  if (!follow) for (const call of tracker.open()) await onCall(call);
  const skipped = [
    ...(stats.foreign > 0 ? [`${counted(stats.foreign, 'line')} not understood`] : []),
    ...stats.unreadable.map(({ file, reason }) => `${file} could not be read to its end (${reason})`),
  ];
  context.output.note([reader.summary(), ...skipped].join('; '));
  return { exitCode: stats.unreadable.length > 0 ? 3 : 0 };
}

/** Shows the calls that the flags select, or the puts among them step by step. */
async function showCalls(context: CommandContext, flags: LogFlags, onlyPuts: boolean): Promise<Outcome> {
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

/** A UUID needs no store: the logs may be there to find out what is wrong with it. */
async function uuidOf(context: CommandContext, nameOrUuid: string): Promise<string> {
  const uuid = nameOrUuid.toLowerCase();
  return isUuid(uuid) ? uuid : (await context.findUser(nameOrUuid)).uuid;
}

/** Shows the calls of a user when they end, and the lines of the pipeline about them. */
async function showUser(context: CommandContext, name: string, flags: LogFlags): Promise<Outcome> {
  const user = await uuidOf(context, name);
  const events = createEvents(context);
  return read(context, flags, {
    onCall: async (call) => {
      if (call.user_id !== user) return;
      const seconds = call.seconds === null ? '' : ` in ${call.seconds} s`;
      const text = `${call.method} ${call.path} ${call.status ?? '-'}${seconds} ${resultText(call)}`;
      await events.call(call, call.end_ts ?? callTime(call), null, text.trimEnd());
    },
    onLine: (line) => {
      const isTheirs = !line.source.startsWith('server') && parseMessage(line.message)?.user_id === user;
      return isTheirs ? events.line(line, user, null) : undefined;
    },
    summary: () => counted(events.count.lines + events.count.calls, 'event'),
  });
}

async function showErrors(context: CommandContext, flags: LogFlags): Promise<Outcome> {
  const events = createEvents(context);
  const names = new Map<string, string>(); // by UUID, from the lines of calls
  return read(context, flags, {
    onCall: async (call) => {
      if (callOutcome(call) !== 'unfinished') return;
      const text = `${call.method} ${call.path}: ${resultText(call)}`;
      await events.call(call, callTime(call), call.user_email ?? call.user_id ?? '-', text);
    },
    onLine: (line, call) => {
      if (call?.user_id && call.user_email && names.size < mostNames) names.set(call.user_id, call.user_email);
      if (line.level !== 'WARNING' && line.level !== 'ERROR') return;
      const uuid = call === undefined ? (parseMessage(line.message)?.user_id ?? null) : call.user_id;
      return events.line(line, uuid, uuid === null ? null : (names.get(uuid) ?? uuid));
    },
    summary: () => {
      const { lines, calls } = events.count;
      return `${counted(lines, 'warning or error', 'warnings and errors')}, ${counted(calls, 'call')} without an end`;
    },
  });
}

/** Shows and counts calls and lines. */
function createEvents({ output, zone }: CommandContext) {
  const text = createLogText(zone);
  const count = { lines: 0, calls: 0 };
  return {
    count,
    call: (call: LoggedCall, time: number, who: string | null, words: string): Promise<void> => {
      count.calls += 1;
      const level = callOutcome(call) === 'ok' ? 'INFO' : 'WARNING';
      return output.line(
        output.json
          ? JSON.stringify({ kind: 'call', time, ...callJson(call) })
          : text.line({ ...call, time, level }, who, words),
      );
    },
    line: (line: LogLine, uuid: string | null, who: string | null): Promise<void> => {
      count.lines += 1;
      return output.line(
        output.json
          ? JSON.stringify({ kind: 'line', ...line, user_id: uuid })
          : text.line(line, who, line.message.replace(`UUID ${uuid}: `, '')),
      );
    },
  };
}
