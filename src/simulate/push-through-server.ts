import type { Entry } from '../model/entry.ts';
import { errorText, usageError } from '../model/mobility-error.ts';

/** Pushes one batch of a user. Returns how many entries were new. */
export type Push = (name: string, entries: readonly Entry[]) => Promise<number>;

/**
 * Pushes through a server with `--auth dev`, which registers each user with the first batch. Throws `MOBILITY_USAGE` if
 * no server answers.
 */
export function pushThroughServer(server: string): Push {
  const known = new Set<string>();
  const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${server}${path}`, request).catch((error: Error) => {
      const reason = errorText(error.cause ?? error) || error.name;
      throw usageError(`expected a server at ${server}, got no answer (${reason}): start it, or correct the address`, {
        cause: error,
      });
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${server}${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return text === '' ? {} : JSON.parse(text);
  };
  return async (user, entries) => {
    if (!known.has(user)) await call('/profile/create', { user });
    known.add(user);
    const answer = await call('/usercache/put', { user, phone_to_server: entries });
    return Number(answer.inserted ?? 0);
  };
}
