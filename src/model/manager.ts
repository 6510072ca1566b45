// People who look after studies on the pages of the server: their accounts, and their sessions.

/** An account of a manager. */
export interface ManagerRecord {
  /** Lower case letters, digits, hyphens and dots. */
  name: string;
  /** Names of the studies that they see. */
  studies: string[];
  /** True: sees the page of the operator too. */
  operator: boolean;
  /** True: downloads the tables of their studies. */
  may_export?: true;
  /** See `passwordHash` in `web/password-hash.ts`. */
  password: string;
  created_ts: number;
  /** Wrong passwords since the last right one, and until when none is tried. */
  failures: number;
  locked_ts: number;
  /** Browsers that are signed in: the hash of the cookie, and when it ends. */
  sessions: { hash: string; created_ts: number; expires_ts: number }[];
  /** Browsers that have signed in, also those whose session is over: a stranger's tries do not keep them out. */
  browsers?: { hash: string; expires_ts: number }[];
}

/** True for a name that a manager can have. */
export const isManagerName = (name: string): boolean => /^[a-z0-9](?:[a-z0-9.-]{0,38}[a-z0-9])?$/.test(name);
