// A Log that makes whole lines of messages and hands them on as text.
import { createStamp, type Frame, type FramedLines, fileLine, framedLines, threadWord } from './format.ts';
import type { LaterMessages, Level, Log } from './log.ts';

/** The least level kept, as the settings spell it. */
export type LeastLevel = Lowercase<Level>;

/** How log lines are formed and where they go. */
export interface LineLogOptions {
  level: LeastLevel;
  threadId: string;
  /** Time zone of the timestamps. */
  zone: string;
  /** Seconds since the epoch. */
  now: () => number;
  /** Takes lines. */
  emit: (lines: Lines) => void;
}

/** Some lines of a log. Making many lines takes time, so the receiver does it when no call waits. */
export interface Lines {
  count: number;
  /** About how many characters there are. */
  size: number;
  /** The lines, joined by line breaks, none at the end. */
  text(): string;
  /** The same as UTF-8. */
  bytes(): Buffer;
}

const linesAtOnce = 500; // made in one go: others have their turn in between

const ranks: Readonly<Record<Level, number>> = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3 };

/** Makes a log whose lines go to `emit`; lines below `level` are never built. */
export function createLineLog({ level, threadId, zone, now, emit }: LineLogOptions): Log {
  const least = ranks[level.toUpperCase() as Level];
  const stamp = createStamp(zone);
  const enabled = (asked: Level): boolean => ranks[asked] >= least;
  const ofThread = (thread: string, hand: (lines: Lines) => void): Log => ({
    enabled,
    write: (of, message) => {
      if (!enabled(of)) return;
      hand(new OneLine(fileLine(stamp(now()), of, thread, message)));
    },
    writeAll: (of, messages) => {
      if (messages.length === 0 || !enabled(of)) return;
      hand(new LinesOf({ stamp: stamp(now()), level: of, thread }, messages, 0, messages.length));
    },
    writeLater: (of, messages) => {
      if (!enabled(of)) return;
      const frame = { stamp: stamp(now()), level: of, thread };
      for (let start = 0; start < messages.length; start += linesAtOnce) {
        hand(new LinesOf(frame, messages, start, Math.min(start + linesAtOnce, messages.length)));
      }
    },
    child: (suffix) => ofThread(threadWord(`${thread}-${suffix}`), hand),
    hold: () => {
      const kept: Lines[] = [];
      let next = (lines: Lines): void => void kept.push(lines);
      return {
        log: ofThread(thread, (lines) => next(lines)),
        release: () => {
          next = hand;
          for (const lines of kept.splice(0)) hand(lines);
        },
        discard: () => {
          next = () => {};
          kept.length = 0;
        },
      };
    },
  });
  return ofThread(threadWord(threadId), emit);
}

class OneLine implements Lines {
  readonly count = 1;
  readonly size: number;
  private readonly line: string;

  constructor(line: string) {
    this.line = line;
    this.size = line.length;
  }

  text(): string {
    return this.line;
  }

  bytes(): Buffer {
    return Buffer.from(this.line);
  }
}

/** The lines of the messages `from` to `to`, that one excluded. A class: a put of 10,000 entries makes twenty. */
class LinesOf implements Lines {
  readonly count: number;
  readonly size: number;
  private readonly frame: Frame;
  private readonly messages: LaterMessages;
  private readonly from: number;

  constructor(frame: Frame, messages: LaterMessages, from: number, to: number) {
    this.frame = frame;
    this.messages = messages;
    this.from = from;
    this.count = to - from;
    this.size = this.count * (frame.stamp.length + frame.thread.length + messages.at(from)!.length);
  }

  text(): string {
    return this.framed().text;
  }

  /** Characters that are certain to be ASCII are copied; others are looked at. */
  bytes(): Buffer {
    const { text, isAscii } = this.framed();
    return Buffer.from(text, isAscii ? 'latin1' : 'utf8');
  }

  private framed(): FramedLines {
    const messages = new Array<string>(this.count);
    for (let i = 0; i < this.count; i++) messages[i] = this.messages.at(this.from + i)!;
    return framedLines(this.frame, messages, this.messages.arePlain?.());
  }
}
