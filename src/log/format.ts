// A log line as text: the frame `<timestamp>:<LEVEL>:<thread_id>:<message>` and the lines of the console, written and
// parsed.
import { formatTime, isTimeZone } from '../model/time.ts';
import type { Level } from './log.ts';
import { arePlainLines, isPlain, oneLine, pathWord, secondsText, word } from './text.ts';

/** Stands at the end of a line that a crash or a full disk cut short. No line that was written whole contains it. */
export const tornMark = '\u0018';

/** The host's time zone; `UTC` where it has none with a name. */
export function hostZone(): string {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return isTimeZone(zone) ? zone : 'UTC';
}

/**
 * Makes the writer of timestamps: seconds since the epoch -> `2026-11-21T09:31:02.120+01:00`, local time of `zone`, one
 * word. Everything but the milliseconds is built once a second.
 */
export function createStamp(zone: string): (ts: number) => string {
  let second = Number.NaN;
  let head = '';
  let tail = '';
  return (ts) => {
    const ms = Math.floor(ts * 1000 + 1e-3); // 0.12 s may be 119.99… ms in binary
    const whole = Math.floor(ms / 1000);
    if (whole !== second) {
      const text = formatTime(whole, zone);
      second = whole;
      head = text.slice(0, 19);
      tail = text.slice(19);
    }
    return `${head}.${String(ms - whole * 1000).padStart(3, '0')}${tail}`;
  };
}

const stampPattern = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d(?::\d\d)?`;

/** Seconds since the epoch of a timestamp that `createStamp` wrote; null for any other text. */
export function parseStamp(stamp: string): number | null {
  const ms = Date.parse(stamp.slice(0, 29));
  // Offsets before railway time have seconds, which `Date.parse` does not know.
  const seconds = stamp.length > 29 ? Number(`${stamp[23]}${stamp.slice(30)}`) : 0;
  return Number.isNaN(ms) || Number.isNaN(seconds) ? null : ms / 1000 - seconds;
}

// ---------------------------------------------------------------- lines of files

/** One line of a log file, taken apart. */
export interface FileLine {
  /** Seconds since the epoch. */
  time: number;
  /** The time as written. */
  stamp: string;
  level: Level;
  /** Whose line it is: `<process>` or `<process>-<call>`, such as `w1-42`. */
  thread: string;
  message: string;
}

/** A thread id in the form of log lines: letters, digits, `.`, `_` and `-`, at most 64. */
export function threadWord(id: string): string {
  return id.replace(/[^\w.-]/g, '_').slice(0, 64) || '-';
}

/** `<timestamp>:<LEVEL>:<thread_id>:<message>`; `thread` as `threadWord` gives it. The message is made one line. */
export function fileLine(stamp: string, level: Level, thread: string, message: string): string {
  return `${stamp}:${level}:${thread}:${oneLine(message)}`;
}

/** Lines as a file has them, joined by line breaks. */
export interface FramedLines {
  text: string;
  /** True if it is certain that the text is ASCII. */
  isAscii: boolean;
}

/** What stands before a message. */
export interface Frame {
  stamp: string;
  level: Level;
  thread: string;
}

/** As `fileLine` for each of these messages. `arePlain`: true if each is known to be short and printable ASCII. */
export function framedLines(
  { stamp, level, thread }: Frame,
  messages: readonly string[],
  arePlain = false,
): FramedLines {
  const frame = `${stamp}:${level}:${thread}:`;
  // Joined with the first frame: put before the others later, it would have all of them copied once more.
  const text = messages.map((message, i) => (i === 0 ? frame + message : message)).join(`\n${frame}`);
  // Nearly always: one look at all of them instead of one at each.
  if (arePlain || arePlainLines(text, messages.length)) return { text, isAscii: isPlain(frame) };
  return { text: messages.map((message) => fileLine(stamp, level, thread, message)).join('\n'), isAscii: false };
}

const filePattern = new RegExp(`^(${stampPattern}):(DEBUG|INFO|WARNING|ERROR):([\\w.-]+):(.*)$`);

/** The parts of a line that `fileLine` wrote; null for any other text, and for a line that was cut short. */
export function parseFileLine(text: string): FileLine | null {
  if (text.endsWith(tornMark)) return null;
  const match = filePattern.exec(text);
  if (match === null) return null;
  const [, stamp, level, thread, message] = match as unknown as [string, string, Level, string, string];
  const time = parseStamp(stamp);
  return time === null ? null : { time, stamp, level, thread, message };
}

// ---------------------------------------------------------------- lines of the console

/** `START <timestamp> <METHOD> <path>` */
export function consoleStart(stamp: string, method: string, path: string): string {
  return `START ${stamp} ${word(method)} ${pathWord(path)}`;
}

/** `END <timestamp> <METHOD> <path> [<user_uuid>] <duration_seconds>`; an unknown user leaves no gap. */
export function consoleEnd(stamp: string, method: string, path: string, user: string | null, seconds: number): string {
  const who = user === null ? '' : ` ${word(user)}`;
  return `END ${stamp} ${word(method)} ${pathWord(path)}${who} ${secondsText(seconds)}`;
}
