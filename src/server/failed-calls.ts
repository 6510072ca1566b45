// Answers failed calls, and reports details to the operator that the caller must not see.
import { createStamp, hostZone } from '../log/line-format.ts';
import { line } from '../log/messages.ts';
import { errorText, stackText } from '../model/mobility-error.ts';
import { userNameOf } from '../model/user.ts';
import type { AppParts } from './app-parts.ts';
import type { Server } from './auth.ts';
import type { Call } from './call.ts';
import { causeOf, type Problem, problemOf } from './problem.ts';

export async function answerProblem(error: unknown, call: Call, server: Server): Promise<Response> {
  const { limiter, metrics } = server;
  const problem = problemOf(error);
  const { status, options } = problem;
  if ((status === 400 || status === 413) && call.caller !== null) limiter.countRefusal(call.caller.uuid);
  if (status === 429) metrics?.figures.countLimit(String(options.members?.limit ?? 'open_calls'));
  if (status === 429 && call.caller !== null) limiter.report(problem, call.caller.uuid, call.log);
  call.failure = options.code ?? null;
  call.cause = causeOf(problem);
  if (status >= 500) reportFailure(problem, call, server);
  else if (!(await reportRefusal(problem, call, server))) call.reason = problem.message;
  return call.refuse(problem, call.id);
}

// Logs the user whose token was refused, and records the refusal in their profile for
// `mobility status`. Returns false if neither token nor claimed name belongs to a registered user.
async function reportRefusal({ options }: Problem, { log }: Call, { store, now, limiter }: Server): Promise<boolean> {
  const { token, user: owner, why, since, claimed } = options.refusal ?? {};
  if (token === undefined) return false;
  const find = () => (owner === undefined ? store.users.byEmail(userNameOf(claimed ?? '')) : store.users.byUuid(owner));
  const user = await find().catch(() => null); // the call is refused even if the store fails
  if (user === null || !(await store.users.isActive(user.uuid).catch(() => false))) return false;
  const state = why === undefined ? 'not known' : `${why} on ${createStamp(hostZone())(since ?? now())}`;
  log.write('WARNING', line.refusedToken(token, state, owner === undefined ? 'sent as' : 'of', user.user_email));
  log.write('INFO', line.userUuid(user.uuid));
  if (!limiter.mayRecord(user.uuid, 'refused')) return true;
  const last = { last_refusal: `token ${token}, ${state}`, last_refusal_ts: now(), last_refusal_why: why ?? 'unknown' };
  store.profiles.merge(user.uuid, last).catch(() => {});
  return true;
}

/** Writes a failure to standard error: one line, or the stack if the exception was not expected. */
export function reportFailure(problem: Problem, call: Call, { errorOutput }: AppParts): void {
  call.failure = problem.options.code ?? 'EXCEPTION';
  call.cause = causeOf(problem);
  const cause = problem.options.cause ?? problem;
  const text = problem.status === 500 ? stackText(cause) : errorText(cause);
  errorOutput(`${call.id} ${call.method} ${call.path}: ${text}`);
}
