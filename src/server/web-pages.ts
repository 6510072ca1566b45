// Serves the pages of `web/` over HTTP: headers, cookies and forms.
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { secureHeaders } from 'hono/secure-headers';
import { hostZone } from '../log/line-format.ts';
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import { answerPage } from '../web/answer-page.ts';
import { ImportTurns } from '../web/import-turns.ts';
import { Markup } from '../web/pages/markup.ts';
import { stylePath } from '../web/pages/shell.ts';
import { pagesStyle } from '../web/pages/style.ts';
import { acceptedLanguages, languages, ownValue, textsFor } from '../web/pages/texts/texts.ts';
import { webRoutes } from '../web/routes.ts';
import { SignInLimits } from '../web/sign-in-limits.ts';
import { FigureCache } from '../web/study-people.ts';
import { faultPage, type Upload, type WebAnswer, type WebCall } from '../web/web.ts';
import { fixedAnswer, streamedAnswer } from './answer.ts';
import type { AppParts } from './app-parts.ts';
import { countCaller, enterCaller, type Server } from './auth.ts';
import type { Call, ServerEnv } from './call.ts';
import type { CallerLimiter } from './caller-limits.ts';
import { reportFailure } from './failed-calls.ts';
import { badRequest, forbidden, headersOf, methodNotAllowed, Problem, problemOf, problemResponse } from './problem.ts';
import { readBody } from './read-body.ts';
import { readMultipart } from './read-multipart.ts';
import { incomingBody } from './read-request.ts';

const mostForm = 16 * 1024; // bytes of a form without a file
const mostUpload = 64 * 1024 * 1024; // bytes of a file: as many as a body of a phone may have

/** A page loads nothing from other hosts, runs no script, and cannot be shown in a frame. */
const protect = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // `Referer` names only the host: a proxy may log it. `no-referrer` would leave forms without `Origin`.
  referrerPolicy: 'strict-origin',
  // The header is not set, because other services of the host may not support TLS.
  strictTransportSecurity: false,
});

export const protectPages: MiddlewareHandler<ServerEnv> = async (c, next) => {
  await next();
  const isText = /^text\/(html|css)/.test(c.res.headers.get('Content-Type') ?? '');
  if (isText || c.get('call').handler.startsWith('web.')) await protect(c, async () => {});
};

/** Adds the pages. Middleware for phones must be added later, so that it does not run for pages. */
export function mountPages(app: Hono<ServerEnv>, server: Server): void {
  const { config, now, limiter } = server;
  const fixed = {
    ...server,
    limits: new SignInLimits(now),
    turns: new ImportTurns(now),
    cache: new FigureCache(),
    zone: hostZone(),
  };
  app.get(stylePath, fixedAnswer(pagesStyle, 'text/css; charset=utf-8'));

  for (const route of webRoutes) {
    app.on(route.method, route.path, async (c) => {
      const call = c.get('call');
      call.handler = `web.${route.path.slice(1).replaceAll(/\/:?/g, '.') || 'home'}`;
      call.refuse = asPage(c);
      const { address, isSecure } = addressOf(c, config.publicUrl);
      const form = route.method === 'POST' && !route.takesFile ? await formOf(c, address) : {};
      const preferred = languagesOf(c);
      const pageCall: WebCall = {
        ...fixed,
        audit: (who, action, people) => server.audit({ ts: now(), who, action, people, how: '', outcome: 'done' }),
        params: c.req.param(),
        query: c.req.query(),
        form,
        file: null,
        readUpload: () => uploadOf(c, address),
        put: (user, checked, options) => limiter.put(user, checked, { log: call.log, inProfile: false, ...options }),
        t: textsFor(preferred),
        preferred,
        now: now(),
        address,
        isSecure,
        cookies: new Map(Object.entries(getCookie(c))),
        // This is a getter, because the log may be silent until the caller is authenticated.
        get log() {
          return call.log;
        },
        origin: call.network,
      };
      const enter = async (caller: UserRecord | string): Promise<void> => {
        call.cleanups.push(await limiter.waitForSlot(enterReader(call, caller, limiter)));
        if (c.env?.outgoing?.destroyed) throw badRequest('the browser left before its page was made');
      };
      const answer = await answerPage(route, pageCall, enter);
      const headers = { ...languageHeader(c, isSecure), ...answer.headers };
      const isGzipTaken = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(c.req.header('Accept-Encoding') ?? '');
      return respond(call, belowBase({ ...answer, headers }, c.get('base')), server, isGzipTaken);
    });
  }
  for (const path of new Set(webRoutes.map((route) => route.path))) {
    const methods = webRoutes.filter((route) => route.path === path).map(({ method }) => method);
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    app.all(path, (c) => {
      if (c.get('call').refuse === problemResponse) c.get('call').refuse = asPage(c);
      throw methodNotAllowed(allow, c.req.method);
    });
  }
}

const languageCookie = 'mobility-language';

/** Stores the language that the reader chose by a link at the foot of a page, for a year. */
function languageHeader(c: Context<ServerEnv>, isSecure: boolean): Record<string, string> {
  const chosen = ownValue(languages, c.req.query('lang'))?.language;
  if (chosen === undefined) return {};
  const rules = `Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000${isSecure ? '; Secure' : ''}`;
  return { 'Set-Cookie': `${languageCookie}=${chosen}; ${rules}` };
}

/** Returns the chosen language first, then the languages of the browser. */
function languagesOf(c: Context<ServerEnv>): string[] {
  const chosen = [c.req.query('lang'), getCookie(c, languageCookie)].flatMap((one) => ownValue(languages, one) ?? []);
  const accepted = acceptedLanguages(c.req.header('Accept-Language'));
  return [...new Set([...chosen.map(({ language }) => language), ...accepted])];
}

