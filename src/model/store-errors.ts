import { MobilityError } from './mobility-error.ts';
import type { Lease } from './pipeline-state.ts';

export function leaseLost(userId: string, lease: Lease, found: { owner: string; fence: number } | null): MobilityError {
  const holder = found === null ? 'none' : `the lease of ${found.owner} (fence ${found.fence}), who works now`;
  const expected = `the lease of ${lease.owner} (fence ${lease.fence}) on user ${userId}`;
  return new MobilityError('MOBILITY_LEASE_LOST', `expected ${expected}, found ${holder}; nothing was written`);
}

export function userExists(found: string): MobilityError {
  const text = `expected a name and a UUID that are free or belong together, found: ${found}`;
  return new MobilityError('MOBILITY_USER_EXISTS', `${text}; see \`mobility users list\``);
}

export function notAdmitted(): MobilityError {
  const text = 'expected a registered user, found one who was erased or never registered; nothing was written';
  const remedy = 'If an erasure was interrupted, repeat `mobility erase`';
  return new MobilityError('MOBILITY_USER_UNKNOWN', `${text}. ${remedy}`);
}

export function notFinished(): MobilityError {
  const text = 'expected a user whose erasure or copy has ended, found an interrupted one: repeat it';
  return new MobilityError('MOBILITY_USER_EXISTS', text);
}

export class NoStore extends MobilityError {
  constructor(place: string) {
    const remedy = 'correct the address, or create it with `mobility store init`';
    super('MOBILITY_STORE_ADDRESS', `expected a store in ${place}, found none: ${remedy}`);
  }
}
