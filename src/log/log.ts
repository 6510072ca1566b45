// The interface of a log for lower rooms. `files.ts` writes the log to files, tests collect it.

/** The level of a log line, lowest first. */
export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** A list of messages: an array, or an object that makes each message when it is needed. */
export interface Messages {
  readonly length: number;
  at(index: number): string | undefined;
}

/** Receives log messages. */
export interface Log {
  /** True if lines of this level are written. Call it before building many messages. */
  enabled(level: Level): boolean;
  /** Writes one message; line breaks in it become blanks. */
  write(level: Level, message: string): void;
  /** Writes a line for each message, in order. The log may read the list later, so the caller must not change it. */
  writeAll(level: Level, messages: Messages): void;
  /** Returns a log whose thread id is `<thread_id>-<suffix>`. Logs without threads do not have this. */
  child?(suffix: string): Log;
}

/** A log that drops every line. */
export const silentLog: Log = { enabled: () => false, write: () => {}, writeAll: () => {} };
