// The names of log files: `<source>-<day>.log` is being written, `<source>-<day>.part<n>.log.gz` is done with.

/** Which program's log it is. */
export type LogKind = 'server' | 'pipeline';

/** A file name taken apart. */
export interface LogName {
  name: string;
  kind: LogKind;
  /** The writer: its kind, and a number for a second server at the same time: `server`, `server-2`. */
  source: string;
  /** Local day of the host, `YYYY-MM-DD`. */
  day: string;
  /** Number of the finished part, from 1; null for the file that is being written. */
  part: number | null;
  compressed: boolean;
}

const pattern = /^((server|pipeline)(?:-\d{1,4})?)-(\d{4}-\d{2}-\d{2})(?:\.part(\d{1,9}))?\.log(\.gz)?$/;

/** The log files of ours among `names`. */
export function logNames(names: readonly string[]): LogName[] {
  return names.flatMap((name) => {
    const match = pattern.exec(name);
    if (match === null) return [];
    const [, source, kind, day, part, compressed] = match as unknown as [string, string, LogKind, string, ...string[]];
    return [
      { name, kind, source, day, part: part === undefined ? null : Number(part), compressed: compressed !== undefined },
    ];
  });
}

/** The file that is being written. */
export function liveName(source: string, day: string): string {
  return `${source}-${day}.log`;
}

/** The name of the next finished part of that source and day, given the names that are there. */
export function nextPartName(names: readonly string[], source: string, day: string): string {
  const ofDay = logNames(names).filter((log) => log.source === source && log.day === day);
  return `${source}-${day}.part${Math.max(0, ...ofDay.map(({ part }) => part ?? 0)) + 1}.log`;
}

/** The order in which one source wrote its files: days, parts, and last the file that is being written. */
export function compareLogNames(a: LogName, b: LogName): number {
  if (a.day !== b.day) return a.day < b.day ? -1 : 1;
  if (a.part === b.part) return 0;
  return (a.part ?? Number.POSITIVE_INFINITY) < (b.part ?? Number.POSITIVE_INFINITY) ? -1 : 1;
}

/** Names an open file, whatever it is called by now. */
export const inodeOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`;
