// What a route is: where it answers, who may call it, and the function that answers.
import type { Taken } from '../../intake/take-entry.ts';
import type { Log } from '../../log/log.ts';
import type { JsonObject } from '../../model/json.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import type { BodySchema } from '../schemas.ts';

/** What a route is given: an identified caller and the body they sent. A route touches the data of `caller` and of nobody else. */
export interface RouteCall {
  caller: UserRecord;
  /** The body; an empty object where none was sent. */
  body: JsonObject;
  /** The elements of the list that the route names, each looked at on its own; empty for a route that names none. */
  list: readonly Taken[];
  /** Parts of the path, by name. */
  params: Readonly<Record<string, string>>;
  store: Store;
  log: Log;
  /** Seconds since the epoch. */
  now: () => number;
}

/** An object, or the text of one in pieces, for answers that need not fit into memory. */
export type Answer = object | AsyncIterable<string>;

/** A route for callers: a POST with a JSON object. */
export interface Route {
  path: string;
  /** What the log says was called; `:name` stands for that part of the path. */
  handler: string;
  /** `registered`: callers with an account; `registering`: the call may make the account. */
  caller: 'registered' | 'registering';
  /** What the body holds beside `user`, if anything; checked before `answer` is called. */
  body?: BodySchema;
  /** Name of a member of the body that is a list of entries, which may be long: `answer` finds it in `call.list`. */
  list?: string;
  /** Answers, or throws: a `Problem` to say why not. */
  answer(call: RouteCall): Promise<Answer>;
}

/** A route for everybody: a GET without a body. */
export interface OpenRoute {
  path: string;
  answer(parts: { store: Store }): Promise<object>;
}
