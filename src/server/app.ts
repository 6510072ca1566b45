// The flow of a call, in order: large bodies on to their process if others may have to wait, START, limits, JSON,
// caller, route, END.
import { constants } from 'node:buffer';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { getPath } from 'hono/utils/url';
import type { Config } from '../config.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { Everybody } from '../metrics/everybody.ts';
import { errorText } from '../model/errors.ts';
import type { JsonObject } from '../model/json.ts';
import type { Store } from '../store/store.ts';
import { jsonAnswer } from './answer.ts';
import { createAuthMethod, headerTokens, tokenOf } from './auth.ts';
import { BodyBudget, type BodyLimits } from './body-budget.ts';
import { type Call, createCallLog, type ServerEnv } from './call.ts';
import { CallerCounts, type CallerLimits, tellLimit } from './caller-limits.ts';
import { Doorkeeper, type DoorParts } from './doorkeeper.ts';
import { isLarge, type PassOn } from './large-bodies.ts';
import { isLoopback } from './loopback.ts';
import { type CallFigures, countingStore } from './metrics.ts';
import { OpenCalls } from './open-calls.ts';
import { openApi } from './openapi.ts';
import { forbidden, Problem, problemOf, unavailable } from './problem.ts';
import { strangersLimit } from './read-body.ts';
import { type JsonLimits, largeLimits, listLimits } from './read-json.ts';
import { readRequest } from './read-request.ts';
import { Readiness, type ReadyLimits } from './readiness.ts';
import { openRoutes, routes } from './routes/index.ts';
import type { Route, RouteConfig } from './routes/route.ts';
import { bodyCheck } from './schemas.ts';
import { alreadySent } from './serve.ts';
import type { SmallCalls } from './small-calls.ts';
import { StoreFigures } from './store-figures.ts';

/** The settings that an app looks at. */
type AppSettings =
  | ('auth' | 'openRegistration' | 'devAnywhere' | 'host' | 'bodyLimitMiB' | 'waitingLimitMiB')
  | keyof RouteConfig
  | keyof ReadyLimits
  | ('callsPerMinute' | 'callsPerDay' | 'mibPerMinute' | 'mibPerDay' | 'waitingEntries' | 'unknownKeys');

/** What an app is made of. */
export interface AppParts {
  store: Store;
  log: Log;
  /** Writes one line to standard output: START and END of each call. */
  console: (line: string) => void;
  config: Pick<Config, AppSettings>;
  /** Seconds since the epoch. */
  now: () => number;
  /** Takes exceptions with their stack; default: standard error. */
  errorOutput?: (text: string) => void;
  /** Counts callers; default: by itself. Processes of one server share what they counted. */
  counts?: CallerCounts;
  /** Figures of calls, and the text of those of all processes; without them `GET /metrics` does not answer. */
  metrics?: { figures: CallFigures; text: () => Promise<string> };
  /** ms that a body waits for room before it is refused. Default 30,000. */
  bodyPatience?: number;
  /** Thread id of `log`, with which request ids begin. Default `w1`. */
  thread?: string;
  /** How large bodies get to the process that reads them, and whether they have to; default: this one reads them. */
  passing?: { passOn: PassOn; smallCalls: SmallCalls };
}

const mebibyte = 1024 * 1024;

const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** The limits of one caller that the settings ask for. */
export function callerLimits(config: AppParts['config']): CallerLimits {
  const { callsPerMinute, callsPerDay, waitingEntries, unknownKeys } = config;
  const bytes = { bytesPerMinute: config.mibPerMinute * mebibyte, bytesPerDay: config.mibPerDay * mebibyte };
  return { callsPerMinute, callsPerDay, waitingEntries, unknownKeys, ...bytes };
}

/** JSON of a call that pushes nothing. */
const smallJsonLimits: JsonLimits = { elements: 0, values: 50_000 };

/**
 * Bytes of a body without room that are read to notice that its sender is gone: more than the systems of both sides
 * keep of a connection. That of the sender keeps up to 4 MiB on Linux.
 */
const mostPeek = 8 * mebibyte;

