import type { Store } from '../store/store.ts';
import type { Days } from './entry-rows.ts';
import type { Person } from './privacy.ts';

export interface Source {
  store: Store;
  person: Person;
  days: Days;
  /** Keys of the entries to export, for the kind `entries`. */
  keys?: readonly string[] | undefined;
  /** m; stays are moved to the middle of cells of this size, and paths around them are left out */
  coarse?: number | undefined;
  /** True: the guessed home may be exported, as tours that begin there. */
  homes?: boolean;
  /** Seconds since the epoch. */
  now: number;
}
