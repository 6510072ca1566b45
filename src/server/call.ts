// START and END of every call, on the console and in the log file, and what is known of the call in between.
import type { HttpBindings } from '@hono/node-server';
import { consoleEnd, consoleStart, createStamp, hostZone } from '../log/format.ts';
import { childLog, type HeldLog, type Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { BodyShare } from './body-budget.ts';
import { type Problem, problemResponse } from './problem.ts';

/** One call, from START to END. */
export interface Call {
  /** Thread id of its log lines; callers get it as the request id. */
  readonly id: string;
  readonly log: Log;
  readonly method: string;
  /** As sent, percent-encoded, without the query. */
  readonly path: string;
  /** Handler of the route; empty where none answers. */
  handler: string;
  /** The caller, once known. */
  caller: UserRecord | null;
  /** Why it failed, in a word; null: it did not. */
  failure: string | null;
  /** Bytes of the body that it holds. */
  share: BodyShare;
  /** The form of failures for this caller: problem details, unless the route has its own form. */
  refuse: (problem: Problem, requestId: string) => Response;
  /** Called once at the end: what the call holds of the server is given back. */
  readonly leave: (() => void)[];
  /** Settles when a streamed answer is sent to its end; null for an answer in one piece. */
  streaming: Promise<void> | null;
}

/** What handlers find in a Hono context. `incoming` is absent when the app is called in process. */
export interface ServerEnv {
  Bindings: Partial<HttpBindings>;
  Variables: { call: Call };
}

/** A call whose lines are written as soon as its caller is known. */
class OpenCall implements Call {
  readonly id: string;
  readonly log: Log;
  readonly method: string;
  readonly path: string;
  readonly share: BodyShare;
  readonly leave: (() => void)[] = [];
  handler = '';
  failure: string | null = null;
  streaming: Promise<void> | null = null;
  refuse: Call['refuse'] = problemResponse;
  readonly #held: HeldLog | undefined;
  #caller: UserRecord | null = null;

  constructor(
    { id, log, method, path, share }: Pick<Call, 'id' | 'log' | 'method' | 'path' | 'share'>,
    held?: HeldLog,
  ) {
    this.id = id;
    this.log = log;
    this.method = method;
    this.path = path;
    this.share = share;
    this.#held = held;
  }

  get caller(): UserRecord | null {
    return this.#caller;
  }

  set caller(found) {
    this.#caller = found;
    this.#held?.release();
  }
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

/** Calls of strangers a minute that each process logs line by line: a flood must not rotate everybody's lines away. */
export const mostStrangers = 60;

/** Opens calls: writes START, and returns the call with the function that writes its END. */
export function createCallLog({ log, console, now, thread }: CallLogOptions) {
  const stamp = createStamp(hostZone());
  const strangers = strangerCount((calls, since) => log.write('WARNING', line.strangersLeftOut(calls, stamp(since))));
  let count = 0;
  return function startCall(method: string, path: string, share: BodyShare): { call: Call; end(status: number): void } {
    count += 1;
    // In a flood of strangers the lines of a call wait until it is known whether a stranger made it.
    const held = strangers.isFlood(now()) ? childLog(log, count).hold?.() : undefined;
    const ofCall = held?.log ?? childLog(log, count);
    const started = performance.now();
    console(consoleStart(stamp(now()), method, path));
    ofCall.write('INFO', line.startCall(method, path));
    const id = `${thread}-${count}`;
    const call = new OpenCall({ id, log: ofCall, method, path, share }, held);
    const end = (status: number): void => {
      const seconds = (performance.now() - started) / 1000;
      const user = call.caller?.uuid ?? null;
      const level = status < 400 ? 'INFO' : status < 500 ? 'WARNING' : 'ERROR';
      ofCall.write(level, line.answered(status, method, path, call.failure));
      ofCall.write('INFO', line.endCall(method, path, user, seconds));
      console(consoleEnd(stamp(now()), method, path, user, seconds));
      if (call.caller !== null) return;
      if (status < 400 || status >= 500) held?.release();
      else {
        held?.discard();
        strangers.add(now(), held !== undefined);
      }
    };
    return { call, end };
  };
}

/**
 * Counts refused calls of strangers minute by minute; tells at the end of a minute how many were left out of the log.
 */
function strangerCount(tell: (calls: number, since: number) => void) {
  let since = 0;
  let calls = 0;
  let leftOut = 0;
  const turn = (now: number): void => {
    if (Math.abs(now - since) < 60) return;
    if (leftOut > 0) tell(leftOut, since);
    since = now;
    calls = 0;
    leftOut = 0;
  };
  return {
    isFlood: (now: number): boolean => {
      turn(now);
      return calls >= mostStrangers;
    },
    add: (now: number, isLeftOut: boolean): void => {
      turn(now);
      calls += 1;
      if (isLeftOut) leftOut += 1;
    },
  };
}
