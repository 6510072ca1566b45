// Names of log files: `<source>-<day>[-<run>][.<part>].log`, with `.gz` if the file is compressed.

export const logKinds = ['server', 'pipeline'] as const;

export type LogKind = (typeof logKinds)[number];

export interface LogName {
  name: string;
  compressed: boolean;
  kind: LogKind;
  source: string; // the kind, with a number if several processes write at the same time: `server-2`
  day: string; // `YYYY-MM-DD`, in the time zone of the host
  run: number; // 1 for the first run of the day; `nameTemplate` states when a process begins a new run
  part: number; // 0 for the first file of a run; the file after a full file has the next number
}

const pattern = /^(((server|pipeline)(?:-\d{1,4})?)-(\d{4}-\d{2}-\d{2})(?:-(\d{1,9}))?(?:\.(\d{1,9}))?\.log)(\.gz)?$/;

/** Parses the names of log files, and sorts them in the order of writing. Ignores other names. */
export function logNames(names: readonly string[]): LogName[] {
  const matches = names.map((name) => pattern.exec(name)).filter((match) => match !== null);
  const logs = matches.map(([, name, source, kind, day, run = '1', part = '0', gz]) => {
    return { name, compressed: gz !== undefined, kind, source, day, run: Number(run), part: Number(part) } as LogName;
  });
  return logs.sort((a, b) => (a.day === b.day ? a.run - b.run || a.part - b.part : a.day < b.day ? -1 : 1));
}

/**
 * Returns the name of the file to write. Winston's transport replaces `%DATE%`. A process continues
 * the last file of the day, with two exceptions. If files of the last run are compressed, a new run
 * begins, because the transport does not see compressed files and would use their names again. If a
 * scrub requested a new file (`fresh`), a new run begins too.
 */
export function nameTemplate(names: readonly string[], source: string, today: string, fresh: boolean): string {
  const logs = logNames(names).filter((log) => log.source === source && log.day === today);
  const last = logs.at(-1)?.run ?? 1;
  const isUsed = logs.some((log) => log.run === last && (log.compressed || fresh));
  const run = isUsed ? last + 1 : last;
  return run === 1 ? `${source}-%DATE%` : `${source}-%DATE%-${run}`;
}

/** If this file exists, the process that writes `source` starts a new log file. */
export const newFileRequest = (source: string): string => `.${source}.new`;
