import { callOutcome, callTime, isPut, type LoggedCall, missingStep, putSteps } from './calls.ts';
import { createStamp, fileLine } from './line-format.ts';
import type { PutCounts } from './messages.ts';
import type { LogLine } from './read-log.ts';

export function createLogText(zone: string) {
  const stamp = createStamp(zone);
  const widths = [29, 8, 4, 7, 20, 24];
  const row = (cells: string[]): string => {
    const padded = cells.map((cell, i) => (i === 3 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i] ?? 0)));
    return padded.join('  ').trimEnd();
  };
  return {
    titles: (): string => row(['STARTED', 'THREAD', 'HTTP', 'SECONDS', 'CALL', 'USER', 'RESULT']),
    call: (call: LoggedCall): string => {
      const head = [stamp(callTime(call)), call.thread, String(call.status ?? '-'), call.seconds?.toFixed(3) ?? '-'];
      return row([...head, `${call.method} ${call.path}`, call.user_email ?? call.user_id ?? '-', resultText(call)]);
    },
    put: (call: LoggedCall): string => putText(call, stamp(callTime(call))),
    line: ({ time, level, thread, message }: LogLine): string => fileLine(stamp(time), level, thread, message),
  };
}

function resultText(call: LoggedCall): string {
  const stored = countsText(call.stored);
  const outcome = callOutcome(call);
  if (outcome === 'ok') return stored;
  const missing = isPut(call) && call.start_ts !== null ? missingStep(call) : null;
  return [
    outcome === 'unfinished' ? 'no END: still running, or its process ended' : 'failed',
    missing === null || missing === 'END' ? '' : `missing: ${missing}`,
    call.code ?? '',
    stored,
    ...call.notes,
  ]
    .filter((text) => text !== '')
    .join('; ');
}

function countsText(counts: PutCounts | null): string {
  const stored = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  return stored.map(([name, count]) => `${count} ${name}`).join(', ');
}

function putText(call: LoggedCall, time: string): string {
  const seconds = call.seconds === null ? '-' : `${call.seconds.toFixed(3)} s`;
  const head = [time, call.thread, `${call.method} ${call.path}`, String(call.status ?? '-'), seconds].join('  ');
  const details: Record<string, string | null> = {
    'user name found': call.user_email,
    'user UUID found': call.user_id,
    'entries stored': countsText(call.stored) || `${call.entries} logged`,
  };
  const steps = putSteps(call).map(({ step, found }) => {
    if (found) return `  found    ${step}${details[step] === undefined ? '' : `: ${details[step]}`}`;
    return `  MISSING  ${step}${step === missingStep(call) ? `: ${failureText(call)}` : ''}`;
  });
  return [head, ...steps, ...call.notes.map((note) => `  note     ${note}`)].join('\n');
}

function failureText({ start_ts, end_ts, status }: LoggedCall): string {
  if (start_ts === null) return 'the call began before the lines that were read';
  return end_ts === null && status === null ? 'the put failed here, or it still runs' : 'the put failed here';
}

export function callJson(call: LoggedCall): object {
  const steps = isPut(call) ? { steps: putSteps(call), missing_step: missingStep(call) } : {};
  return { ...call, outcome: callOutcome(call), ...steps };
}
