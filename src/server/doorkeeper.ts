// Identifies the caller before a call uses resources; from then on, the call counts as theirs.
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type AuthMethod, findCaller, registerCaller } from './auth.ts';
import type { Call } from './call.ts';
import type { CallerCounts } from './caller-limits.ts';
import type { OpenCalls } from './open-calls.ts';
import { badRequest, Problem } from './problem.ts';
import type { Route } from './routes/route.ts';

/** What a doorkeeper works with. */
export interface DoorParts {
  method: AuthMethod;
  users: Store['users'];
  /** Seconds since the epoch. */
  now: () => number;
  open: OpenCalls;
  counts: CallerCounts;
}

/** Identifies the caller of one call, once. */
export class Doorkeeper {
  readonly #parts: DoorParts;
  readonly #route: Route;
  readonly #call: Call;
  /** The token that was good; null: nobody is known yet. */
  token: string | null = null;
  /** Why the text that was no good token was refused; null: there was none. */
  refusal: Problem | null = null;

  constructor(parts: DoorParts, route: Route, call: Call) {
    this.#parts = parts;
    this.#route = route;
    this.#call = call;
  }

  /** The caller, as far as known. */
  get caller(): UserRecord | null {
    return this.#call.caller;
  }

  /**
   * The account that the token opens. Throws `Problem`s: 403, 400 for another token than before, 429 beyond a limit of
   * the caller.
   */
  async admit(token: string): Promise<UserRecord> {
    if (this.caller !== null && token === this.token) return this.caller;
    if (this.caller !== null) throw badRequest('expected one token, found two that differ');
    const { method, users, now, open, counts } = this.#parts;
    const caller =
      this.#route.caller === 'registering'
        ? await registerCaller(method, users, token, now())
        : await findCaller(method, users, token);
    this.token = token;
    this.#call.caller = caller;
    this.#call.log.writeAll('INFO', [line.foundEmail(caller.user_email), line.userUuid(caller.uuid)]);
    counts.call(caller.uuid);
    this.#call.leave.push(open.enter(caller.uuid, 'calls'));
    this.#call.share.belongsTo(caller.uuid);
    return caller;
  }

  /** Like `admit`, for text that may not be a token: why it is none stands in `refusal` then. */
  async admitIfKnown(token: string): Promise<void> {
    try {
      await this.admit(token);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 403)) throw error;
      this.refusal = error;
    }
  }
}
