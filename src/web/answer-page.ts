// Finds the caller of a page, checks their rights and the secret of a form, then runs the route.
import type { UserRecord } from '../model/user.ts';
import { findManager, findPerson, isOwnForm } from './sessions.ts';
import type { ManagerCall, PersonCall, WebAnswer, WebCall, WebRoute } from './web.ts';
import { faultPage, redirect } from './web.ts';

/** `onCaller` gets the caller before the route runs. If `onCaller` throws, the call fails. */
export async function answerPage(
  route: WebRoute,
  call: WebCall,
  onCaller: (caller: UserRecord | string) => Promise<void>,
): Promise<WebAnswer> {
  if (route.who === 'anybody') return route.answer(call);
  const signIn = redirect(route.who === 'person' ? '/sign-in' : '/sign-in/study');
  const isForeign = (csrf: string) => route.method === 'POST' && !isOwnForm(call.form, csrf);
  if (route.who === 'person') {
    const person = await findPerson(call);
    if (person === null) return signIn;
    await onCaller(person.user);
    if (route.takesFile) return answerUpload(route, { ...call, ...person });
    return isForeign(person.csrf) ? faultPage(403, call) : route.answer({ ...call, ...person });
  }
  const found = await findManager(call);
  if (found === null) return signIn;
  const { manager, csrf } = found;
  await onCaller(manager.name);
  if (isForeign(csrf)) return faultPage(403, call);
  const note: ManagerCall['note'] = (action, people) => {
    const keys = people.map(({ figures }) => figures.audit_key);
    return call.audit(`manager ${manager.name}`, action, keys);
  };
  const managing = { ...call, manager, csrf, note };
  if (route.who === 'manager') return route.answer(managing);
  if (route.who === 'operator') return manager.operator ? route.answer(managing) : faultPage(404, call);
  // A study that does not exist and another manager's study have the same answer.
  const name = call.params.study ?? '';
  const study = manager.studies.includes(name) ? await call.store.studies.byName(name) : null;
  return study === null ? faultPage(404, call) : route.answer({ ...managing, study });
}

/**
 * The server imports one file at a time. A first check refuses a call before its file arrives. The
 * call keeps the lock only after the file has arrived: a slow sender must not block other people.
 */
async function answerUpload(route: WebRoute & { who: 'person' }, call: PersonCall): Promise<WebAnswer> {
  const { turns, user } = call;
  const busy = redirect('/me/data?done=busy#import');
  const claim = () => {
    const lock = turns.isTurnOf(user.uuid) ? call.claim('import') : null;
    if (lock === null) turns.refused(user.uuid);
    return lock;
  };
  const free = claim();
  if (free === null) return busy;
  free.release();
  const upload = await call.readUpload();
  if (!isOwnForm(upload.form, call.csrf)) return faultPage(403, call);
  const lock = claim();
  if (lock === null) return busy;
  turns.began(user.uuid);
  try {
    return await route.answer({ ...call, ...upload });
  } finally {
    turns.ended(user.uuid);
    lock.release();
  }
}
