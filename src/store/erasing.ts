// How a user is erased, the same on every backend.
import type { Collection } from './store.ts';

/**
 * In the order of erasing: tokens first, so that the phone has no more access; the registry last, so that an operator
 * can find the user to repeat an interrupted erasure.
 */
export const erasingOrder: readonly Collection[] = [
  'tokens',
  'usercache',
  'documents',
  'errors',
  'profiles',
  'timeseries',
  'trips',
  'pipeline',
  'leases',
  'users',
];

/** Erasing takes over the user's lease, whoever holds it. */
export const erasingLease = { owner: 'erase', seconds: 300 } as const;

/** Rows in all collections together. */
export function totalOf(counts: Record<Collection, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
