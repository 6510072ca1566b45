// How a user is erased, the same on every backend.
import type { Collection } from './store.ts';

/**
 * In the order of erasing: first what lets the phone in, last what an operator finds the user by, to repeat it after an
 * interruption.
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

/** Erasing takes the user from whoever works on them, by a lease of its own. */
export const erasingLease = { owner: 'erase', seconds: 300 } as const;
