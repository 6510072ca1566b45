// One call: what the server keeps of it, and its START and END on the console and in the log file.
import type { HttpBindings } from '@hono/node-server';
import { consoleLine, createStamp, hostZone } from '../log/line-format.ts';
import { type Log, silentLog } from '../log/log.ts';
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { BodyShare } from './byte-budget.ts';
import { type Cause, type Problem, problemResponse } from './problem.ts';

/** One call, from START to END. */
export interface Call {
  /** Thread id of its log lines; callers get it as the request id. */
  readonly id: string;
  readonly log: Log;
  readonly method: string;
  /** As sent, percent-encoded where that is needed, without the query; of pages, without the person and the day. */
  readonly path: string;
  /** The network of the caller; null: it is not known. */
  readonly network: string | null;
  /** Handler of the route; empty if none answers. */
  handler: string;
  /** The caller; null before they are authenticated. */
  readonly caller: UserRecord | null;
  /** Sets the caller: from now on the lines of the call are written in any case. */
  authenticated(caller: UserRecord): void;
  /** Why it failed, in a word; null: it did not. */
  failure: string | null;
  /** Who has to act on its failure; null: it did not fail. */
  cause: Cause | null;
  /** Why it was refused, in a sentence; null: it was not. */
  reason: string | null;
  /** Bytes of the body that it holds. */
  readonly share: BodyShare;
  /**
   * Counts bytes of its answer until they are sent, or the returned function is called. Throws a `Problem` if too many
   * wait; see `ByteBudget`.
   */
  hold(bytes: number): () => void;
  /** The form of failures for this caller: problem details, unless the route has its own form. */
  refuse: (problem: Problem, requestId: string) => Response;
  /** Called once at the end to release what the call holds. */
  readonly leave: (() => void)[];
  /** Settles when a streamed answer is sent to its end; null for an answer in one piece. */
  streaming: Promise<void> | null;
}

/** What handlers find in a Hono context. `incoming` is absent when the app is called in process. */
export interface ServerEnv {
  Bindings: Partial<HttpBindings>;
  Variables: { call: Call };
}

/** Where the lines about calls go. */
export interface CallLogOptions {
  log: Log;
  console: (line: string) => void;
  /** Seconds since the epoch. */
  now: () => number;
  /** Thread id of `log`: calls are numbered after it, `w1-42`. */
  thread: string;
}

/** What the server hands to a call. */
interface CallParts {
  network: string | null;
  share: BodyShare;
  /** Counts bytes of an answer until the returned function is called. */
  hold: (caller: string | null, bytes: number) => () => void;
}

/**
 * Calls without a caller a minute that each process logs, whatever their answer: a flood must not rotate other lines
 * away.
 */
export const mostStrangers = 60;

/** Opens calls: writes START, and returns the call with the function that writes its END. */
export function createCallLog({ log, console, now, thread }: CallLogOptions) {
  const stamp = createStamp(hostZone());
  const strangers = new StrangerCount((calls, since) => {
    log.write('INFO', line.strangersLeftOut(calls, stamp(since)));
  });
  let count = 0;
  return function startCall(
    method: string,
    path: string,
    { share, hold, network }: CallParts,
  ): { call: Call; end(status: number, isErased: boolean): void } {
    count += 1;
    const ownLog = log.child?.(String(count)) ?? log;
    // Beyond that number a call has no lines in the log file until it has a caller.
    let callLog = strangers.enter(now()) ? ownLog : silentLog;
    const started = performance.now();
    const write = (message: string): void => {
      console(consoleLine(stamp(now()), message));
      callLog.write('INFO', message);
    };
    write(line.startCall(method, path));
    let caller: UserRecord | null = null;
    const call: Call = {
      id: `${thread}-${count}`,
      method,
      path,
      network,
      share,
      leave: [],
      handler: '',
      failure: null,
      cause: null,
      reason: null,
      streaming: null,
      refuse: problemResponse,
      hold: (bytes) => {
        const release = hold(caller?.uuid ?? null, bytes);
        call.leave.push(release);
        return release;
      },
      get log() {
        return callLog;
      },
      get caller() {
        return caller;
      },
      authenticated: (found) => {
        caller = found;
        strangers.leave();
        if (callLog === ownLog) return;
        callLog = ownLog;
        callLog.writeAll('INFO', [line.startCall(method, path), line.called(call.handler)]);
      },
    };
    const end = (status: number, isErased: boolean): void => {
      const seconds = (performance.now() - started) / 1000;
      if (callLog !== ownLog) strangers.leaveOut();
      const level = call.cause === 'server' ? 'ERROR' : isOrdinary(status, caller) ? 'INFO' : 'WARNING';
      callLog.write(level, line.answered(status, method, path, call.failure, call.reason));
      write(line.endCall(method, path, isErased ? null : (caller?.uuid ?? null), seconds));
    };
    return { call, end };
  };
}

/** True for a call that succeeded, and for what any public server gets from scanners all day. */
const isOrdinary = (status: number, caller: UserRecord | null): boolean =>
  status < 400 || (caller === null && [403, 404, 405].includes(status));

/** Counts calls without a caller minute by minute; reports after each minute how many were left out of the log. */
class StrangerCount {
  readonly #report: (calls: number, since: number) => void;
  #since = 0;
  #calls = 0;
  #leftOut = 0;

  constructor(report: (calls: number, since: number) => void) {
    this.#report = report;
  }

  /** Counts a call from its start; false: it is beyond the number that is logged. */
  enter(now: number): boolean {
    if (Math.abs(now - this.#since) >= 60) {
      if (this.#leftOut > 0) this.#report(this.#leftOut, this.#since);
      [this.#since, this.#calls, this.#leftOut] = [now, 0, 0];
    }
    this.#calls += 1;
    return this.#calls <= mostStrangers;
  }

  /** A call that was counted has a caller. */
  leave(): void {
    this.#calls = Math.max(0, this.#calls - 1);
  }

  leaveOut(): void {
    this.#leftOut += 1;
  }
}
