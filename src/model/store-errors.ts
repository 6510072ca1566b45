import { MobilityError } from './mobility-error.ts';
import type { Lease } from './pipeline-state.ts';

/** The caller does not hold the user's lease. `found`: the present lease. */
export function leaseLost(userId: string, lease: Lease, found: { owner: string; fence: number } | null): MobilityError {
  const holder = found === null ? 'none' : `the lease of ${found.owner} (fence ${found.fence}), who does the work`;
  return new MobilityError(
    'MOBILITY_LEASE_LOST',
    `expected the lease of ${lease.owner} (fence ${lease.fence}) on user ${userId}, found ${holder}; nothing was written`,
  );
}

/** `found` names the user who already has the name or the UUID. */
export function userExists(found: string): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    `expected a name and a UUID that are free or belong together, found: ${found}; see \`mobility users list\``,
  );
}

/** The user is not registered, or their erasure has begun, so no row about them may be written. */
export function notAdmitted(): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_UNKNOWN',
    'expected a registered user, found one who was erased or never registered; nothing was written. If an erasure was interrupted, ' +
      'repeat `mobility erase`',
  );
}

/** An erasure, or a copy from another store, has begun but not ended. */
export function notFinished(): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    'expected a user whose erasure or copy has ended, found one for whom it was interrupted: repeat it',
  );
}

/** There is no store at the address. */
export class NoStore extends MobilityError {
  constructor(place: string) {
    super(
      'MOBILITY_STORE_ADDRESS',
      `expected a store in ${place}, found none: correct the address, or create it with \`mobility store init\``,
    );
  }
}
