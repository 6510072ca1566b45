// The parts that an app is assembled from.
import type { Config } from '../config.ts';
import type { Act } from '../log/audit-log.ts';
import type { Log } from '../log/log.ts';
import type { Store } from '../store/store.ts';
import type { Check } from '../upkeep/check-installation.ts';
import type { Tiles } from '../web/pmtiles.ts';
import type { ByteLimits } from './byte-budget.ts';
import type { CallFigures } from './call-metrics.ts';
import type { CallerLimits } from './caller-limits.ts';

/** The settings that an app depends on. */
type AppSettings =
  | ('auth' | 'openRegistration' | 'devAnywhere' | 'host' | 'bodyLimitMiB' | 'readyDiskMiB')
  | ('mibPerDay' | 'waitingEntries' | 'trustedProxies' | 'publicUrl');

/** What an app is made of. */
export interface AppParts {
  store: Store;
  log: Log;
  /** Writes one line to standard output: START and END of each call. */
  console: (line: string) => void;
  config: Pick<Config, AppSettings>;
  /** Seconds since the epoch. */
  now: () => number;
  /** Notes an act of a manager or a person in the audit log. Default: nowhere. */
  audit?: (act: Act) => Promise<void>;
  /** What `mobility doctor` finds of the installation, for the page of the operator. Default: nothing. */
  checks?: () => Promise<Check[]>;
  /** Claims work that one process at a time may do. Default: within this process. */
  claim?: (work: string) => { release(): void } | null;
  /** Version of the program, shown to the operator. Default: none. */
  version?: string;
  /** Background tiles for the maps of pages. Default: none. */
  tiles?: Tiles | null;
  /** Takes exceptions with their stack; default: standard error. */
  errorOutput?: (text: string) => void;
  /** Limits of one caller in place of the default ones. */
  limits?: Partial<CallerLimits>;
  /** Limits of bodies and of answers that are not sent, in place of the default ones. */
  bytes?: Partial<ByteLimits>;
  /** The N of scrypt for passwords of managers, in place of the default one. */
  passwordCost?: number;
  /** Figures of the calls of this process, and the text for all processes. Without them `GET /metrics` is a 404. */
  metrics?: { figures: CallFigures; text: () => Promise<string> };
  /** Thread id of `log`, with which request ids begin. Default `w1`. */
  thread?: string;
}
