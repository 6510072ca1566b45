// What the tests of the server share: an app on a real store in a temporary folder, and calls as phones make them.
import { Ajv } from 'ajv';
import { expect } from 'vitest';
import { studyArchive } from '../../src/export/study-archive.ts';
import { silentLog } from '../../src/log/log.ts';
import { createLineLog } from '../../src/log/queue.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { type TokenKind, tokenHash } from '../../src/model/user.ts';
import { createApp } from '../../src/server/app.ts';
import type { AppParts } from '../../src/server/app-parts.ts';
import { countCalls } from '../../src/server/call-metrics.ts';
import { type ServeOptions, type Serving, serve } from '../../src/server/listen.ts';
import { problemSchema } from '../../src/server/openapi.ts';
import { Problem } from '../../src/server/problem.ts';
import { openRoutes, routes } from '../../src/server/routes/all-routes.ts';
import type { Store } from '../../src/store/store.ts';
import { csrfOf } from '../../src/web/sessions.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { atEnd } from '../support/clean-up.ts';
import { newStore } from '../support/store.ts';

export const now = 1463540400.25;

export interface Answered {
  status: number;
  headers: Headers;
  /** The body; empty when it is no JSON object. */
  json: JsonObject;
  text: string;
}

/** An app, its store, what it wrote, and calls. */
export type Kit = Awaited<ReturnType<typeof openKit>>;

export const config: AppParts['config'] = {
  auth: 'dev',
  openRegistration: false,
  devAnywhere: false,
  host: '127.0.0.1',
  bodyLimitMiB: 64,
  mibPerDay: 0,
  pendingEntries: 0,
  readyDiskMiB: 0,
  trustedProxies: '',
  publicUrl: '',
};

/** No limits for one caller. */
export const noLimits: AppParts['limits'] = {
  callsPerMinute: 0,
  callsPerDay: 0,
  bytesPerMinute: 0,
  refusedPerMinute: 0,
  unknownKeys: 0,
};

const ajv = new Ajv({ strict: false, formats: { uuid: true } });
const isProblem = ajv.compile(problemSchema);
const checks = [
  ...routes.map((route) => ({ route, method: 'POST' })),
  ...openRoutes.map((route) => ({ route, method: 'GET' })),
].map(({ route, method }) => ({
  method,
  path: new RegExp(`^(?:https?://[^/]*)?${route.path.replace(/:\w+/g, '[^/]+')}(?:\\?.*)?$`),
  isGood: ajv.compile(route.answers),
}));

/** Checks each answer against /openapi.json, except a streamed answer that breaks off. */
export function checkAnswer(path: string, method: string, { status, headers, text }: Answered): void {
  if (method === 'HEAD') {
    expect(text, `HEAD ${path}`).toBe('');
  } else if (headers.get('content-type') === 'application/problem+json') {
    expect(isProblem(JSON.parse(text)), `${path}: ${text}`).toBe(true);
    expect(headers.get('cache-control'), path).toBe('no-store');
  } else if (status === 200) {
    const check = checks.find((one) => one.method === method && one.path.test(path));
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    if (check !== undefined && !check.isGood(value)) {
      throw new Error(`${path} answered ${text.slice(0, 500)}, which ${ajv.errorsText(check.isGood.errors)}`);
    }
  }
}

/** The parts of an app with `--auth token` that writes no lines. `parts` replace them. */
export function appParts({ store, ...parts }: Partial<AppParts> & Pick<AppParts, 'store' | 'now'>): AppParts {
  const claimed = new Set<string>();
  return {
    store,
    log: silentLog,
    console: () => {},
    config: { ...config, auth: 'token' },
    audit: async () => {},
    checks: async () => [],
    claim: (work) => {
      if (claimed.has(work)) return null;
      claimed.add(work);
      return { release: () => void claimed.delete(work) };
    },
    makeArchive: (request) => studyArchive(store, request),
    version: '1.0.0',
    tiles: null,
    errorOutput: () => {},
    thread: 'w1',
    ...parts,
  };
}

/** Figures of calls, for a server with `/metrics`. */
export function countedCalls(): NonNullable<AppParts['metrics']> {
  const { figures, registry } = countCalls();
  return { figures, text: () => registry.metrics() };
}

