// When a person was in the study, and how days lie to that.
import type { TokenRecord } from '../model/user.ts';

/** Where a day lies. */
export const memberships = ['before_joining', 'member', 'after_leaving'] as const;

/** Seconds since the epoch when the last token of a person's phones was revoked; null while one is good. */
export function leftOf(tokens: readonly TokenRecord[]): number | null {
  const ofPhones = tokens.filter(({ kind }) => kind !== 'link' && kind !== 'session');
  const ends = ofPhones.map(({ revoked_ts }) => revoked_ts ?? Infinity);
  const last = Math.max(...ends);
  return Number.isFinite(last) ? last : null;
}

/** Where a local day lies; `joined` and `left` are local days, null where there is none. */
export function membershipOn(
  day: string,
  { joined, left }: { joined: string | null; left: string | null },
): (typeof memberships)[number] {
  if (joined !== null && day < joined) return 'before_joining';
  return left !== null && day > left ? 'after_leaving' : 'member';
}
