// How calls and lines of the logs are shown, as text and as JSON.
import { callOutcome, callTime, isPut, type LoggedCall, missingStep, putSteps } from '../log/calls.ts';
import { createStamp } from '../log/format.ts';
import type { PutCounts } from '../log/messages.ts';
import type { LogLine } from '../log/read.ts';

/** When, by whom and how loud something was said. */
export type LineHead = Pick<LogLine, 'time' | 'source' | 'thread' | 'level'>;

/** Writes calls and lines for people. */
export interface LogText {
  /** Titles of `call`, aligned with it. */
  callTitles(): string;
  /** One call. */
  call(call: LoggedCall): string;
  /** A put step by step. */
  put(call: LoggedCall): string;
  /** One line of one user's story, or of what went wrong. */
  line(head: LineHead, who: string | null, text: string): string;
  /** True when a path or a name did not fit in its column. */
  hasCut(): boolean;
}

/** Makes texts with times of a zone that say everything in one line, for `grep` and files. */
export function createLogText(zone: string): LogText {
  const stamp = createStamp(zone);
  return {
    callTitles: () => row('STARTED', 'THREAD', 'STATUS', 'SECONDS', 'CALL', 'USER', 'RESULT'),
    call: (call) =>
      row(
        stamp(callTime(call)),
        call.thread,
        String(call.status ?? '-'),
        call.seconds?.toFixed(3) ?? '-',
        `${call.method} ${call.path}`,
        call.user_email ?? call.user_id ?? '-',
        resultText(call),
      ),
    put: (call) => putText(call, stamp(callTime(call))),
    line: ({ time, source, thread, level }, who, text) =>
      [stamp(time), level.padEnd(7), source.padEnd(10), thread.padEnd(9), ...(who === null ? [] : [who]), text].join(
        '  ',
      ),
    hasCut: () => false,
  };
}

function row(...cells: string[]): string {
  const widths = [29, 9, 6, 9, 36, 36];
  const padded = cells.map((cell, i) => (i === 3 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i] ?? 0)));
  return padded.join('  ').trimEnd();
}

/** What came of a call, in a few words. */
export function resultText(call: LoggedCall): string {
  const outcome = callOutcome(call);
  const stored = countsText(call.stored ?? call.entries);
  if (outcome === 'ok') return stored;
  const missing = isPut(call) && call.start_ts !== null ? missingStep(call) : null;
  return [
    outcome === 'unfinished' ? 'no END: still running, or its process ended' : 'failed',
    ...(missing === null || missing === 'END' ? [] : [`missing: ${missing}`]),
    ...(call.code === null ? [] : [call.code]),
    ...(stored === '' ? [] : [stored]),
    ...call.notes,
  ].join('; ');
}

function countsText(counts: PutCounts): string {
  const parts = (['inserted', 'updated', 'rejected'] as const).filter((name) => counts[name] > 0);
  return parts.map((name) => `${counts[name]} ${name}`).join(', ');
}

/** A put step by step, one line each. */
export function putText(call: LoggedCall, time: string): string {
  const seconds = call.seconds === null ? '-' : `${call.seconds.toFixed(3)} s`;
  const head = [time, call.thread, `${call.method} ${call.path}`, String(call.status ?? '-'), seconds].join('  ');
  const failed = missingStep(call);
  const details: Record<string, string> = {
    'user name found': call.user_email ?? '',
    'user UUID found': call.user_id ?? '',
    'entries stored': `${countsText(call.stored ?? call.entries) || 'none were sent'}${writtenText(call)}`,
  };
  const steps = putSteps(call).map(({ step, found }) => {
    if (!found) return `  MISSING  ${step}${step === failed ? `: ${failureText(call)}` : ''}`;
    return `  found    ${step}${details[step] === undefined ? '' : `: ${details[step]}`}`;
  });
  return [head, ...steps, ...call.notes.map((note) => `  note     ${note}`)].join('\n');
}

function failureText(call: LoggedCall): string {
  if (call.start_ts === null) return 'it began before the lines that were read';
  return call.end_ts === null && call.status === null ? 'the put failed here, or it still runs' : 'the put failed here';
}

function writtenText({ first_write_ts, last_write_ts }: LoggedCall): string {
  return first_write_ts === null ? '' : ` (write_ts ${first_write_ts} to ${last_write_ts})`;
}

/** A call as `--json` shows it; a put with its steps. */
export function callJson(call: LoggedCall): object {
  const common = { ...call, outcome: callOutcome(call) };
  if (!isPut(call)) return common;
  return { ...common, steps: putSteps(call), missing_step: missingStep(call) };
}

/** A line as `--json` shows it. */
export function lineJson({ time, source, thread, level, message }: LogLine): object {
  return { time, source, thread, level, message };
}
