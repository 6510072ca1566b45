// The interface of a log. `files.ts` writes lines to files; tests collect them.

/** The level of a log line, lowest first. */
export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** A list of messages: an array, or an object that makes a message when `at` is called. */
export interface Messages {
  readonly length: number;
  at(index: number): string | undefined;
}

/** A log that messages are written to. */
export interface Log {
  /** True if lines of this level are written. Call it before building many messages. */
  enabled(level: Level): boolean;
  /** Writes one message; line breaks in it become blanks. */
  write(level: Level, message: string): void;
  /** Writes a line for each message, in order. The log may read the list later, so the caller must not change it. */
  writeAll(level: Level, messages: Messages): void;
  /** A log whose thread id is `<thread_id>-<suffix>`. A log without thread ids has no `child`. */
  child?(suffix: string): Log;
}

/** A log that drops every line. */
export const silentLog: Log = { enabled: () => false, write: () => {}, writeAll: () => {} };
