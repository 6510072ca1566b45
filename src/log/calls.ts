// From log lines to calls: lines of many calls at once, taken apart by thread id, become one record each.
import { type Message, type PutCounts, parseMessage } from './messages.ts';
import type { LogLine } from './read.ts';

const maxOpen = 10_000; // calls held that have no END yet
const maxNotes = 5; // warnings held of one call
const graceSeconds = 60; // after a restart, for the END of calls that went on meanwhile

/** One call, as far as its lines tell. Times are seconds since the epoch. */
export interface LoggedCall {
  source: string;
  thread: string;
  /** Time of its first line. */
  seen_ts: number;
  /** null: its START is not among the lines read. */
  start_ts: number | null;
  /** null: there is no END. */
  end_ts: number | null;
  method: string;
  path: string;
  user_id: string | null;
  user_email: string | null;
  /** From the END line. */
  seconds: number | null;
  /** HTTP status; null: it was not answered, or the line is not kept at this log level. */
  status: number | null;
  /** Why it failed, one word. */
  code: string | null;
  /** Such as `userCache.put`. */
  handler: string | null;
  /** Entries by the lines that each has. */
  entries: PutCounts;
  /** Counts of entries from the summary line; null: there is no such line. */
  stored: PutCounts | null;
  /** Smallest and greatest `write_ts` among the entries. */
  first_write_ts: number | null;
  last_write_ts: number | null;
  /** Warnings and errors logged in between, the first few. */
  notes: string[];
}

/** What a call came to. `unfinished`: it has no END, so it still runs, or its process ended first. */
export type CallOutcome = 'ok' | 'failed' | 'unfinished';

/** How the call ended. A put also fails by the first missing of its steps. */
export function callOutcome(call: LoggedCall): CallOutcome {
  if (call.end_ts === null) return call.status !== null && call.status >= 400 ? 'failed' : 'unfinished';
  if (call.status !== null && call.status >= 400) return 'failed';
  return isPut(call) && call.start_ts !== null && missingStep(call) !== null ? 'failed' : 'ok';
}

/** When the call began, as well as its lines tell. */
export function callTime({ start_ts, end_ts, seconds, seen_ts }: LoggedCall): number {
  if (start_ts !== null) return start_ts;
  return end_ts !== null && seconds !== null ? end_ts - seconds : seen_ts;
}

/** True for calls that push entries. */
export function isPut({ handler, path }: LoggedCall): boolean {
  return handler === null ? path.startsWith('/usercache/put') : handler.startsWith('userCache.put');
}

/** A step of a put, and whether it is in the log. */
interface PutStep {
  step: string;
  found: boolean;
}

/** The steps of a put, in order: it has failed at the first that is missing. */
export function putSteps({ start_ts, handler, user_email, user_id, stored, entries, end_ts }: LoggedCall): PutStep[] {
  const { inserted, updated, rejected } = entries;
  return [
    { step: 'START', found: start_ts !== null },
    { step: 'handler called', found: handler !== null },
    { step: 'user name found', found: user_email !== null },
    { step: 'user UUID found', found: user_id !== null },
    { step: 'entries stored', found: stored !== null || inserted + updated + rejected > 0 },
    { step: 'END', found: end_ts !== null },
  ];
}

/** The step at which a put failed; null when it has them all. */
export function missingStep(call: LoggedCall): string | null {
  return putSteps(call).find(({ found }) => !found)?.step ?? null;
}

/** Gathers lines into calls. Holds a bounded number of calls, whatever is in the logs. */
export interface CallTracker {
  /** Takes the next line; returns the calls that are complete by it, or will never be. */
  add(line: LogLine): LoggedCall[];
  /** The call whose line this was; undefined for lines of no call. Until the next `add`. */
  current(): LoggedCall | undefined;
  /** Calls without END so far. */
  open(): LoggedCall[];
}

/** Makes a tracker for the lines of one read, in their order. */
export function createCallTracker(): CallTracker {
  const calls = new Map<string, LoggedCall>();
  const restarts: { source: string; time: number }[] = [];
  let current: LoggedCall | undefined;

  const take = (id: string): LoggedCall[] => {
    const call = calls.get(id);
    calls.delete(id);
    return call !== undefined && call.method !== '' ? [call] : [];
  };
  const endStale = (now: number): LoggedCall[] => {
    const over: LoggedCall[] = [];
    while (restarts.length > 0 && now > restarts[0]!.time + graceSeconds) {
      const { source, time } = restarts.shift()!;
      for (const [id, call] of calls) {
        if (call.source === source && (call.start_ts ?? 0) < time) over.push(...take(id));
      }
    }
    return over;
  };
  const oldest = (): LoggedCall[] => (calls.size > maxOpen ? take(calls.keys().next().value!) : []);

  return {
    add: (line) => {
      current = undefined;
      if (!line.source.startsWith('server')) return [];
      const done = restarts.length > 0 ? endStale(line.time) : [];
      const message = parseMessage(line.message);
      if (message?.kind === 'serverStarted') restarts.push({ source: line.source, time: line.time });
      if (message === null && line.level !== 'WARNING' && line.level !== 'ERROR') return done;
      const id = `${line.source} ${line.thread}`;
      // A thread id comes again when a worker was replaced: the call before it ended with its worker.
      if (message?.kind === 'startCall') done.push(...take(id));
      let call = calls.get(id);
      if (call === undefined) {
        if (message === null || message.kind === 'serverStarted') return done;
        call = newCall(line);
        calls.set(id, call);
        done.push(...oldest());
      }
      current = call;
      if (message !== null) apply(call, message, line.time);
      else if (call.notes.length < maxNotes) call.notes.push(line.message);
      if (message?.kind === 'endCall') done.push(...take(id));
      return done;
    },
    current: () => current,
    open: () => [...calls.values()].filter(({ method }) => method !== ''),
  };
}

function newCall({ source, thread, time }: LogLine): LoggedCall {
  const unknown = { start_ts: null, end_ts: null, user_id: null, user_email: null, seconds: null, status: null };
  return {
    ...{ source, thread, seen_ts: time, method: '', path: '', ...unknown, code: null, handler: null },
    ...{ entries: { inserted: 0, updated: 0, rejected: 0 }, stored: null },
    ...{ first_write_ts: null, last_write_ts: null, notes: [] },
  };
}

function apply(call: LoggedCall, { kind, ...told }: Message, time: number): void {
  if (kind === 'entryStored') {
    count(call, told);
  } else if (kind === 'putStored') {
    call.stored = told as PutCounts;
  } else {
    Object.assign(call, told);
    if (kind === 'startCall') call.start_ts = time;
    if (kind === 'endCall') call.end_ts = time;
  }
}

function count(call: LoggedCall, { result, write_ts }: Omit<Message, 'kind'>): void {
  call.entries[result!] += 1;
  if (write_ts == null) return;
  call.first_write_ts = Math.min(call.first_write_ts ?? write_ts, write_ts);
  call.last_write_ts = Math.max(call.last_write_ts ?? write_ts, write_ts);
}
