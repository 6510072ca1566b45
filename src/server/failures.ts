// Failed calls: the answer for the caller, and the details for the operator that the caller must not see.
import { errorText } from '../model/errors.ts';
import type { AppParts } from './app-parts.ts';
import type { Call } from './call.ts';
import { type CallerCounts, reportLimit } from './caller-limits.ts';
import { type Problem, problemOf } from './problem.ts';

/** Answers a failed call, and logs why it failed. */
export function answerProblem(error: unknown, call: Call, parts: AppParts, counts: CallerCounts): Response {
  const problem = problemOf(error);
  const { status, options } = problem;
  if ((status === 400 || status === 413) && call.caller !== null) counts.refused(call.caller.uuid);
  if (status === 429 && call.caller !== null) {
    parts.metrics?.figures.limitMet(String(options.members?.limit ?? 'open_calls'));
    reportLimit(problem, call.caller.uuid, { ...parts, counts, log: call.log });
  }
  call.failure = options.code ?? null;
  if (status >= 500) reportFailure(problem, call, parts);
  else call.reason = problem.message;
  return call.refuse(problem, call.id);
}

/**
 * Writes a failure of the server to standard error: an unexpected exception with its stack, an expected one, such as a
 * full disk that fails every call, in one line.
 */
export function reportFailure(problem: Problem, call: Call, parts: AppParts): void {
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
