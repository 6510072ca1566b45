import { MobilityError } from './mobility-error.ts';
import type { Lease } from './pipeline-state.ts';

export function leaseLost(userId: string, lease: Lease, found: { owner: string; fence: number } | null): MobilityError {
  const holder = found === null ? 'none' : `the lease of ${found.owner} (fence ${found.fence}), who does the work`;
  return new MobilityError(
    'MOBILITY_LEASE_LOST',
    `expected the lease of ${lease.owner} (fence ${lease.fence}) on user ${userId}, found ${holder}; nothing was written`,
  );
}

export function userExists(found: string): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    `expected a name and a UUID that are free or belong together, found: ${found}; see \`mobility users list\``,
  );
}

export function notAdmitted(): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_UNKNOWN',
    'expected a registered user, found one who was erased or never registered; nothing was written. If an erasure was interrupted, ' +
      'repeat `mobility erase`',
  );
}

export function notFinished(): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    'expected a user whose erasure or copy has ended, found one for whom it was interrupted: repeat it',
  );
}

export class NoStore extends MobilityError {
  constructor(place: string) {
    super(
      'MOBILITY_STORE_ADDRESS',
      `expected a store in ${place}, found none: correct the address, or create it with \`mobility store init\``,
    );
  }
}
