// What a check of a store reports: findings with their cures, counts, and a digest of what each user has.
import { createHash } from 'node:crypto';
import { type ErrorCode, isMobilityError, type MobilityError } from '../model/errors.ts';
import { type Collection, collections } from './store.ts';

/** Kinds of findings; docs/errors.md explains each. Codes stay, texts may change. */
type FindingCode =
  | 'DAMAGED_FILE'
  | 'DAMAGED_LOG'
  | 'DAMAGED_PAGES'
  | 'DAMAGED_INDEX'
  | 'DAMAGED_ROW'
  | 'WRONG_REFERENCE'
  | 'NOT_ADMITTED'
  | 'UNOWNED_ROWS';

/** One thing that is not as it should be. */
export interface Finding {
  code: FindingCode;
  /** File of the embedded store, or collection in MongoDB. */
  file: string;
  table: string | null;
  /** The number of the row in its table, if it has one. */
  row?: number;
  /** The UUID of whom it concerns; null: not one user, or not known. */
  user_id: string | null;
  /** What was found. Never quotes people's data. */
  what: string;
  /** Of entries: their key, how many they are, and when the phone wrote the first and the last. */
  key?: string;
  entries?: number;
  from_ts?: number;
  to_ts?: number;
  /** What to do: a command where one helps. */
  cure: string;
}

/**
 * A part of the store that could not be checked to its end, for a reason outside of it; whether it is sound is not
 * known.
 */
export interface Unchecked {
  /** As in `Finding`. */
  file: string;
  /** A lock, rights, no space, or out of reach (no memory, too many open files). */
  code: ErrorCode;
  what: string;
}

/** What a look at a store gave: what it found, and what it could not look at. */
export type Looked = Pick<CheckReport, 'findings' | 'unchecked'>;

/** What a user has, by collection. */
export interface CheckedUser {
  user_id: string;
  rows: Partial<Record<Collection, number>>;
  /**
   * SHA-256 over the content of all rows but leases, in any order; null unless asked for, if rows are damaged, or if
   * the check is not complete.
   */
  digest: string | null;
}

/** The result of a check. */
export interface CheckReport {
  store: string;
  /** True if nothing was found, and no part could not be checked. */
  sound: boolean;
  /** False if the check was interrupted, or a part could not be checked. */
  complete: boolean;
  /** What was checked, in all parts but those of `unchecked`. */
  checked: { pages: boolean; texts: boolean; references: boolean };
  findings: Finding[];
  /** Findings beyond those listed. */
  more: number;
  unchecked: Unchecked[];
  /** Rows of all users, by collection; entries count one by one. */
  rows: Partial<Record<Collection, number>>;
  /** Rows without a checksum: an earlier version wrote them. */
  unsummed: number;
  users: CheckedUser[];
}

/** How a store is checked. */
export interface CheckOptions {
  /** Only the rows of this user; pages are not checked then. */
  userId?: string;
  /** Compute a digest of what each user has. */
  digest?: boolean;
  /** Look at the pages of the files. Default true. */
  pages?: boolean;
  /** Once aborted, the check ends with what it found so far. */
  signal?: AbortSignal;
  /** Told where the check is. */
  onProgress?: (text: string) => void;
}

/** `1 row`, `2 rows`. */
export const rowsText = (count: number): string => `${count} ${count === 1 ? 'row' : 'rows'}`;

const mostFindings = 1_000;
const digestBytes = 32;

/** True for an error that says nothing of what is stored, and may be gone with the next try. */
function isInTheWay(error: unknown): error is MobilityError {
  return isMobilityError(
    error,
    'MOBILITY_STORE_BUSY',
    'MOBILITY_STORE_FULL',
    'MOBILITY_STORE_READONLY',
    'MOBILITY_STORE_UNAVAILABLE',
  );
}

/** Collects what a check meets. */
export class CheckTally {
  readonly findings: Finding[] = [];
  more = 0;
  unsummed = 0;
  private readonly users = new Map<string, { rows: Partial<Record<Collection, number>>; sums: Map<string, Buffer> }>();
  private readonly damaged = new Set<string>();
  private readonly leftOut = new Map<string, Unchecked>();
  private readonly withDigest: boolean;

  constructor({ digest = false }: CheckOptions) {
    this.withDigest = digest;
  }

  find(finding: Finding): void {
    if (finding.user_id !== null && finding.code.startsWith('DAMAGED')) this.damaged.add(finding.user_id);
    if (this.findings.length < mostFindings) this.findings.push(finding);
    else this.more += 1;
  }

  /**
   * Runs a step of the check of a file. If a lock, missing rights or the like stop it, the file is left out from here
   * on, and the step gives null. Other files are still checked.
   */
  async attempt<T>(file: string, step: () => Promise<T>): Promise<T | null> {
    if (this.leftOut.has(file)) return null;
    try {
      return await step();
    } catch (error) {
      if (!isInTheWay(error)) throw error;
      this.leftOut.set(file, { file, code: error.code, what: error.message });
      return null;
    }
  }

  /** The parts that were left out. */
  get unchecked(): Unchecked[] {
    return [...this.leftOut.values()];
  }

  /** Counts a row of a user. `place` and `content`: for the digest, asked for if it is wanted. */
  add(userId: string, collection: Collection, count = 1): void {
    const { rows } = this.of(userId);
    rows[collection] = (rows[collection] ?? 0) + count;
  }

  /** Adds the content of a row to the digest of a user; `content` is called only if a digest is wanted. */
  digest(userId: string, collection: Collection, content: () => string): void {
    if (!this.withDigest) return;
    const { sums } = this.of(userId);
    const hash = createHash('sha256').update(`${collection}\n`).update(content()).digest();
    const sum = sums.get(collection);
    if (sum === undefined) sums.set(collection, hash);
    // Rows of a collection differ from each other: their order does not matter, and none cancels another.
    else for (let i = 0; i < digestBytes; i++) sum[i]! ^= hash[i]!;
  }

  private of(userId: string) {
    let user = this.users.get(userId);
    if (user === undefined) {
      user = { rows: {}, sums: new Map() };
      this.users.set(userId, user);
    }
    return user;
  }

  /** The report; `about`: what the check itself knows, such as whether it was not interrupted. */
  report(about: Pick<CheckReport, 'store' | 'complete' | 'checked'>): CheckReport {
    const { findings, more, unsummed, unchecked } = this;
    const complete = about.complete && unchecked.length === 0;
    const users = [...this.users].sort(([a], [b]) => (a < b ? -1 : 1));
    const rows: CheckReport['rows'] = {};
    for (const [, one] of users) {
      for (const name of collections) if (one.rows[name]) rows[name] = (rows[name] ?? 0) + one.rows[name];
    }
    return {
      ...about,
      complete,
      sound: findings.length + unchecked.length === 0,
      findings,
      more,
      unchecked,
      rows,
      unsummed,
      users: users.map(([user_id, one]) => {
        return { user_id, rows: one.rows, digest: complete ? this.digestOf(user_id, one.sums) : null };
      }),
    };
  }

  private digestOf(userId: string, sums: ReadonlyMap<string, Buffer>): string | null {
    if (!this.withDigest || this.damaged.has(userId)) return null;
    const hash = createHash('sha256');
    for (const name of collections) if (sums.has(name)) hash.update(`${name}\n`).update(sums.get(name)!);
    return hash.digest('hex');
  }
}
