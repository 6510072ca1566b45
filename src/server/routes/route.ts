// What a route is: where it answers, who may call it, and the function that answers.
import type { Log } from '../../log/log.ts';
import type { JsonObject } from '../../model/json.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import type { ListReader } from '../read-json.ts';
import type { BodySchema } from '../schemas.ts';

/** What a route is given: an identified caller and the body they sent. A route touches the data of `caller` and of nobody else. */
export interface RouteCall {
  caller: UserRecord;
  /** The body; an empty object where none was sent. */
  body: JsonObject;
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
  /** A list in the body that may be long: `answer` finds there what its `read` made of the elements. */
  list?: ListReader;
  /** Answers, or throws: a `Problem` to say why not. */
  answer(call: RouteCall): Promise<Answer>;
}

/** A route for everybody: a GET without a body. */
export interface OpenRoute {
  path: string;
  answer(parts: { store: Store }): Promise<object>;
}
