// The definition of a route: its path, callers, input and answer, and the function that answers.
import type { Taken } from '../../intake/check-entry.ts';
import type { Log } from '../../log/log.ts';
import type { PutCounts } from '../../log/messages.ts';
import type { JsonObject } from '../../model/json.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import type { Problem } from '../problem.ts';
import type { AnswerSchema, BodySchema } from '../schemas.ts';

/**
 * What a route is given: an identified caller and the body they sent. A route touches only the data of
 * `caller`.
 */
export interface RouteCall {
  caller: UserRecord;
  /** The body; an empty object where none was sent. */
  body: JsonObject;
  /** The text of a body that is no JSON object, where the dialect takes anything; else null. */
  unread: string | null;
  /** The elements of the list that the route names, each checked on its own; empty for a route that names none. */
  list: readonly Taken[];
  /** Parts of the path, by name. */
  params: Readonly<Record<string, string>>;
  /** The query of the address. If a name occurs twice, its first value counts. */
  query: Readonly<Record<string, string>>;
  store: Store;
  /** Stores entries of the caller within their limits: the only way to store any. */
  put(taken: readonly Taken[]): Promise<PutCounts>;
  log: Log;
  /** Seconds since the epoch. */
  now: () => number;
}

/**
 * A JSON value, or the text of one in pieces, for answers that need not fit into memory. Phones of the family want an
 * object.
 */
export type Answer = object | AsyncIterable<string>;

/**
 * How an app of another family calls. Without one a route is called as the phones of this family do: the token in
 * `Authorization` (Bearer, or the password of Basic) or in the field `user` of the body; failures are answered with
 * problem details.
 */
export interface Dialect {
  /** Name of the top-level field of the body that holds the token; null: none does. Default `user`. */
  tokenField?: string | null;
  /**
   * Where the app puts the token, as the refusal of a call without a token says. Default: as the phones of this family
   * do.
   */
  tokenPlace?: string;
  /** Parameters of the query, one of which holds the token where the header has none. */
  tokenParameters?: readonly string[];
  /**
   * True: what a known caller sends and is no JSON object comes to the route as text, to be rejected. Such an app
   * would send it forever.
   */
  takesAnything?: true;
  /**
   * Answers a failure so that the app keeps what it sent: some delete on any 4xx. `problem` is what a phone of this
   * family would get: 400, 403, 404 and 405 (below the path and for other methods, too), 413, 415, 429 (with
   * `Retry-After` among its headers), 500 or 503.
   */
  refuse(problem: Problem, requestId: string): Response;
}

/**
 * A route for callers: a POST with a JSON object; with `inQuery`, also a GET.
 *
 * To add one: write it in a file of this folder, add it to the list in `all-routes.ts`, give it `summary`, `answers`
 * and, if its body holds more than the token, `body`. From these come the check of each body, `/openapi.json` and the
 * tables of docs/api.md; the tests hold every answer against `answers`. An app of another family needs a `dialect`. A
 * route that takes more than a MiB says `large`.
 */
export interface Route {
  path: string;
  /** What it is for, in one sentence of docs. */
  summary: string;
  /** True: the call may make the account of its caller. */
  registers?: true;
  /** True: the answer holds days or trips of the caller; their profile keeps when they fetched some last. */
  fetches?: true;
  /** What the body holds beside the token, if anything; checked before `answer` is called. */
  body?: BodySchema;
  /** Name of a member of the body that is a list of entries, which may be long: `answer` finds it in `call.list`. */
  list?: string;
  /**
   * True: the body may be as long as the server takes any (`MOBILITY_BODY_LIMIT`). Else a MiB. Routes with a `list` are
   * large.
   */
  large?: boolean;
  /** JSON Schema of a good answer. */
  answers: AnswerSchema;
  /** For apps of another family. */
  dialect?: Dialect;
  /** Parameters of a query that some apps send in place of a body, also as a GET. */
  inQuery?: Readonly<Record<string, string>>;
  /** Answers, or throws: a `Problem` to say why not. */
  answer(call: RouteCall): Promise<Answer>;
  /** Answers a call without a token, from its body only. Without this function, such a call is refused. */
  answerStranger?(body: JsonObject): object;
}

/** The name of the handler in the log and in figures: `userCache.put` for `/usercache/put`, as studies know it. */
export const handlerOf = (path: string): string => path.slice(1).replace('/', '.').replace('usercache', 'userCache');

/** An open route: a GET without a body or a token. */
export interface OpenRoute {
  path: string;
  /** What it is for, in one sentence of docs. */
  summary: string;
  /** What each part of the path named `:name` is. */
  parameters?: Readonly<Record<string, string>>;
  /** JSON Schema of a good answer. */
  answers: AnswerSchema;
  answer(parts: OpenParts, params: Readonly<Record<string, string>>): Promise<object>;
}

/** The input of an open route. */
export interface OpenParts {
  /** Rejects if the store or its disk cannot take what phones push. */
  checkReady: () => Promise<void>;
  studies: Pick<Store['studies'], 'byJoinName' | 'byName'>;
}
