/** The level of a log line, lowest first. */
export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** An array of messages, or an object that makes a message when `at` is called. */
export type Messages = { readonly length: number; at(index: number): string | undefined };

/** Receives messages. */
export interface Log {
  /** False if the log drops messages of the level. Then the caller need not build them. */
  enabled(level: Level): boolean;
  /** Writes one message; line breaks in it become blanks. */
  write(level: Level, message: string): void;
  /** Writes a line per message. The log may read the list later: the caller must not change it. */
  writeAll(level: Level, messages: Messages): void;
  /** A log whose thread id is `<thread_id>-<suffix>`. A log without thread ids has no `child`. */
  child?(suffix: string): Log;
}

/** A log that drops every line. */
export const silentLog: Log = { enabled: () => false, write: () => {}, writeAll: () => {} };
