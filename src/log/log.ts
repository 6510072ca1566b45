// What the core needs of a log; `files.ts` writes it to files, tests collect it.

/** The level of a log line, lowest first. */
export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** A list of messages, such as an array, or a list that builds each message when it is asked for. */
export interface Messages {
  readonly length: number;
  at(index: number): string | undefined;
}

/** Takes log messages; the core writes through it and knows nothing of files. */
export interface Log {
  /** True if lines of this level are kept: ask before building many. */
  enabled(level: Level): boolean;
  /** Writes one message; line breaks in it become blanks. */
  write(level: Level, message: string): void;
  /** Writes a line for each message, in order. The log may read the list later, so it must not change. */
  writeAll(level: Level, messages: Messages): void;
  /** Returns a log whose thread id is `<thread_id>-<suffix>`. Logs without threads omit it. */
  child?(suffix: string): Log;
}

/** A log that drops every line. */
export const silentLog: Log = { enabled: () => false, write: () => {}, writeAll: () => {} };
