// An id is derived from its object, so an object has the same id in every run and store.
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { usageError } from './mobility-error.ts';

/** An id has 24 hex characters, like an object id of MongoDB. `parts` identify the object. */
export function idOf(...parts: (string | number)[]): string {
  // One call takes half the time of a hash object, and an answer needs an id for each entry.
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 24);
}

export const newUuid = (): string => randomUUID();

export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

export function entryId(userId: string, { key, write_ts }: { key: string; write_ts: number }): string {
  return idOf(userId, 'entry', key, write_ts);
}

/** A token has 256 random bits after a prefix that scanners for leaked secrets can find. */
export const newToken = (): string => `mob_${randomBytes(32).toString('base64url')}`;

export function checkedToken(token: string): string {
  if (/^[\x21-\x7e]{16,8192}$/.test(token)) return token;
  const isOfValidLength = token.length >= 16 && token.length <= 8192;
  const found = isOfValidLength
    ? 'a blank, a control character or a letter outside ASCII'
    : `${token.length} characters`;
  throw usageError(`expected a token of 16 to 8192 visible ASCII characters without blanks, found ${found}`);
}
