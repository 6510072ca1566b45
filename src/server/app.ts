// Builds the HTTP app from its parts and routes, with the steps around each call.
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { getPath } from 'hono/utils/url';
import { phoneApps } from '../model/apps.ts';
import { isLoopback, networksOf } from '../model/networks.ts';
import { pathForLog } from '../web/routes.ts';
import { fixedAnswer, jsonAnswer } from './answer.ts';
import type { AppParts } from './app-parts.ts';
import { createAuthMethod, type Server } from './auth.ts';
import { ByteBudget } from './byte-budget.ts';
import { createCallLog, type ServerEnv } from './call.ts';
import { answerCaller } from './call-flow.ts';
import { CallerLimiter, callerLimits } from './caller-limits.ts';
import { answerProblem } from './failed-calls.ts';
import { openApi } from './openapi.ts';
import { originFinder } from './origin.ts';
import { forbidden, headersOf, methodNotAllowed, Problem } from './problem.ts';
import { openRoutes, routes } from './routes/all-routes.ts';
import { readinessCheck } from './routes/open-routes.ts';
import { isPosition, refusal } from './routes/other-apps.ts';
import { storeFigures } from './store-figures.ts';
import { mountPages, protectPages, refuseAsPage } from './web-pages.ts';

const longCall = 200; // ms; an erasure waits longer than this before it scrubs the log
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** Builds the app without a port. `serve` binds the app to a port; tests call `app.request`. */
export function createApp(parts: AppParts): Hono<ServerEnv> {
  const { store, config, now, metrics } = parts;
  const base = basePath(config.publicUrl);
  // Paths of current e-mission apps begin with `//` if the configured address ends in a slash.
  const app = new Hono<ServerEnv>({ getPath: (request) => withoutBase(mergeSlashes(getPath(request)), base) });
  const limiter = new CallerLimiter({ ...callerLimits(config), ...parts.limits }, store, now);
  const server: Server = { ...parts, limiter, auth: createAuthMethod(parts) };

  const guard = config.auth === 'dev' && !config.devAnywhere ? refuseOtherSites(config.host) : null;
  app.use(logCalls(parts, base));
  app.use(protectPages);
  app.use('/', answerAtRoot(onlyGetAndPost(answerCaller(positionRoute, server)), guard));
  mountPages(app, server);
  // A mistyped path below the path of an app is refused in the form that this app understands.
  for (const { path, dialect } of routes)
    if (dialect !== undefined)
      app.use(`${path}/*`, (c, next) => {
        c.get('call').refuse = dialect.refuse;
        return next();
      });
  if (guard !== null) app.use(guard);
  get(app, '/openapi.json', fixedAnswer(JSON.stringify(openApi(routes, openRoutes)), 'application/json'));
  if (metrics !== undefined) {
    const figures = storeFigures(store, now);
    get(app, '/metrics', async (c) => {
      const text = (await Promise.all([metrics.text(), figures()])).join('\n');
      c.get('call').hold(Buffer.byteLength(text));
      return new Response(text, { headers: headersOf(c.get('call').id, metricsType) });
    });
  }
  const openParts = { checkReady: readinessCheck(store, config.readyDiskMiB), studies: store.studies };
  for (const route of openRoutes)
    get(app, route.path, async (c) => jsonAnswer(c.get('call'), await route.answer(openParts, c.req.param())));
  for (const route of routes) {
    const answer = answerCaller(route, server);
    const isOther = route.dialect !== undefined;
    // Users type the addresses for other apps, sometimes with a slash at the end.
    const paths = isOther ? [route.path, `${route.path}/`] : [route.path];
    app.on('POST', paths, answer);
    // Some apps send a file with PUT, to a path below the address that the user typed.
    if (isOther) app.on('PUT', [...paths, `${route.path}/:file`], answer);
    if (route.inQuery !== undefined) app.on('GET', paths, onlyGetAndPost(answer));
    for (const path of paths) app.all(path, refuseMethod(route.inQuery === undefined ? 'POST' : 'GET, POST'));
  }
  app.all('*', (c) => {
    refuseAsPage(c);
    throw new Problem(404, 'no endpoint at this path; docs/api.md lists the endpoints');
  });
  app.onError((error, c) => answerProblem(error, c.get('call'), server));
  return app;
}

type Handler = (c: Context<ServerEnv>) => Response | Promise<Response>;

function get(app: Hono<ServerEnv>, path: string, answer: Handler): void {
  app.get(path, answer);
  app.all(path, refuseMethod('GET, HEAD'));
}

