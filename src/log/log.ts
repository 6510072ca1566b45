// What the core needs of a log; `files.ts` writes it to files, tests collect it.

/** The level of a log line, lowest first. */
export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** Takes log messages; the core writes through it and knows nothing of files. */
export interface Log {
  /** True when lines of this level are kept: ask before building many. */
  enabled(level: Level): boolean;
  /** One message; line breaks in it become blanks. */
  write(level: Level, message: string): void;
  /** Writes several messages of one level, one line each, in order. */
  writeAll(level: Level, messages: readonly string[]): void;
  /**
   * Writes messages of one level, one line each, in order. They are made later, when no call waits for them. Logs that
   * make lines at once leave it out: use `writeLater`.
   */
  writeLater?(level: Level, messages: LaterMessages): void;
  /**
   * A log whose lines carry the thread id `<thread_id>-<suffix>`. Logs without threads leave it out: use `childLog`.
   */
  child?(suffix: string): Log;
  /** The same log with its lines kept back until it is clear what becomes of them. */
  hold?(): HeldLog;
}

/** A list of messages, each made when it is asked for and always the same. */
export interface LaterMessages {
  readonly length: number;
  at(i: number): string | undefined;
  /** True if each message made so far is at most 16,000 printable ASCII characters, so that nobody needs to look. */
  arePlain?(): boolean;
}

/** A log whose lines are kept back; they have the time at which they were written. */
export interface HeldLog {
  readonly log: Log;
  /** Writes what was kept back, and everything from now on. */
  release(): void;
  /** Forgets what was kept back, and everything from now on. */
  discard(): void;
}

/** A log that keeps nothing. */
export const silentLog: Log = { enabled: () => false, write: () => {}, writeAll: () => {} };

/** Writes many messages, which are made when no call waits for them, as far as the log can do that. */
export function writeLater(log: Log, level: Level, messages: LaterMessages): void {
  if (messages.length === 0 || !log.enabled(level)) return;
  if (log.writeLater !== undefined) log.writeLater(level, messages);
  else
    log.writeAll(
      level,
      Array.from({ length: messages.length }, (_, i) => messages.at(i)!),
    );
}

/**
 * The log for one call, or for one user of a pipeline run: its lines can be told from those of others that run at the
 * same time in the same process, since their thread id is `<thread_id>-<suffix>`. `log` itself where it knows no
 * threads.
 */
export function childLog(log: Log, suffix: string | number): Log {
  return log.child?.(String(suffix)) ?? log;
}
