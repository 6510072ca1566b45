// Defines a route: its path, callers, input, answer, and the function that answers.
import type { CheckedEntry } from '../../intake/check-entry.ts';
import type { Log } from '../../log/log.ts';
import type { PutCounts } from '../../log/messages.ts';
import type { AppId, phoneApps } from '../../model/apps.ts';
import type { JsonObject } from '../../model/json.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import type { Problem } from '../problem.ts';
import type { AnswerSchema, BodySchema } from '../schemas.ts';

/** The input of a route: an authenticated caller and their body. A route must access only the data of `caller`. */
export interface RouteCall {
  caller: UserRecord;
  body: JsonObject; // empty if none was sent
  unread: string | null; // the text of a body that is not a JSON object, if the route has a dialect
  list: readonly CheckedEntry[]; // the checked elements of the route's `list`
  params: Readonly<Record<string, string>>; // the named parts of the path
  query: Readonly<Record<string, string>>; // if a name occurs twice, its first value counts
  store: Store;
  /** Stores entries of the caller within their limits. Routes must store entries only with this function. */
  put(checked: readonly CheckedEntry[]): Promise<PutCounts>;
  log: Log;
  now: () => number;
}

/** A JSON value, or its text in pieces if it may be too large for memory. e-mission phones expect an object. */
export type Answer = object | AsyncIterable<string>;

/**
 * How another app calls a route. The route also gets a body that is not a JSON object, as text, if its caller is
 * authenticated: if the call were refused, the app would send the same body again for ever.
 */
export interface Dialect extends TokenRules {
  /**
   * Answers a failure so that the app keeps its data; some apps delete data after any 4xx. Also called for wrong
   * methods and for paths below the route. `problem`: the answer that an e-mission phone would get.
   */
  refuse(problem: Problem, requestId: string): Response;
}

/** Where a call has its token, besides the header `Authorization` (Bearer, or the password of Basic). */
export type TokenRules = (typeof phoneApps)[AppId]['token'];

export const phoneTokens: TokenRules = {
  tokenField: 'user',
  tokenPlace: 'in "user" of the body or as "Authorization: Bearer TOKEN"',
};

/**
 * A route that needs a caller. It answers a POST with a JSON object; with `inQuery`, also a GET. The fields below
 * decide how the server checks bodies, and what `/openapi.json` and the tables of docs/api.md contain.
 */
export interface Route {
  path: string;
  summary: string; // one sentence for docs
  registers?: true; // the call may create the account of its caller
  /** True: the answer contains days or trips of the caller. The profile records when the caller last fetched some. */
  fetches?: true;
  /** The fields of the body besides the token. They are checked before `answer` is called. */
  body?: BodySchema;
  /** The member of the body that is a list of entries, which may be long. `answer` gets its elements in `call.list`. */
  list?: string;
  /** True, or with a `list`: the body may have as many bytes as `MOBILITY_BODY_LIMIT` allows. Else: at most a MiB. */
  large?: boolean;
  answers: AnswerSchema; // of a successful call; tests compare every answer with it
  dialect?: Dialect; // for apps other than e-mission's
  /** The parameters that some apps send in the query instead of a body, also with GET, and their descriptions. */
  inQuery?: Readonly<Record<string, string>>;
  answer(call: RouteCall): Promise<Answer>;
  /** Answers a call without a token. Routes without this function refuse such calls. */
  answerWithoutToken?(body: JsonObject): object;
}

/** The name of the handler in log and metrics: `userCache.put` for `/usercache/put`, as in the e-mission server. */
export const handlerOf = (path: string): string => path.slice(1).replace('/', '.').replace('usercache', 'userCache');

/** A GET without a body or a token. */
export interface OpenRoute extends Pick<Route, 'path' | 'summary' | 'answers'> {
  parameters?: Readonly<Record<string, string>>; // a description of each `:name` in the path
  /** `checkReady` rejects if the store or its disk cannot take entries. */
  answer(
    parts: { checkReady(): Promise<void>; studies: Store['studies'] },
    params: RouteCall['params'],
  ): Promise<object>;
}