/** Writes START before all other steps and END after them, also for failed calls. */
function logCalls(parts: AppParts, base: string): MiddlewareHandler<ServerEnv> {
  const budget = new ByteBudget(parts.bytes);
  const originOf = originFinder(networksOf(parts.config.trustedProxies));
  const startCall = createCallLog(parts);
  const { users } = parts.store;
  return async (c, next) => {
    const outgoing = c.env?.outgoing;
    const network = originOf(c.env?.incoming?.socket.remoteAddress, c.req.header('X-Forwarded-For'));
    const { call, end } = startCall(c.req.method, pathForLog(pathOf(c.req.url)), {
      network,
      share: budget.share(network),
      hold: (caller, bytes) => budget.holdAnswer(caller, network, bytes, () => outgoing?.destroy()),
    });
    c.set('call', call);
    c.set('base', base);
    const started = performance.now();
    const finish = async (): Promise<void> => {
      const took = performance.now() - started;
      const { status } = c.res;
      parts.metrics?.figures.countCall(call, status, took / 1000);
      call.share.release();
      // The call counts as open until its answer is sent.
      const leaveAll = (): void => {
        for (const leave of call.cleanups) leave();
      };
      if (outgoing === undefined || outgoing.closed) leaveAll();
      else outgoing.once('close', leaveAll);
      // If the caller was erased during the call, the log is scrubbed already: END must not name them.
      const { caller } = call;
      const mayBeErased = took > longCall && caller !== null;
      end(status, mayBeErased && !(await users.isActive(caller.uuid).catch(() => false)));
    };
    // Hono turns an exception into a response before `next` returns.
    await next();
    if (call.streaming === null) void finish();
    else void call.streaming.then(finish);
  };
}

// Stores a position that an app sends to the root because its user typed an address without a path.
// Refuses other POSTs. Failures have the form for other apps, so that an app keeps the position.
function answerAtRoot(answer: Handler, guard: MiddlewareHandler<ServerEnv> | null): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const hasPosition = isPosition(c.req.query());
    if (!hasPosition && c.req.method !== 'POST') return next();
    c.get('call').refuse = refusal;
    await guard?.(c, async () => {});
    if (hasPosition) return answer(c);
    const paths = Object.values(phoneApps).map(({ name, path }) => `${path} (${name})`);
    const text = `expected an address that ends in ${paths.join(' or ')}, found no path`;
    throw new Problem(405, text, { headers: { Allow: 'GET, HEAD' } });
  };
}

const positionRoute = routes.find(({ path }) => path === phoneApps.traccar.path)!;

// Refuses calls that a foreign web page makes in a browser on this machine: calls from another
// site, and calls with a host name that resolves to this address (DNS rebinding). With `dev`
// authentication, the page would need only a user name to read data.
function refuseOtherSites(own: string): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const host = new URL(c.req.url).hostname.replace(/^\[|\]$/g, '');
    const fetchSite = c.req.header('Sec-Fetch-Site') ?? 'none';
    const refuse = (text: string) => forbidden(`the server runs with --auth dev: expected ${text}`);
    if (!isLoopback(host) && host !== own)
      throw refuse('a name of this machine as Host, such as localhost, found another name');
    if (c.req.header('Origin') !== undefined || !['none', 'same-origin'].includes(fetchSite))
      throw refuse('a call from a program, found one from a web page (Origin, Sec-Fetch-Site)');
    await next();
  };
}

/** Accepts only GET and POST for a handler that stores data. Hono would also run it for HEAD. */
function onlyGetAndPost(answer: Handler): Handler {
  const refuse = refuseMethod('GET, POST');
  return (c) => (['GET', 'POST'].includes(c.req.method) ? answer(c) : refuse(c));
}

const refuseMethod =
  (allow: string) =>
  (c: Context<ServerEnv>): never => {
    throw methodNotAllowed(allow, c.req.method);
  };

/** Returns the path as sent, because the decoded `c.req.path` may bring line breaks into the log. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const path = start === -1 ? '/' : url.slice(start);
  return mergeSlashes(path.replace(/[?#].*$/s, ''));
}

const mergeSlashes = (path: string): string => path.replace(/\/{2,}/g, '/');

/** Returns `/mobility` for `https://example.org/mobility/`. */
const basePath = (address: string): string => (address === '' ? '' : new URL(address).pathname.replace(/\/+$/, ''));

/** Returns `/healthz` for `/mobility/healthz`. The proxy may have removed the base already. */
const withoutBase = (path: string, base: string): string =>
  base !== '' && (path === base || path.startsWith(`${base}/`)) ? path.slice(base.length) || '/' : path;
