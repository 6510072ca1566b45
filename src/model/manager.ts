/** A person who manages studies on the pages of the server. */
export interface ManagerRecord {
  /** Lower case letters, digits, hyphens and dots. */
  name: string;
  studies: string[];
  operator: boolean;
  may_export?: true;
  password: string;
  created_ts: number;
  /** Wrong passwords since the last right one, and until when the account is locked. */
  failures: number;
  locked_ts: number;
  sessions: { hash: string; created_ts: number; expires_ts: number }[];
  /** Browsers that ever signed in. Wrong passwords from other browsers do not lock these out. */
  browsers?: { hash: string; expires_ts: number }[];
}

export const isManagerName = (name: string): boolean => /^[a-z0-9](?:[a-z0-9.-]{0,38}[a-z0-9])?$/.test(name);
