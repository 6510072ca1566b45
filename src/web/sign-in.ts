import { shownName } from '../model/user.ts';
import { type Markup, markup } from './pages/markup.ts';
import { shell } from './pages/shell.ts';
import type { Texts } from './pages/texts/texts.ts';
import { isPassword, isWeak, passwordHash } from './password-hash.ts';
import {
  endManagerSession,
  findOwner,
  knownBrowser,
  openLink,
  sessionCookie,
  startManagerSession,
} from './sessions.ts';
import type { ManagerCall, PersonCall, WebAnswer, WebCall } from './web.ts';
import { answerOf, banner, faultPage, formButton, redirect } from './web.ts';

const lockTime = 900; // s for which an account is locked after `mostFailures`
const mostFailures = 50; // wrong passwords in a row, from any network

const fullQueueWait = 5; // seconds until a caller may try again if the queue of passwords was full

const page = (t: Texts, title: string, body: Markup, status = 200, query: WebCall['query'] = {}): WebAnswer =>
  answerOf(shell({ t, title, isNarrow: true, query, body: markup`<h1>${title}</h1>${body}` }), status);

export function explainLinks({ t, query }: WebCall): WebAnswer {
  const { title, text, already, again } = t.signIn;
  const out = query.done === 'out' && banner(t.signIn.signedOut);
  const body = markup`${out}<p class="lead">${text}</p><p>${already}</p><p><a class="btn" href="/me">${again}</a></p>`;
  return page(t, title, body);
}

/** The button helps people who have opened the link in this browser before. */
function gone(t: Texts): WebAnswer {
  const { gone: title, goneText, already, again } = t.signIn;
  const body = markup`<p class="lead">${goneText}</p><p>${already}</p><p><a class="btn go" href="/me">${again}</a></p>`;
  return page(t, title, body, 403);
}

/** The page has only a button, because programs that preview links must not use the link up. */
export async function showLink(call: WebCall): Promise<WebAnswer> {
  const { t, query } = call;
  const key = query.key ?? '';
  const found = await findOwner(call, 'link', key);
  if (found === null) return gone(t);
  const name = shownName(found.user.user_email);
  const body = markup`<p class="lead">${t.signIn.linkText(name)}</p><p class="soft">${t.signIn.linkWarning}</p>
<form method="post" action="/me/open"><input type="hidden" name="key" value="${key}"><button class="go">${t.signIn.open}</button></form>`;
  return page(t, t.signIn.linkTitle, body, 200, { key });
}

export async function openDays(call: WebCall): Promise<WebAnswer> {
  const { t, form } = call;
  const secret = await openLink(call, form.key ?? '');
  if (secret === null) return gone(t);
  return redirect('/me', sessionCookie('person', call, secret));
}

export function passwordForm({ t }: WebCall, name = '', isWrong = false): WebAnswer {
  const wrong = isWrong && markup`<p class="note bad" role="alert" id="wrong">${t.error} ${t.signIn.wrong}</p>`;
  const body = markup`<p>${t.signIn.managersText}</p>${wrong}<form method="post" action="/sign-in/study">
<label><span>${t.signIn.name}</span><input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required value="${name}"></label>
<label><span>${t.signIn.password}</span><input type="password" name="password" autocomplete="current-password" required></label>
<button class="go">${t.signIn.managers}</button></form>`;
  return page(t, t.signIn.managers, body, isWrong ? 403 : 200);
}

/** Every failure has the same answer, which hides whether the name exists. */
export async function signIn(call: WebCall): Promise<WebAnswer> {
  const { form, limits, origin, log, store } = call;
  const name = (form.name ?? '').trim().toLowerCase().slice(0, 100);
  const { password = '' } = form;
  // A known browser is counted alone, so that strangers cannot lock it out.
  const browser = knownBrowser(call, await store.managers.byName(name));
  const wait = browser === null ? limits.networkWait(origin) : 0;
  if (wait > 0) return faultPage(429, call, { wait });
  const verified = await limits.runInQueue(origin, () => tryPassword(call, name, password, browser), browser);
  if (verified === null) return faultPage(429, call, { wait: fullQueueWait });
  const cookie = verified === '' ? null : await startManagerSession(call, name, verified);
  if (cookie === null) return passwordForm(call, name.slice(0, 40), true);
  log.write('INFO', `manager ${name} signed in`);
  return redirect('/study', sessionCookie('manager', call, cookie));
}

/**
 * Returns the stored hash if the password matches, else ''. Must run in the queue, so that parallel
 * tries cannot exceed the limit. While an account is locked, right and wrong passwords count alike,
 * so that the count does not reveal the right password.
 */
async function tryPassword(call: WebCall, name: string, password: string, browser: string | null): Promise<string> {
  const { store, now, log, limits, passwordCost } = call;
  const origin = browser ?? call.origin;
  const manager = await store.managers.byName(name);
  const account = `${name} ${manager?.password}`; // a new password resets the count
  if (limits.isAccountBlocked(origin, account)) return '';
  const isLocked = manager !== null && manager.locked_ts > now && browser === null;
  const isRight = (await isPassword(password, manager?.password, passwordCost)) && !isLocked;
  limits.countTry(origin, account, { isRight, isLocked });
  if (manager !== null && isRight) {
    if (!isWeak(manager.password, passwordCost)) return manager.password;
    const stronger = await passwordHash(password, passwordCost);
    const after = await store.managers.change(name, (before) =>
      before?.password === manager.password ? { ...before, password: stronger } : before,
    );
    return after?.password === stronger ? stronger : '';
  }
  if (manager === null || isLocked) return '';
  log.write('WARNING', `wrong password for manager ${name}`);
  await store.managers.change(name, (before) => {
    if (before === null || browser !== null) return before;
    const failures = before.failures + 1;
    return failures < mostFailures ? { ...before, failures } : { ...before, failures: 0, locked_ts: now + lockTime };
  });
  return '';
}

export async function chooseStudy({ t, manager, ...call }: ManagerCall): Promise<WebAnswer> {
  const [only, ...others] = manager.studies;
  if (only !== undefined && others.length === 0 && !manager.operator) return redirect(`/study/${only}`);
  const studies = manager.studies.map((name) => markup`<li><a class="btn" href="/study/${name}">${name}</a></li>`);
  const operator = manager.operator && markup`<li><a class="btn" href="/operator">${t.operator.title}</a></li>`;
  const none = manager.studies.length === 0 && !manager.operator && markup`<p>${t.signIn.noStudy}</p>`;
  const body = markup`<h1>${t.signIn.chooseStudy}</h1>${none}<ul class="acts">${studies}${operator}</ul>`;
  const signOut = formButton(call, '/sign-out/study', t.signOut);
  return answerOf(shell({ t, title: t.signIn.chooseStudy, isNarrow: true, signOut, body }));
}

/** Makes the browser forget cached map tiles, which show where the person was. */
const forgetting = { 'Clear-Site-Data': '"cache"' };

export async function signOut(call: PersonCall): Promise<WebAnswer> {
  const { store, user, session, now } = call;
  await store.tokens.revoke(user.uuid, session.hash, { ts: now, why: 'revoked' });
  return redirect('/sign-in?done=out', { ...sessionCookie('person', call, null), ...forgetting });
}

/** The cookie stays: it is no longer valid, but identifies a known browser. */
export async function signOutManager(call: ManagerCall): Promise<WebAnswer> {
  await endManagerSession(call);
  return redirect('/sign-in/study', forgetting);
}
