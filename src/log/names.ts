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

/** Takes a file name apart; null for files that are no log files of ours. */
export function parseLogName(name: string): LogName | null {
  const match = pattern.exec(name);
  if (match === null) return null;
  const [, source, kind, day, part, compressed] = match;
  return {
    name,
    kind: kind as LogKind,
    source: source!,
    day: day!,
    part: part === undefined ? null : Number(part),
    compressed: compressed !== undefined,
  };
}

/** Log files among `names`. */
export function logNames(names: readonly string[]): LogName[] {
  return names.map(parseLogName).filter((log) => log !== null);
}

/** The `number`th source of a kind, from 1. */
export function sourceName(kind: LogKind, number: number): string {
  return number === 1 ? kind : `${kind}-${number}`;
}

/** The file that is being written. */
export function liveName(source: string, day: string): string {
  return `${source}-${day}.log`;
}

/** A finished part, not compressed yet. */
export function partName(source: string, day: string, part: number): string {
  return `${source}-${day}.part${part}.log`;
}

/** Number of the next part of that source and day, given the names that are there. */
export function nextPart(names: readonly string[], source: string, day: string): number {
  let last = 0;
  for (const name of names) {
    const parsed = parseLogName(name);
    if (parsed?.source === source && parsed.day === day) last = Math.max(last, parsed.part ?? 0);
  }
  return last + 1;
}

/** The order in which one source wrote its files: days, parts, and last the file that is being written. */
export function compareLogNames(a: LogName, b: LogName): number {
  if (a.day !== b.day) return a.day < b.day ? -1 : 1;
  return (a.part ?? Number.POSITIVE_INFINITY) < (b.part ?? Number.POSITIVE_INFINITY) ? -1 : a.part === b.part ? 0 : 1;
}
