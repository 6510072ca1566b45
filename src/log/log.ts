// What the core needs of a log; `files.ts` writes it to files, tests collect it.

export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

export interface Log {
  /** True when lines of this level are kept: ask before building many. */
  enabled(level: Level): boolean;
  /** One message; line breaks in it become blanks. */
  write(level: Level, message: string): void;
  /** Many messages of one level in one go, each a line of its own, in order. */
  writeAll(level: Level, messages: readonly string[]): void;
}

/** A log that keeps nothing. */
export const silentLog: Log = { enabled: () => false, write: () => {}, writeAll: () => {} };
