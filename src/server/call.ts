// A call: its state, and its START and END on the console and in the log file.
import type { HttpBindings } from '@hono/node-server';
import { consoleLine, createStamp, hostZone } from '../log/line-format.ts';
import { type Log, silentLog } from '../log/log.ts';
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { BodyShare } from './byte-budget.ts';
import { type Cause, type Problem, problemResponse } from './problem.ts';

/** A call from START to END. */
export interface Call {
  /** The thread id of its log lines, which is also the request id of the answer. */
  readonly id: string;
  readonly log: Log;
  readonly method: string;
  /** The path as it was sent, percent-encoded, without the query. In paths of pages, user and day are replaced. */
  readonly path: string;
  /** The network of the caller; null: unknown. */
  readonly network: string | null;
  /** The handler of the route; empty: no route matched. */
  handler: string;
  /** The caller; null before authentication. */
  readonly caller: UserRecord | null;
  /** Sets the caller. From then on, the log has all lines of the call; see `mostUnauthenticated`. */
  authenticated(caller: UserRecord): void;
  /** The code of the error that failed the call; null: it did not fail. */
  failure: string | null;
  /** Who has to act on the failure; null: the call did not fail. */
  cause: Cause | null;
  /** Why the call was refused, as a sentence; null: it was not refused. */
  reason: string | null;
  /** The bytes of the request body that the process holds. */
  readonly share: BodyShare;
  /**
   * Counts bytes of the answer until they are sent or the returned function is called. Throws a `Problem` if too many
   * bytes are unsent; see `ByteBudget`.
   */
  hold(bytes: number): () => void;
  /** Makes the answer to a failed call: problem details, unless the route has its own form. */
  refuse: (problem: Problem, requestId: string) => Response;
  /** Functions that release the slots and bytes of the call. Called once, when the answer is sent. */
  readonly cleanups: (() => void)[];
  /** Settles when a streamed answer is completely sent; null: the answer is not streamed. */
  streaming: Promise<void> | null;
}

/** The variables of a Hono context. `incoming` is missing if the app is called within the process. */
export interface ServerEnv {
  Bindings: Partial<HttpBindings>;
  /** `base`: the path of the public address; empty at the root of a host. */
  Variables: { call: Call; base: string };
}

/** Where lines about calls are written. */
export interface CallLogOptions {
  log: Log;
  console: (line: string) => void;
  /** Seconds since the epoch. */
  now: () => number;
  /** Thread id of `log`. Calls are numbered after it: `w1-42`. */
  thread: string;
}

/** The parts of a call that the server creates. */
interface CallParts {
  network: string | null;
  share: BodyShare;
  /** Counts bytes of an answer until the returned function is called. */
  hold: (caller: string | null, bytes: number) => () => void;
}

/**
 * The most unauthenticated calls per minute that each process logs, successful calls included: a flood of calls must
 * not push other lines out of the log.
 */
export const mostUnauthenticated = 60;

/** Returns a function that starts calls: it writes START, and returns the call with a function that writes END. */
export function createCallLog({ log, console, now, thread }: CallLogOptions) {
  const stamp = createStamp(hostZone());
  const strangers = new UnauthenticatedCalls((calls, since) => {
    log.write('INFO', line.callsNotLogged(calls, stamp(since)));
  });
  let count = 0;
  return function startCall(
    method: string,
    path: string,
    { share, hold, network }: CallParts,
  ): { call: Call; end(status: number, isErased: boolean): void } {
    count += 1;
    const ownLog = log.child?.(String(count)) ?? log;
    // Beyond `mostUnauthenticated`, a call has no lines in the log file until it is authenticated.
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
      cleanups: [],
      handler: '',
      failure: null,
      cause: null,
      reason: null,
      streaming: null,
      refuse: problemResponse,
      hold: (bytes) => {
        const release = hold(caller?.uuid ?? null, bytes);
        call.cleanups.push(release);
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

/** True for a successful call, and for failures that scanners cause on every public server. */
const isOrdinary = (status: number, caller: UserRecord | null): boolean =>
  status < 400 || (caller === null && [403, 404, 405].includes(status));

/** Counts unauthenticated calls per minute. After each minute, reports how many the log has left out. */
class UnauthenticatedCalls {
  readonly #report: (calls: number, since: number) => void;
  #since = 0;
  #calls = 0;
  #leftOut = 0;

  constructor(report: (calls: number, since: number) => void) {
    this.#report = report;
  }

  /** Counts a call from its start. False: the call must be left out of the log. */
  enter(now: number): boolean {
    if (Math.abs(now - this.#since) >= 60) {
      if (this.#leftOut > 0) this.#report(this.#leftOut, this.#since);
      [this.#since, this.#calls, this.#leftOut] = [now, 0, 0];
    }
    this.#calls += 1;
    return this.#calls <= mostUnauthenticated;
  }

  /** Uncounts a call because it is authenticated now. */
  leave(): void {
    this.#calls = Math.max(0, this.#calls - 1);
  }

  leaveOut(): void {
    this.#leftOut += 1;
  }
}