/**
 * One caller holds half of what may wait, strangers together the other half at most; a single body of any size always
 * fits.
 */
function bodyLimits({ store, config: { waitingLimitMiB }, bodyPatience = 30_000 }: AppParts): BodyLimits {
  const total = waitingLimitMiB * mebibyte;
  const small = { size: strangersLimit, room: total / 8 };
  return {
    total,
    perCaller: total / 2,
    strangers: total / 2,
    patience: bodyPatience,
    small,
    // A store that servers share is asked over a network, and a second body is read meanwhile.
    turns: store.use === null ? 1 : 2,
    ahead: total / 16,
    peek: Math.min(total / 2, mostPeek),
  };
}

/** Makes the app; it listens nowhere yet. `serve` does that, tests call `app.request`. */
export function createApp(parts: AppParts): Hono<ServerEnv> {
  // A doubled slash is one: today's apps put `/usercache/put` after an address that ends in a slash.
  const app = new Hono<ServerEnv>({ getPath: (request) => oneSlash(getPath(request)) });
  const budget = new BodyBudget(bodyLimits(parts));
  const method = createAuthMethod(parts.config, parts.store, parts.now);
  const counts = parts.counts ?? new CallerCounts(callerLimits(parts.config), parts.now);
  const doors = { method, users: parts.store.users, now: parts.now, open: new OpenCalls(), counts };

  const everybody = new Everybody(parts.store, parts.now);
  const storeFigures = new StoreFigures(parts.store, parts.now);
  const readiness = new Readiness(parts.store, storeFigures, parts.config);
  const openParts = { readiness, studies: parts.store.studies };

  if (parts.passing !== undefined) app.use(passLargeBodies(parts.passing));
  app.use(logCalls(parts, budget));
  app.use(refuseLost);
  for (const { path, dialect } of routes) if (dialect !== undefined) app.use(`${path}/*`, refuseAs(dialect.refuse));
  if (parts.config.auth === 'dev' && !parts.config.devAnywhere) app.use(refuseOtherHosts(parts.config.host));
  const description = openApi(routes, openRoutes);
  app.get('/openapi.json', (c) => jsonAnswer(c.get('call'), description, () => {}));
  app.all('/openapi.json', refuseMethod('GET, HEAD'));
  if (parts.metrics !== undefined) {
    const { text } = parts.metrics;
    app.get('/metrics', async (c) => {
      const texts = await Promise.all([text(), storeFigures.text()]);
      const headers = { 'Content-Type': metricsType, 'Cache-Control': 'no-store', 'X-Request-Id': c.get('call').id };
      return new Response(texts.join('\n'), { headers });
    });
    app.all('/metrics', refuseMethod('GET, HEAD'));
  }
  for (const route of openRoutes) {
    app.get(route.path, async (c) => jsonAnswer(c.get('call'), await route.answer(openParts, c.req.param()), () => {}));
    app.all(route.path, refuseMethod('GET, HEAD'));
  }
  for (const route of routes) {
    const answer = answerCaller(route, parts, doors, everybody);
    // People type the addresses of other apps by hand, at times with a slash at the end.
    for (const path of route.dialect === undefined ? [route.path] : [route.path, `${route.path}/`]) {
      app.post(path, answer);
      app.all(path, refuseMethod('POST'));
    }
  }
  app.all('*', () => {
    throw new Problem(404, 'no endpoint at this path; docs/api.md lists the endpoints');
  });
  app.onError((error, c) => tellProblem(error, c.get('call'), parts, counts));
  return app;
}

/**
 * A large body is read here if this worker has no other one, and no worker had a small call for some seconds; also
 * while the process that reads them is being replaced. One that ended while it read takes what it had read along.
 */
function passLargeBodies({ passOn, smallCalls }: NonNullable<AppParts['passing']>): MiddlewareHandler<ServerEnv> {
  let open = 0;
  return async function passLarge(c, next) {
    const { incoming, outgoing } = c.env;
    if (incoming === undefined || outgoing === undefined) return next();
    if (!isLarge(incoming)) {
      smallCalls.note();
      return next();
    }
    const isAlone = open === 0 && !smallCalls.areRecent();
    open += 1;
    try {
      const passed = isAlone ? null : await passOn(incoming, outgoing);
      if (passed === 'answered') return alreadySent;
      if (passed === 'lost') c.set('lost', true);
      return await next();
    } finally {
      open -= 1;
    }
  };
}