/** Opens an app until the end of the test or file; `parts` replace its own, `wrap` puts something around its store. */
export async function openKit(
  parts: Partial<AppParts> & { wrap?: (store: Store) => Store; level?: 'debug' | 'info' } = {},
) {
  const store = await newStore();
  /** Lines of the log file without the timestamp, of standard output and of standard error. */
  const kit = { store, log: [] as string[], console: [] as string[], errors: [] as string[] };
  const { wrap = (inner: Store) => inner, level = 'debug', ...others } = parts;
  const made = appParts({
    store: wrap(store),
    log: createLineLog({
      level,
      threadId: 'w1',
      zone: 'UTC',
      now: () => now,
      emit: (lines) => {
        for (const line of lines.text().split('\n')) kit.log.push(line.slice(line.indexOf('+00:00:') + 7));
      },
    }),
    console: (line) => kit.console.push(line),
    config,
    limits: noLimits,
    now: () => now,
    errorOutput: (text) => kit.errors.push(text),
    ...others,
  });
  const app = createApp(made);
  const request = async (path: string, init: RequestInit = {}): Promise<Answered> => {
    const answer = await answered(await app.request(path, init));
    checkAnswer(path, init.method ?? 'GET', answer);
    return answer;
  };
  /** Makes a call in process. A body that is no object or array is sent as it is. */
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json; charset=UTF-8', ...headers },
      body: bodyOf(body),
    });
  return {
    ...kit,
    app,
    request,
    post,
    user: async (name: string) => (await store.users.register(name, { now })).user,
    put: (entries: unknown, user = 'ada') => post('/usercache/put', { user, phone_to_server: entries }),
    form: (path: string, fields: Record<string, string>, headers = {}) =>
      post(path, String(new URLSearchParams(fields)), { 'Content-Type': formType, ...headers }),
  };
}

export const formType = 'application/x-www-form-urlencoded';

/** The header of a caller who gives a name and a password. */
export const basic = (name: string, password = name): { Authorization: string } => ({
  Authorization: `Basic ${btoa(`${name}:${password}`)}`,
});

/** Gives a user a token: this text. */
export function addToken(
  store: Store,
  user_id: string,
  text: string,
  { kind, expires_ts = null }: { kind?: TokenKind; expires_ts?: number | null } = {},
): Promise<void> {
  return store.tokens.add({ hash: tokenHash(text), user_id, created_ts: 1, expires_ts, ...(kind && { kind }) });
}

/** The status of a refusal inside of the server, its fields, and when to try again; null: it was none. */
export async function refusalOf(call: () => unknown) {
  try {
    await call();
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { status, options } = error;
    return { status, ...options.members, after: options.headers?.['Retry-After'] };
  }
}

/** The status with which a call inside of the server ends: of its refusal, or 200. */
export const statusOf = async (call: Promise<unknown>) => (await refusalOf(() => call))?.status ?? 200;

/** A store whose calls with this name, such as `usercache.put`, fail. */
export const failingAt = (call: string, error: Error) => (store: Store) =>
  interposedStore(store, (name) => {
    if (name === call) throw error;
  });

/** Signs a browser of a user in: the header that it sends, and the secret of its forms. */
export async function signedIn(store: Store, user_id: string): Promise<{ Cookie: string; csrf: string }> {
  const secret = 'the secret of a session';
  await addToken(store, user_id, secret, { kind: 'session', expires_ts: 4e9 });
  return { Cookie: `mobility-days=${secret}`, csrf: csrfOf(secret) };
}

/** Serves an app on a port until the end of the test or file. */
export async function listen(app: Kit['app'], options: Partial<ServeOptions> = {}): Promise<Serving> {
  const serving = await serve({ app, host: '127.0.0.1', port: 0, drainSeconds: 5, ...options });
  atEnd(() => serving.close());
  return serving;
}

function bodyOf(body: unknown): string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
}

/** Reads a response to its end. */
export async function answered(response: Response): Promise<Answered> {
  const text = await response.text();
  let json: JsonObject = {};
  try {
    json = JSON.parse(text);
  } catch {
    // An answer may be something else, or be cut off.
  }
  return { status: response.status, headers: response.headers, json, text };
}

const sensed = { type: 'sensor-data', read_ts: 0, time_zone: 'America/Los_Angeles' };

/** A location as an Android phone sends it. */
export function androidLocation(write_ts: number, fields: JsonObject = {}): JsonObject {
  const position = { latitude: 37.8716, longitude: -122.2727, altitude: 52, accuracy: 12 };
  const times = { ts: write_ts - 0.6, fmt_time: 'May 17, 2016 9:19:59 AM', elapsedRealtimeNanos: 812345678901234 };
  return {
    metadata: { key: 'background/location', platform: 'android', write_ts, ...sensed },
    data: { ...position, bearing: 88.5, sensed_speed: 1.4, ...times, filter: 'time', ...fields },
  };
}

/** A motion activity as an iPhone sends it. */
export function iosActivity(write_ts: number): JsonObject {
  const others = { automotive: false, cycling: false, running: false, stationary: false, unknown: false };
  return {
    metadata: { key: 'background/motion_activity', platform: 'ios', write_ts, ...sensed, plugin: 'none' },
    data: { ...others, walking: true, confidence: 100, ts: write_ts },
  };
}
