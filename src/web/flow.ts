// The flow of a page: who calls, whether they may, whether a form is their own, then the page.
import type { UserRecord } from '../model/user.ts';
import { isOwnForm, managerOf, personOf } from './sessions.ts';
import { faultPage, redirect, type WebAnswer, type WebCall, type WebRoute } from './web.ts';

/** Where somebody signs in, by who may call a page. */
const doors = { person: '/sign-in', manager: '/sign-in/study', operator: '/sign-in/study', study: '/sign-in/study' };

/**
 * The answer of a route. `onCaller` learns who calls before anything is done for them, which waits for it; what it
 * throws ends the call.
 */
export async function answerPage(
  route: WebRoute,
  call: WebCall,
  onCaller: (caller: UserRecord | string) => Promise<void>,
): Promise<WebAnswer> {
  if (route.who === 'anybody') return route.answer(call);
  const signIn = redirect(doors[route.who]);
  const isForeign = (csrf: string): boolean => route.method === 'POST' && !isOwnForm(call.form, csrf);
  if (route.who === 'person') {
    const person = await personOf(call);
    if (person === null) return signIn;
    await onCaller(person.user);
    return isForeign(person.csrf) ? faultPage(403, call.t) : route.answer({ ...call, ...person });
  }
  const found = await managerOf(call);
  if (found === null) return signIn;
  const { manager, csrf } = found;
  await onCaller(manager.name);
  if (isForeign(csrf)) return faultPage(403, call.t);
  const note = (action: string, people: readonly string[]) => call.audit(`manager ${manager.name}`, action, people);
  const managing = { ...call, manager, csrf, note };
  if (route.who === 'manager') return route.answer(managing);
  // Whether a study exists is not told to those who do not manage it.
  if (route.who === 'operator') return manager.operator ? route.answer(managing) : faultPage(404, call.t);
  const name = call.params.study ?? '';
  const study = manager.studies.includes(name) ? await call.store.studies.byName(name) : null;
  return study === null ? faultPage(404, call.t) : route.answer({ ...managing, study });
}