const refuseLost: MiddlewareHandler<ServerEnv> = async (c, next) => {
  if (c.get('lost') === true) {
    throw unavailable(
      'the process that read this body ended; some or all of its entries may be stored, send all of them again',
    );
  }
  await next();
};

/** Writes START before and END after everything else, failed calls included. */
function logCalls(parts: AppParts, budget: BodyBudget): MiddlewareHandler<ServerEnv> {
  const startCall = createCallLog({ ...parts, thread: parts.thread ?? 'w1' });
  return async function logCall(c, next) {
    const { call, end } = startCall(c.req.method, pathOf(c.req.url), budget.share());
    c.set('call', call);
    const started = performance.now();
    const finish = (): void => {
      parts.metrics?.figures.ended(call.handler, c.res.status, (performance.now() - started) / 1000);
      call.share.release();
      for (const leave of call.leave) leave();
      end(c.res.status);
    };
    // A handler that throws has become a response by now: Hono answers before this goes on.
    await next();
    if (call.streaming === null) finish();
    else void call.streaming.then(finish);
  };
}

/**
 * Every failure at the path of such an app, and below it, has the form that the app takes: one of another method, of a
 * mistyped path, or before the route is looked for.
 */
function refuseAs(refuse: Call['refuse']): MiddlewareHandler<ServerEnv> {
  return async function setForm(c, next) {
    c.get('call').refuse = refuse;
    await next();
  };
}

/**
 * With `dev` a name is all a caller needs, so a page of a browser on this machine must not be able to call: a name of
 * another site that leads to this address (DNS rebinding) is not this server's.
 */
function refuseOtherHosts(own: string): MiddlewareHandler<ServerEnv> {
  return async function checkHost(c, next) {
    const host = new URL(c.req.url).hostname.replace(/^\[|\]$/g, '');
    if (!isLoopback(host) && host !== own) {
      throw forbidden(
        'expected this machine as Host with --auth dev, such as 127.0.0.1 or localhost; found another name',
      );
    }
    await next();
  };
}

const phonesPlace = 'in "user" of the body or as "Authorization: Bearer TOKEN"';

