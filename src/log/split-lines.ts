// Bytes of a log file to lines, piece by piece: no line of any length is held whole beyond a limit.
import { type FileLine, parseFileLine, tornMark } from './format.ts';

const maxLine = 64 * 1024; // characters; what we write is far below

/** What was found in log files besides lines. */
export interface ReadStats {
  files: number;
  lines: number;
  /** Lines that no log of ours writes. */
  foreign: number;
  /** Lines cut short by a crash or a full disk. */
  torn: number;
  /** Files that could not be read, or not to their end. */
  unreadable: { file: string; reason: string }[];
  /** How often a reader that follows has looked for news. */
  looks: number;
}

/** Nothing read yet. */
export function newStats(): ReadStats {
  return { files: 0, lines: 0, foreign: 0, torn: 0, unreadable: [], looks: 0 };
}

/** Splits one file. */
export interface Splitter {
  /** The lines that these bytes complete. */
  feed(bytes: Uint8Array): FileLine[];
  /** No more bytes will come: what is left is a torn line. */
  end(): void;
}

/** Makes a splitter that counts in `stats` what it passes over. */
export function createSplitter(stats: ReadStats): Splitter {
  const decoder = new TextDecoder();
  let rest = '';
  let skipping = false;

  const parse = (text: string): FileLine | null => {
    const line = parseFileLine(text.endsWith('\r') ? text.slice(0, -1) : text);
    if (line !== null) stats.lines += 1;
    else if (text.endsWith(tornMark)) stats.torn += 1;
    else if (text !== '') stats.foreign += 1;
    return line;
  };
  return {
    feed: (bytes) => {
      const pieces = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = pieces.pop()!;
      if (skipping && pieces.length > 0) {
        pieces.shift();
        skipping = false;
      }
      if (rest.length > maxLine || skipping) {
        if (!skipping) stats.foreign += 1;
        skipping = true;
        rest = '';
      }
      return pieces.map(parse).filter((line) => line !== null);
    },
    end: () => {
      if (rest !== '') stats.torn += 1;
      rest = '';
      skipping = false;
    },
  };
}
