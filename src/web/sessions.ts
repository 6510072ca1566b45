// Sessions of pages. The cookie of a session has a random secret, the store has the hash.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ManagerRecord } from '../model/manager.ts';
import { refusalOf, type TokenRecord, tokenHash, useStep } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { cookieNames, type FormFields, type ManagerCall, type PersonCall, type WebCall } from './web.ts';

/** s after which a session ends: 90 days for a participant, a working day for a manager. */
const lifetimes = { person: 90 * 86_400, manager: 12 * 3600 };
/** s after which a cookie ends. A manager's cookie outlives the session, to recognise the browser. */
const cookieLives = { person: lifetimes.person, manager: 400 * 86_400 };

type Kind = keyof typeof cookieNames;

/** Over https, the prefix `__Host-` binds the cookie to this host and to https. */
const cookieName = (kind: Kind, isSecure: boolean): string => `${isSecure ? '__Host-' : ''}${cookieNames[kind]}`;

export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Only a holder of the cookie can compute the secret of the forms. */
export const csrfOf = (secret: string): string => createHash('sha256').update(`csrf ${secret}`).digest('base64url');

export function isOwnForm(form: FormFields, csrf: string): boolean {
  const [given, expected] = [Buffer.from(form.csrf ?? ''), Buffer.from(csrf)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export function sessionCookie(kind: Kind, { isSecure }: WebCall, secret: string | null): Record<string, string> {
  const life = secret === null ? 0 : cookieLives[kind];
  const rules = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${life}${isSecure ? '; Secure' : ''}`;
  return { 'Set-Cookie': `${cookieName(kind, isSecure)}=${secret ?? ''}; ${rules}` };
}

type TokenCall = Pick<WebCall, 'store' | 'now'>;

export async function findOwner({ store, now }: TokenCall, kind: 'link' | 'session', secret: string) {
  const token = await store.tokens.byHash(tokenHash(secret));
  if (token?.kind !== kind || refusalOf(token, now) !== null) return null;
  const user = await store.users.byUuid(token.user_id);
  return user && { user, token };
}

export async function openLink(call: TokenCall, key: string): Promise<string | null> {
  const found = await findOwner(call, 'link', key);
  const { store, now } = call;
  // If two browsers open the link at the same time, only one of them can revoke it.
  if (found === null || !(await store.tokens.revoke(found.user.uuid, found.token.hash, { ts: now, why: 'used' })))
    return null;
  const secret = newSecret();
  const times = { created_ts: now, expires_ts: now + lifetimes.person };
  await store.tokens.add({ kind: 'session', hash: tokenHash(secret), user_id: found.user.uuid, ...times });
  return secret;
}

export async function findPerson(call: WebCall): Promise<Pick<PersonCall, 'user' | 'session' | 'csrf'> | null> {
  const secret = call.cookies.get(cookieName('person', call.isSecure));
  const found = secret === undefined ? null : await findOwner(call, 'session', secret);
  if (secret === undefined || found === null) return null;
  noteUse(call.store, found.token, call.now);
  return { user: found.user, session: found.token, csrf: csrfOf(secret) };
}

/** Records the last use of a token. Does not wait for the write, and ignores its failure. */
export function noteUse({ tokens }: Pick<Store, 'tokens'>, { hash, used_ts: used }: TokenRecord, now: number): void {
  const step = Math.floor(now / useStep) * useStep;
  if (used === undefined || used < step) void tokens.touch(hash, step).catch(() => {});
}

const mostSessions = 10; // sessions of a manager; a further one ends the oldest
const mostBrowsers = 20; // browsers of a manager; a further one replaces the oldest

/** Returns the name of the manager and the hash of the secret. Both are empty without a cookie. */
function managerCookie({ cookies, isSecure }: Pick<WebCall, 'cookies' | 'isSecure'>): [name: string, hash: string] {
  const cookie = cookies.get(cookieName('manager', isSecure)) ?? '';
  const at = cookie.lastIndexOf('.');
  return at < 1 ? ['', ''] : [cookie.slice(0, at), tokenHash(cookie.slice(at + 1))];
}

export function knownBrowser(call: WebCall, manager: ManagerRecord | null): string | null {
  const [name, hash] = managerCookie(call);
  if (manager === null || manager.name !== name) return null;
  return manager.browsers?.some((one) => one.hash === hash && one.expires_ts > call.now) ? hash : null;
}

/** Returns the cookie; null if the account is locked, or its password is no longer `verified`. */
export async function startManagerSession(call: WebCall, name: string, verified: string): Promise<string | null> {
  const { store, now } = call;
  const secret = newSecret();
  const session = { hash: tokenHash(secret), created_ts: now, expires_ts: now + lifetimes.manager };
  let isIn = false;
  await store.managers.change(name, (before) => {
    const known = knownBrowser(call, before);
    isIn = before?.password === verified && (before.locked_ts <= now || known !== null);
    if (before === null || !isIn) return before;
    const others = before.sessions.filter(({ expires_ts }) => expires_ts > now);
    const browser = { hash: session.hash, expires_ts: now + cookieLives.manager };
    const browsers = (before.browsers ?? []).filter(({ hash, expires_ts }) => hash !== known && expires_ts > now);
    return {
      ...before,
      // Others may have sent the wrong passwords, so a known browser does not reset their count.
      ...(known === null && { failures: 0, locked_ts: 0 }),
      sessions: [...others, session].slice(-mostSessions),
      browsers: [...browsers, browser].slice(-mostBrowsers),
    };
  });
  return isIn ? `${name}.${secret}` : null;
}

export async function findManager(call: WebCall) {
  const cookie = call.cookies.get(cookieName('manager', call.isSecure)) ?? '';
  const [name, hash] = managerCookie(call);
  if (name === '') return null;
  const manager = await call.store.managers.byName(name);
  const isGood = manager?.sessions.some((one) => one.hash === hash && one.expires_ts > call.now);
  return manager && isGood ? { manager, csrf: csrfOf(cookie) } : null;
}

export async function endManagerSession(call: ManagerCall): Promise<void> {
  const [name, hash] = managerCookie(call);
  await call.store.managers.change(
    name,
    (before) => before && { ...before, sessions: before.sessions.filter((one) => one.hash !== hash) },
  );
}
