import type { Config } from '../config.ts';
import type { ArchiveRequest } from '../export/study-archive.ts';
import type { Act } from '../log/audit-log.ts';
import type { Log } from '../log/log.ts';
import type { Store } from '../store/store.ts';
import type { Check } from '../upkeep/check-installation.ts';
import type { Tiles } from '../web/pmtiles.ts';
import type { ByteLimits } from './byte-budget.ts';
import type { CallFigures } from './call-metrics.ts';
import type { CallerLimits } from './caller-limits.ts';

type AppSettings =
  | ('auth' | 'openRegistration' | 'devAnywhere' | 'host' | 'bodyLimitMiB' | 'readyDiskMiB')
  | ('mibPerDay' | 'pendingEntries' | 'trustedProxies' | 'publicUrl');

export interface AppParts {
  store: Store;
  log: Log;
  console: (line: string) => void; // writes a line to standard output
  config: Pick<Config, AppSettings>;
  now: () => number; // seconds since the epoch
  audit: (act: Act) => Promise<void>;
  /** Checks the installation as `mobility doctor` does, for the page of the operator. */
  checks: () => Promise<Check[]>;
  /** Claims work that only one process may do at a time. Returns null if another process does it. */
  claim: (work: string) => { release(): void } | null;
  makeArchive: (request: ArchiveRequest) => AsyncIterable<Uint8Array>;
  version: string;
  tiles: Tiles | null;
  errorOutput: (text: string) => void;
  /** Tests replace these limits, and the parameter N of scrypt for passwords of managers. */
  limits?: Partial<CallerLimits>;
  bytes?: Partial<ByteLimits>;
  passwordCost?: number;
  /** Figures of this process, and the metrics of all processes. Default: no `/metrics`. */
  metrics?: { figures: CallFigures; text: () => Promise<string> };
  thread: string; // the thread id of `log`; request ids begin with it, as in `w1-42`
}