/** Answers a call of somebody: the numbered steps of every route but the open ones. */
function answerCaller(route: Route, parts: AppParts, doors: DoorParts, everybody: Everybody) {
  const most = Math.min(parts.config.bodyLimitMiB * mebibyte, constants.MAX_STRING_LENGTH);
  const isLarge = route.large === true || route.list !== undefined;
  const limit = isLarge ? most : Math.min(most, mebibyte);
  const json = route.list !== undefined ? listLimits : isLarge ? largeLimits : smallJsonLimits;
  const checkBody = route.body === undefined ? null : bodyCheck(route.body);
  const { tokenField = 'user', tokenPlace = phonesPlace, tokenParameter, takesAnything = false } = route.dialect ?? {};
  return async function answer(c: Context<ServerEnv>): Promise<Response> {
    const call = c.get('call');
    const params = c.req.param();
    const query = c.req.query();
    call.handler = route.handler;
    call.log.write('INFO', line.called(route.handler.replace(/:(\w+)/, (_, name: string) => params[name] ?? '')));

    // 1. The caller, if the headers identify them.
    const door = new Doorkeeper(doors, route, call);
    const { bearer, basic } = headerTokens(c.req.header('Authorization'));
    const outside = bearer ?? (tokenParameter === undefined ? null : (query[tokenParameter] ?? null));
    if (outside !== null) await door.admit(outside);
    else if (basic !== null) await door.admitIfKnown(basic);

    // 2. The body: limits, the caller if the body identifies them, JSON, and the check of each entry.
    const { body, list, size, notes, unread } = await readRequest(c.req.raw, c.env?.incoming, {
      limit,
      json,
      share: call.share,
      ...(route.list !== undefined && { list: route.list }),
      tokenField,
      takesAnything,
      isKnown: () => door.caller !== null,
      admit: async (token) => void (await door.admit(token)),
    });
    for (const note of notes) call.log.write('WARNING', note);

    // 3. The caller, finally.
    const { answerStranger } = route;
    if (answerStranger !== undefined && door.caller === null && isCallOfStranger(body, tokenField, checkBody)) {
      return jsonAnswer(call, answerStranger(body), () => {});
    }
    const caller = await door.admit(
      takesAnything && door.token !== null
        ? door.token
        : tokenOf(body, {
            field: tokenField,
            inHeader: door.token,
            missing: () => door.refusal ?? forbidden(`expected a token, ${tokenPlace}`),
          }),
    );

    doors.counts.bytes(caller.uuid, size);
    await doors.counts.entries(caller.uuid, list.length, parts.store.usercache);
    const taken = await doors.counts.keys(caller.uuid, list, parts.store);

    // 4. The route. What it answers in pieces needs the body no longer.
    checkBody?.(body);
    const { now } = parts;
    const store = parts.metrics === undefined ? parts.store : countingStore(parts.store, parts.metrics.figures);
    const sent = { caller, body, unread, list: taken, params, query };
    const result = await route.answer({ store, config: parts.config, everybody, log: call.log, now, ...sent });
    call.share.release();
    if (Symbol.asyncIterator in result) call.leave.push(doors.open.enter(caller.uuid, 'streams'));
    return jsonAnswer(call, result, (error) => reportFailure(problemOf(error), call, parts));
  };
}

/** True for a body that is as the route expects, without a token; every other stranger is refused as everywhere. */
function isCallOfStranger(
  body: JsonObject,
  tokenField: string | null,
  checkBody: ReturnType<typeof bodyCheck> | null,
): boolean {
  if (tokenField !== null && (body[tokenField] ?? null) !== null) return false;
  try {
    checkBody?.(body);
    return true;
  } catch {
    return false;
  }
}

function refuseMethod(allow: string) {
  return function refuse(c: Context<ServerEnv>): never {
    throw new Problem(405, `expected ${allow.replace(', ', ' or ')}, found ${c.req.method}`, {
      headers: { Allow: allow },
    });
  };
}

/** Answers a failed call, and gives the operator the details that the caller must not see. */
function tellProblem(error: unknown, call: Call, parts: AppParts, counts: CallerCounts): Response {
  const problem = problemOf(error);
  if ((problem.status === 400 || problem.status === 413) && call.caller !== null) counts.refused(call.caller.uuid);
  if (problem.status === 429 && call.caller !== null) {
    parts.metrics?.figures.limitMet(String(problem.options.members?.limit ?? 'open_calls'));
    tellLimit(problem, call.caller.uuid, { ...parts, counts, log: call.log });
  }
  call.failure = problem.options.code ?? null;
  if (problem.status >= 500) reportFailure(problem, call, parts);
  else call.log.write('WARNING', `Refused: ${problem.message}`);
  return call.refuse(problem, call.id);
}

/**
 * On standard error: the exception with its stack, or one line for what is known, such as a full disk that fails every
 * call.
 */
function reportFailure(problem: Problem, call: Call, parts: AppParts): void {
  call.failure = problem.options.code ?? 'EXCEPTION';
  const output = parts.errorOutput ?? ((text) => process.stderr.write(`${text}\n`));
  const cause = problem.options.cause ?? problem;
  output(`${call.id} ${call.method} ${call.path}: ${problem.status === 500 ? stackOf(cause) : errorText(cause)}`);
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by ${stackOf(error.cause)}`;
}

/**
 * The path as it was sent, percent-encoded, doubled slashes as one: `c.req.path` is decoded, and may hold line breaks.
 */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const path = start === -1 ? '/' : url.slice(start);
  return oneSlash(path.replace(/[?#].*$/s, ''));
}

const oneSlash = (path: string): string => path.replace(/\/{2,}/g, '/');
