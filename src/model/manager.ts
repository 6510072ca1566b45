/** A person who manages studies on the pages of the server. */
export interface ManagerRecord {
  /** Lower case letters, digits, hyphens and dots. */
  name: string;
  /** Names of the studies that the manager may see. */
  studies: string[];
  /** True: may also see the page of the operator. */
  operator: boolean;
  /** True: may download the tables of their studies. */
  may_export?: true;
  /** See `passwordHash` in `web/password-hash.ts`. */
  password: string;
  created_ts: number;
  /** Number of wrong passwords since the last right one, and until when the account is locked. */
  failures: number;
  locked_ts: number;
  /** Browsers that are signed in: the hash of the cookie, and when the session ends. */
  sessions: { hash: string; created_ts: number; expires_ts: number }[];
  /** Browsers that have signed in at any time. Wrong passwords from other browsers do not lock these out. */
  browsers?: { hash: string; expires_ts: number }[];
}

export const isManagerName = (name: string): boolean => /^[a-z0-9](?:[a-z0-9.-]{0,38}[a-z0-9])?$/.test(name);
