import { isForPages, type TokenRecord } from '../model/user.ts';

export const memberships = ['before_joining', 'member', 'after_leaving'] as const;
type Membership = (typeof memberships)[number];

/** When the last token of a person's phones was revoked; null while one is valid. */
export function leftOf(tokens: readonly TokenRecord[]): number | null {
  const ofPhones = tokens.filter((token) => !isForPages(token));
  const last = Math.max(...ofPhones.map(({ revoked_ts }) => revoked_ts ?? Infinity));
  return Number.isFinite(last) ? last : null;
}

/** `joined` and `left` are local days; null: the person did not join or leave. */
export function membershipOn(day: string, { joined, left }: Record<'joined' | 'left', string | null>): Membership {
  if (joined !== null && day < joined) return 'before_joining';
  return left !== null && day > left ? 'after_leaving' : 'member';
}
