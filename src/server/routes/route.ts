// Routes: their paths, callers, inputs and answers.
import type { CheckedEntry } from '../../intake/check-entry.ts';
import type { Log } from '../../log/log.ts';
import type { PutCounts } from '../../log/messages.ts';
import type { AppId, phoneApps } from '../../model/apps.ts';
import type { JsonObject } from '../../model/json.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import type { Problem } from '../problem.ts';
import type { RequestBody } from '../read-request.ts';
import type { AnswerSchema, BodySchema } from '../schemas.ts';

/** What a route gets. A route must access only the data of `caller`. */
export interface RouteCall extends Pick<RequestBody, 'body' | 'unread' | 'list'> {
  caller: UserRecord;
  params: Readonly<Record<string, string>>; // the named parts of the path
  query: Readonly<Record<string, string>>; // if a name occurs twice, its first value counts
  store: Store;
  /** Stores entries within the limits of the caller. Routes must not store entries otherwise. */
  put(checked: readonly CheckedEntry[]): Promise<PutCounts>;
  log: Log;
  now: () => number;
}

/** JSON, or its text in pieces if it may be long. e-mission phones expect an object. */
export type Answer = object | AsyncIterable<string>;

/** A route with a dialect accepts any body, since the app would repeat a refused body for ever. */
export interface Dialect extends TokenRules {
  /** Answers a failure so that the app keeps its data: some apps delete data after any 4xx. */
  refuse(problem: Problem, requestId: string): Response;
}

/** Where a call has its token, besides the header `Authorization`. */
export type TokenRules = (typeof phoneApps)[AppId]['token'];

export const phoneTokens: TokenRules = {
  tokenField: 'user',
  tokenPlace: 'in "user" of the body or as "Authorization: Bearer TOKEN"',
};

/**
 * A route that needs a caller. It answers a POST with a JSON object. The fields below decide how
 * the server checks bodies, and what `/openapi.json` and the tables of docs/api.md contain.
 */
export interface Route {
  path: string;
  summary: string; // one sentence for docs
  registers?: true; // the call may create the account of its caller
  /** The answer contains days or trips of the caller. The profile records the last fetch. */
  fetches?: true;
  body?: BodySchema; // the fields of the body besides the token
  /** The member of the body that is a long list of entries. `answer` gets them in `call.list`. */
  list?: string;
  /** True: the body may have as many bytes as `MOBILITY_BODY_LIMIT` allows. False: 1 MiB. */
  large?: boolean;
  answers: AnswerSchema; // the schema of successful answers; tests compare every answer with this schema
  dialect?: Dialect; // for apps other than e-mission's
  /** Parameters that some apps send in the query instead of a body, also with GET. */
  inQuery?: Readonly<Record<string, string>>;
  answer(call: RouteCall): Promise<Answer>;
  /** Answers a call without a token. */
  answerWithoutToken?(body: JsonObject): object;
}

/** The name in log and metrics: `userCache.put` for `/usercache/put`, as in the e-mission server. */
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
