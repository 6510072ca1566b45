// What a rotating stream does with its files, watched and put in order: one name for the file being written, parts for the rest.
import * as fs from 'node:fs';
import { basename, join } from 'node:path';
import { tornMark } from './format.ts';
import { liveName, nextPart, partName } from './names.ts';

/** Files that a stream has open, and the functions by which it reaches them. */
export interface TrackedFiles {
  /** For the option `fs` of `createWriteStream`. */
  readonly fs: object;
  /** Names of the files that are open. */
  openNames(): ReadonlySet<string>;
}

export interface TrackOptions {
  folder: string;
  source: string;
  /** So many bytes have reached a file. */
  onWritten: (bytes: number) => void;
  /** Another file was opened or closed, so that one may be finished. */
  onChange: () => void;
}

type Done = (error: NodeJS.ErrnoException | null, ...results: unknown[]) => void;

/**
 * Gives a rotating stream, which calls its files `<source>-<day>.log`, `<source>-<day>.1.log`, …, files of which the one being
 * written is always `<source>-<day>.log`: at each rotation what is there becomes the next part. The old stream may go on writing
 * to its file meanwhile.
 */
export function trackFiles({ folder, source, onWritten, onChange }: TrackOptions): TrackedFiles {
  const files = new Map<number, string>();

  const finishLive = (day: string): void => {
    const live = liveName(source, day);
    const part = partName(source, day, nextPart(fs.readdirSync(folder), source, day));
    try {
      fs.renameSync(join(folder, live), join(folder, part));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    for (const [fd, name] of files) if (name === live) files.set(fd, part);
  };

  // Opened at once, since several rotations may follow each other in one turn of the event loop.
  const open = (path: string, _flags: string, _mode: number, done: Done): void => {
    const [, day, number] = /-(\d{4}-\d\d-\d\d)(\.\d+)?\.log$/.exec(basename(path)) ?? [];
    if (day === undefined) throw new TypeError(`expected a log file with a day in its name, found ${path}`);
    let fd: number | undefined;
    try {
      if (number !== undefined) finishLive(day);
      fd = fs.openSync(join(folder, liveName(source, day)), 'a+', 0o600);
      endTornLine(fd);
      files.set(fd, liveName(source, day));
      process.nextTick(done, null, fd);
    } catch (error) {
      if (fd !== undefined) fs.closeSync(fd);
      process.nextTick(done, error);
    }
    onChange();
  };

  const close = (fd: number, done: Done): void => {
    fs.close(fd, (error) => {
      files.delete(fd);
      done(error);
      onChange();
    });
  };

  const counted =
    (done: Done): Done =>
    (error, bytes, ...rest) => {
      if (error === null) onWritten(bytes as number);
      done(error, bytes, ...rest);
    };
  return {
    openNames: () => new Set(files.values()),
    fs: {
      open,
      close,
      fsync: fs.fsync,
      write: (fd: number, data: Buffer, offset: number, length: number, position: number, done: Done) =>
        fs.write(fd, data, offset, length, position, counted(done)),
      writev: (fd: number, chunks: Buffer[], position: number, done: Done) =>
        fs.writev(fd, chunks, position, counted(done)),
    },
  };
}

/** A file that ends within a line was left by a crash: its last line is marked, so that the next one is not lost with it. */
function endTornLine(fd: number): void {
  const stat = fs.fstatSync(fd);
  if (!stat.isFile() || stat.size === 0) return;
  const last = Buffer.alloc(1);
  fs.readSync(fd, last, 0, 1, stat.size - 1);
  if (last[0] !== 0x0a) fs.writeSync(fd, `${tornMark}\n`);
}
