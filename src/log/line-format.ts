// The lines of log files: `<timestamp>:<LEVEL>:<thread_id>:<message>`.
import { formatTime, isTimeZone } from '../model/time.ts';
import type { Level } from './log.ts';
import { oneLine } from './text.ts';

/** Returns the time zone of the host, or `UTC` if the zone has no name. */
export function hostZone(): string {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return isTimeZone(zone) ? zone : 'UTC';
}

/** Formats seconds since the epoch as `2026-11-21T09:31:02.120+01:00`, local in `zone`. */
export function createStamp(zone: string): (ts: number) => string {
  return (ts) => {
    const ms = Math.floor(ts * 1000 + 1e-3); // 0.12 s may be 119.99… ms in binary
    const text = formatTime(Math.floor(ms / 1000), zone);
    return `${text.slice(0, 19)}.${String(ms % 1000).padStart(3, '0')}${text.slice(19)}`;
  };
}

export interface FileLine {
  time: number;
  level: Level;
  thread: string; // the process and the call, such as `w1-42`
  message: string;
}

export const fileLine = (stamp: string, level: Level, thread: string, message: string): string =>
  `${stamp}:${level}:${thread}:${oneLine(message)}`;

const filePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d):(DEBUG|INFO|WARNING|ERROR):([\w.-]+):(.*)$/;

/** Returns null if the text is not in the format of `fileLine`. */
export function parseFileLine(text: string): FileLine | null {
  const match = filePattern.exec(text);
  if (match === null) return null;
  const [, stamp, level, thread, message] = match as unknown as [string, string, Level, string, string];
  const ms = Date.parse(stamp);
  return Number.isNaN(ms) ? null : { time: ms / 1000, level, thread, message };
}

/** Makes a START or END line for standard output, with the timestamp as the second word. */
export const consoleLine = (stamp: string, message: string): string => message.replace(' ', ` ${stamp} `);
