// Groups log lines by call, and shows calls as text. Parallel calls mix their lines in a file, so
// each line has a thread id.
//
//   w1-41: START POST /usercache/put         call w1-41: lines 1, 3 and 4
//   w1-42: START POST /timeline/getTrips     call w1-42: line 2, without an END so far
//   w1-41: Called userCache.put
//   w1-41: END POST /usercache/put 0.120000
import { createStamp, fileLine } from './line-format.ts';
import { type Message, type PutCounts, parseMessage } from './messages.ts';
import type { LogLine } from './read-log.ts';

// Limits of memory. If more calls are open, the oldest counts as unfinished.
const maxOpen = 10_000; // calls without an END
const maxNotes = 5; // warnings per call

export type LoggedCall = ReturnType<typeof newCall>;

/** A put with a missing step has failed. A call without an END still runs, or its process ended. */
export function callOutcome(call: LoggedCall): 'ok' | 'failed' | 'unfinished' {
  if (call.status !== null && call.status >= 400) return 'failed';
  if (call.end_ts === null) return 'unfinished';
  return isPut(call) && call.start_ts !== null && missingStep(call) !== null ? 'failed' : 'ok';
}

export function callTime({ start_ts, end_ts, seconds, seen_ts }: LoggedCall): number {
  return start_ts ?? (end_ts !== null && seconds !== null ? end_ts - seconds : seen_ts);
}

export function isPut({ handler, path }: LoggedCall): boolean {
  return handler === null ? path.startsWith('/usercache/put') : handler.startsWith('userCache.put');
}

/** The steps of a put, in the order in which the server logs them. */
export function putSteps(call: LoggedCall): { step: string; found: boolean }[] {
  return [
    { step: 'START', found: call.start_ts !== null },
    { step: 'handler called', found: call.handler !== null },
    { step: 'user name found', found: call.user_email !== null },
    { step: 'user UUID found', found: call.user_id !== null },
    { step: 'entries stored', found: call.stored !== null || call.entries > 0 },
    { step: 'END', found: call.end_ts !== null },
  ];
}

export function missingStep(call: LoggedCall): string | null {
  return putSteps(call).find(({ found }) => !found)?.step ?? null;
}

export class CallTracker {
  readonly #calls = new Map<string, LoggedCall>();

  /** Returns the call of the line. `done`: calls that are complete or will not get an END. */
  add(line: LogLine): { call?: LoggedCall; done: LoggedCall[] } {
    if (!line.source.startsWith('server')) return { done: [] };
    const message = parseMessage(line.message);
    const id = `${line.source} ${line.thread}`;
    // A new worker counts its calls from 1, so an open call with this id belongs to an ended worker.
    const done = message?.kind === 'startCall' ? this.#take(id) : [];
    if (message !== null && !this.#calls.has(id)) this.#calls.set(id, newCall(line));
    if (this.#calls.size > maxOpen) done.push(...this.#take(this.#calls.keys().next().value!));
    const call = this.#calls.get(id);
    if (call === undefined) return { done };
    const isNote = line.level === 'WARNING' || line.level === 'ERROR';
    if (message !== null) apply(call, message, line.time);
    else if (isNote && call.notes.length < maxNotes) call.notes.push(line.message);
    if (message?.kind === 'endCall') done.push(...this.#take(id));
    return { call, done };
  }

  open(): LoggedCall[] {
    return [...this.#calls.values()].filter(({ method }) => method !== '');
  }

  #take(id: string): LoggedCall[] {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call !== undefined && call.method !== '' ? [call] : [];
  }
}

/** Times are seconds since the epoch. A field is null until its line is read. */
function newCall({ source, thread, time }: LogLine) {
  return {
    source,
    thread,
    seen_ts: time, // the time of the first line that was read
    start_ts: null as number | null,
    end_ts: null as number | null,
    method: '', // empty until START, END or Answered is read; without them, the call is not shown
    path: '',
    user_id: null as string | null,
    user_email: null as string | null,
    seconds: null as number | null,
    status: null as number | null,
    code: null as string | null, // the code of the error that made the call fail
    handler: null as string | null, // such as `userCache.put`
    entries: 0, // number of lines about single entries, stored or rejected
    stored: null as PutCounts | null,
    notes: [] as string[], // the first warnings and errors, and why the call was refused
  };
}

function apply(call: LoggedCall, { kind, reason, ...fields }: Message, time: number): void {
  if (reason !== undefined && call.notes.length < maxNotes) call.notes.push(reason);
  if (kind === 'entryStored') call.entries += 1;
  else if (kind === 'putStored') call.stored = fields as PutCounts;
  else Object.assign(call, fields);
  if (kind === 'startCall') call.start_ts = time;
  if (kind === 'endCall') call.end_ts = time;
}

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