/** Answers a failed GET of a browser with a page, except at the paths of other apps. */
export function refuseAsPage(c: Context<ServerEnv>): void {
  const isLooking = c.req.method === 'GET' && (c.req.header('Accept') ?? '').includes('text/html');
  if (isLooking && c.get('call').refuse === problemResponse) c.get('call').refuse = asPage(c);
}

const asPage =
  (c: Context<ServerEnv>): Call['refuse'] =>
  (problem, id) => {
    const { headers: own = {} } = problem.options;
    const reader = { t: textsFor(languagesOf(c)), cookies: new Map(Object.entries(getCookie(c))) };
    const page = faultPage(problem.status, reader, { id, wait: Number(own['Retry-After'] ?? 0) });
    const answer = belowBase(page, c.get('base'));
    const headers = { ...pageHeaders(c.get('call')), ...own };
    return new Response(textOf(answer), { status: problem.status, headers });
  };

// Counts the call of a page against the limits of `reader`: a participant, whose phones share the
// limits, or the name of a manager. Returns the id under which the calls are counted.
function enterReader(call: Call, reader: UserRecord | string, limiter: CallerLimiter): string {
  call.log.write('INFO', line.called(call.handler));
  if (typeof reader === 'object') {
    enterCaller(call, reader, limiter);
    return reader.uuid;
  }
  const uuid = `manager ${reader}`;
  call.log.write('INFO', uuid);
  countCaller(call, { uuid, user_email: reader, update_ts: 0 }, limiter);
  return uuid;
}

async function respond(call: Call, answer: WebAnswer, parts: AppParts, isGzipTaken: boolean): Promise<Response> {
  const { status, body } = answer;
  const headers: Record<string, string> = { ...pageHeaders(call), ...answer.headers };
  if (typeof body === 'object' && Symbol.asyncIterator in body) {
    // Pages are not compressed: the compressed length could reveal the secrets of their forms.
    if (isGzipTaken && headers['Content-Type'] !== 'application/zip') headers['Content-Encoding'] = 'gzip';
    return streamedAnswer(call, body, headers, (error) => reportFailure(problemOf(error), call, parts));
  }
  const bytes = body instanceof Uint8Array ? body : Buffer.from(textOf(answer));
  call.hold(bytes.length);
  return new Response(bytes, { status, headers });
}

const pageHeaders = (call: Call): Record<string, string> => ({
  ...headersOf(call.id, 'text/html; charset=utf-8'),
  Vary: 'Cookie, Accept-Language',
});

const textOf = ({ body }: WebAnswer): string => (body instanceof Markup ? body.text : String(body));

/** Adds the path of the public address to the links of a page, which are written for the root. */
function belowBase(answer: WebAnswer, base: string): WebAnswer {
  const { body, headers = {} } = answer;
  if (base === '') return answer;
  const { Location: to } = headers;
  const moved = to?.startsWith('/') ? { ...headers, Location: `${base}${to}` } : headers;
  if (!(body instanceof Markup)) return { ...answer, headers: moved };
  const text = body.text.replace(/(\s(?:href|src|action|formaction)=")(?=\/(?!\/))/g, `$1${base}`);
  return { ...answer, headers: moved, body: new Markup(text) };
}

function addressOf(c: Context<ServerEnv>, publicUrl: string): { address: string; isSecure: boolean } {
  const { host } = new URL(c.req.url);
  const [forwarded = ''] = (c.req.header('X-Forwarded-Proto') ?? '').split(',');
  const isSecure = forwarded.trim().toLowerCase() === 'https' || publicUrl.startsWith('https:');
  return { address: publicUrl.replace(/\/+$/, '') || `${isSecure ? 'https' : 'http'}://${host}`, isSecure };
}

async function formOf(c: Context<ServerEnv>, address: string): Promise<Record<string, string>> {
  const text = await formBody(c, { address, type: 'application/x-www-form-urlencoded', limit: mostForm });
  const fields = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(text.toString('utf8'))) fields[name] ??= value;
  return fields;
}

async function uploadOf(c: Context<ServerEnv>, address: string): Promise<Upload> {
  const body = await formBody(c, { address, type: 'multipart/form-data', limit: mostUpload + mostForm });
  const [, boundary = ''] = /boundary="?([^";]+)/i.exec(c.req.header('Content-Type') ?? '') ?? [];
  return readMultipart(body, boundary);
}

/** Throws a `Problem`: 403 for a form of another site, 415 or 413 for a wrong type or size. */
async function formBody(
  c: Context<ServerEnv>,
  { address, type, limit }: { address: string; type: string; limit: number },
): Promise<Buffer> {
  const { headers } = c.req.raw;
  // Browsers send one or both headers with a form. Other programs must know the form's secret.
  if (headers.has('Sec-Fetch-Site') || headers.has('Origin')) {
    const own = [new URL(address).host, new URL(c.req.url).host];
    const refuseForeign = csrf({ origin: (origin) => URL.canParse(origin) && own.includes(new URL(origin).host) });
    await refuseForeign(c, async () => {}).catch(() => {
      throw forbidden("expected a form of this server's pages, found one of another site: open the page again");
    });
  }
  const [found = ''] = (headers.get('Content-Type') ?? '').split(';');
  if (found.trim().toLowerCase() !== type)
    throw new Problem(415, `expected a form as ${type}, found another type`, { code: 'MOBILITY_UNSUPPORTED' });
  // A form with a file is read after its sender is known.
  const isKnown = (): boolean => limit > mostForm;
  const rules = { limit, share: c.get('call').share, tokenField: null, isKnown, admit: async () => {} };
  return readBody(incomingBody(c.req.raw, c.env?.incoming), rules);
}
