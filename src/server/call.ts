// A call: its state, and the lines about its start and end on the console and in the log.
import type { HttpBindings } from '@hono/node-server';
import { consoleLine, createStamp, hostZone } from '../log/line-format.ts';
import { type Log, silentLog } from '../log/log.ts';
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { BodyShare } from './byte-budget.ts';
import { type Cause, type Problem, problemResponse } from './problem.ts';

export interface Call {
  readonly id: string; // the thread id of the log lines and the request id of the answer: `w1-42`
  readonly log: Log;
  readonly method: string;
  /** The path as sent, without the query. In paths of pages, user and day are replaced. */
  readonly path: string;
  readonly network: string | null; // such as `203.0.113.0/24`; null: unknown
  handler: string; // empty: no route matched
  readonly caller: UserRecord | null; // null before authentication
  /** Sets the caller. From then on, the log has all lines of the call. */
  authenticated(caller: UserRecord): void;
  failure: string | null; // the code of the error; null unless the call failed with a code
  cause: Cause | null; // who must act; null unless the call failed
  reason: string | null; // a sentence for the log that says why the call was refused
  readonly share: BodyShare;
  /** Counts bytes of the answer until they are sent or the returned function is called. */
  hold(bytes: number): () => void;
  /** Makes the answer to a failed call: problem details, unless the route has its own form. */
  refuse: (problem: Problem, requestId: string) => Response;
  /** Functions that release the slots and bytes of the call when the answer is sent. */
  readonly cleanups: (() => void)[];
  /** Settles when a streamed answer is completely sent; null if the answer is not streamed. */
  streaming: Promise<void> | null;
}

/** `incoming` is missing if the app is called within the process. */
export interface ServerEnv {
  Bindings: Partial<HttpBindings>;
  /** `base`: the path of the public address; empty at the root of a host. */
  Variables: { call: Call; base: string };
}

type CallParts = Pick<Call, 'network' | 'share'> & { hold: (caller: string | null, bytes: number) => () => void };

/** Unauthenticated calls that a process logs a minute, so that a flood cannot fill the log. */
export const mostUnauthenticated = 60;

type CallLogOptions = { log: Log; console: (line: string) => void; now: () => number; thread: string };

/** The returned function starts a call and writes START. It returns a function that writes END. */
export function createCallLog({ log, console, now, thread }: CallLogOptions) {
  const stamp = createStamp(hostZone());
  let count = 0;
  // Unauthenticated calls of the minute that began at `since`. `leftOut` of them are not logged.
  let strangers = { since: 0, calls: 0, leftOut: 0 };
  const countStranger = (): void => {
    if (Math.abs(now() - strangers.since) >= 60) {
      if (strangers.leftOut > 0) log.write('INFO', line.callsNotLogged(strangers.leftOut, stamp(strangers.since)));
      strangers = { since: now(), calls: 0, leftOut: 0 };
    }
    strangers.calls += 1;
  };
  return function startCall(method: string, path: string, { share, hold, network }: CallParts) {
    count += 1;
    const ownLog = log.child?.(String(count)) ?? log;
    countStranger();
    let callLog = strangers.calls <= mostUnauthenticated ? ownLog : silentLog;
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
        strangers.calls = Math.max(0, strangers.calls - 1);
        if (callLog === ownLog) return;
        callLog = ownLog;
        callLog.writeAll('INFO', [line.startCall(method, path), line.called(call.handler)]);
      },
    };
    const end = (status: number, isErased: boolean): void => {
      const seconds = (performance.now() - started) / 1000;
      if (callLog !== ownLog) strangers.leftOut += 1;
      const level = call.cause === 'server' ? 'ERROR' : isOrdinary(status, caller) ? 'INFO' : 'WARNING';
      callLog.write(level, line.answered(status, method, path, call.failure, call.reason));
      write(line.endCall(method, path, isErased ? null : (caller?.uuid ?? null), seconds));
    };
    return { call, end };
  };
}

/** True for a success, and for a failure that scanners cause on every public server. */
const isOrdinary = (status: number, caller: UserRecord | null): boolean =>
  status < 400 || (caller === null && [403, 404, 405].includes(status));
