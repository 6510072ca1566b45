import type { Config } from '../config.ts';
import type { Act } from '../log/audit-log.ts';
import type { WebCall } from '../web/web.ts';
import type { ByteLimits } from './byte-budget.ts';
import type { CallFigures } from './call-metrics.ts';
import type { CallerLimits } from './caller-limits.ts';

type AppSettings =
  | ('auth' | 'openRegistration' | 'devAnywhere' | 'host' | 'bodyLimitMiB' | 'readyDiskMiB')
  | ('mibPerDay' | 'pendingEntries' | 'trustedProxies' | 'publicUrl');

/** Parts that pages get unchanged. */
type PagePart = 'store' | 'log' | 'checks' | 'makeArchive' | 'tiles' | 'passwordCost';

export interface AppParts extends Pick<WebCall, PagePart> {
  console: (line: string) => void; // writes a line to standard output
  config: Pick<Config, AppSettings>;
  now: () => number; // seconds since the epoch
  audit: (act: Act) => Promise<void>;
  /** Claims work that only one process may do at a time. Returns null if another process does it. */
  claim: (work: string) => { release(): void } | null;
  version: string;
  errorOutput: (text: string) => void;
  limits?: Partial<CallerLimits>; // tests replace these limits, and `passwordCost`
  bytes?: Partial<ByteLimits>;
  /** Figures of this process, and the metrics of all processes. Default: no `/metrics`. */
  metrics?: { figures: CallFigures; text: () => Promise<string> };
  thread: string; // the thread id of `log`; request ids begin with it, as in `w1-42`
}
