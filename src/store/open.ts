// Store address -> backend. The only file that names both.
import { folderIn, isMongoAddress, withoutCredentials } from '../model/address.ts';
import { MobilityError } from '../model/errors.ts';
import type { CheckOptions, CheckReport, Looked } from './check.ts';
import type { Store } from './store.ts';

/** Options for opening a store. A backend ignores options that it does not use. */
export interface OpenOptions {
  /**
   * Embedded store: moves committed data into its files in a thread; for long-running programs, one on each machine.
   */
  checkpointer?: boolean;
  /** Embedded store: number of shards, if the store is created now. */
  shards?: number;
  /** The clock of the leases if the store has no clock, seconds since the epoch. */
  now?: () => number;
  /** MongoDB: false refuses a database without a store. Default: the store is created. */
  make?: boolean;
  /** MongoDB: called at opening with a warning for each task that failed although the store works. */
  onWarning?: (message: string) => void;
}

/**
 * Opens the store at `address`: `sqlite:FOLDER`, a plain folder, or `mongodb://…`. Throws `MOBILITY_STORE_ADDRESS` for
 * anything else, and what the backend throws.
 */
export async function openStore(address: string, options: OpenOptions = {}): Promise<Store> {
  if (isMongoAddress(address)) {
    const { openMongoStore } = await import('./mongodb/store.ts');
    const { make, onWarning } = options;
    return openMongoStore(address, { ...(make !== undefined && { make }), ...(onWarning && { onWarning }) });
  }
  const folder = folderOf(address);
  const { openSqliteStore } = await import('./sqlite/store.ts');
  return openSqliteStore({ ...options, folder });
}

/** Checks the store at `address` and changes nothing. Throws what `openStore` throws, but for damage. */
export async function checkStore(address: string, options: CheckOptions = {}): Promise<CheckReport> {
  if (isMongoAddress(address)) {
    const { openMongoStore } = await import('./mongodb/store.ts');
    const { checkRows } = await import('./check-rows.ts');
    const store = await openMongoStore(address, { make: false });
    return checkRows(store, options).finally(() => store.close());
  }
  const folder = folderOf(address);
  const { checkSqliteStore } = await import('./sqlite/check.ts');
  return checkSqliteStore(folder, options);
}

/**
 * A short look at an embedded store, of so many milliseconds of CPU at most, whatever its size. What it finds is there;
 * what it does not find may be there too.
 */
export async function lookAtStore(
  address: string,
  options: { milliseconds: number; signal?: AbortSignal },
): Promise<Looked> {
  if (isMongoAddress(address)) return { findings: [], unchecked: [] };
  const { lookAtSqliteStore } = await import('./sqlite/look.ts');
  return lookAtSqliteStore(folderOf(address), options);
}

function folderOf(address: string): string {
  const folder = folderIn(address);
  // One letter before a colon may be a drive; a longer word is the name of some other kind of store.
  const otherScheme = /^[A-Za-z][A-Za-z0-9+.-]+:/.test(folder);
  const usable = folder !== '' && !otherScheme && !folder.includes('\0') && !/^\/\/[^/]/.test(folder);
  if (usable) return folder;
  throw new MobilityError(
    'MOBILITY_STORE_ADDRESS',
    `expected sqlite:FOLDER, a plain folder, or mongodb://HOST/DATABASE as the address of a store, found ${JSON.stringify(withoutCredentials(address))}`,
  );
}
