// The names of log files: `<source>-<day>[-<run>][.<part>].log`, with `.gz` when the file is compressed.

/** The programs that write logs. */
export const logKinds = ['server', 'pipeline'] as const;

/** Which program writes the log. */
export type LogKind = (typeof logKinds)[number];

/** A parsed file name. */
export interface LogName {
  /** Without `.gz`. */
  name: string;
  compressed: boolean;
  kind: LogKind;
  /** The writer: its kind, and a number for a second process at the same time: `server`, `server-2`. */
  source: string;
  /** Local day of the host, `YYYY-MM-DD`. */
  day: string;
  /** 1, or more for a process that started when files of the day were already compressed. */
  run: number;
  /** 0, or more for a file that follows a full one. */
  part: number;
}

const pattern = /^(((server|pipeline)(?:-\d{1,4})?)-(\d{4}-\d{2}-\d{2})(?:-(\d{1,9}))?(?:\.(\d{1,9}))?\.log)(\.gz)?$/;

/** Parses the names of log files among `names`, sorted in the order in which a source writes them. */
export function logNames(names: readonly string[]): LogName[] {
  const matches = names.map((name) => pattern.exec(name)).filter((match) => match !== null);
  const logs = matches.map(([, name, source, kind, day, run = '1', part = '0', gz]) => {
    return { name, compressed: gz !== undefined, kind, source, day, run: Number(run), part: Number(part) } as LogName;
  });
  return logs.sort((a, b) => (a.day === b.day ? a.run - b.run || a.part - b.part : a.day < b.day ? -1 : 1));
}

/**
 * The transport's name of files for a process that starts today. It continues plain files of the day. It takes a new
 * name if some are compressed, since the transport looks for plain files only and would use the old name again, and if
 * a scrub asked for a `fresh` file.
 */
export function nameTemplate(names: readonly string[], source: string, today: string, fresh: boolean): string {
  const logs = logNames(names).filter((log) => log.source === source && log.day === today);
  const last = logs.at(-1)?.run ?? 1;
  const isUsed = logs.some((log) => log.run === last && (log.compressed || fresh));
  const run = isUsed ? last + 1 : last;
  return run === 1 ? `${source}-%DATE%` : `${source}-%DATE%-${run}`;
}

/** A file of this name asks the process that writes a source to start a new log file before its next line. */
export const newFileRequest = (source: string): string => `.${source}.new`;
