// Takes a person out of log files: name and UUID are replaced in every line, in compressed files and in those being
// written too.
import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { errorText } from '../model/errors.ts';
import { draftNames, finishLive, letGoSeconds, QuietFiles, replaceByCompressed } from './archive.ts';
import { type LogName, logNames } from './names.ts';
import { oneLine, word } from './text.ts';

const mostRounds = 5; // a line that was on its way may arrive in a new file
const gone = 'erased';

/** Whom to take out, and where. */
export interface ScrubOptions {
  folder: string;
  uuid: string;
  /** The name as the server logged it; null: not known. */
  email: string | null;
  /** Seconds for which a file must be unchanged before it is rewritten; default: `letGoSeconds`. */
  quietSeconds?: number;
}

/** What was done, for the receipt. */
export interface ScrubReceipt {
  folder: string;
  /** Files looked through in the last round. */
  files: number;
  /** Files that were rewritten, and lines replaced in them. */
  rewritten: number;
  lines: number;
  /** Files that still name the person, or could not be read. */
  left: { file: string; reason: string }[];
}

/**
 * Replaces name and UUID by `erased` in all log files of a folder. A file that is being written is given the name of a
 * finished part first: the process that writes it goes on in a new one. A name is replaced where the server says whom
 * it found, and, if it looks like an address, wherever it stands alone. A folder that does not exist holds nothing.
 */
export async function scrubLogs({
  folder,
  uuid,
  email,
  quietSeconds = letGoSeconds,
}: ScrubOptions): Promise<ScrubReceipt> {
  const receipt: ScrubReceipt = { folder, files: 0, rewritten: 0, lines: 0, left: [] };
  const replace = replacer(uuid, email);
  for (let round = 0; round < mostRounds; round += 1) {
    receipt.left = await endDrafts(folder, quietSeconds);
    const logs = logNames(await readdir(folder).catch(noFiles));
    receipt.files = logs.length;
    let found = false;
    for (const log of logs) {
      try {
        if (!(await mentions(join(folder, log.name), log.compressed, replace))) continue;
        found = true;
        const lines = await rewrite(folder, log, replace, quietSeconds);
        receipt.lines += lines;
        if (lines > 0) receipt.rewritten += 1;
        receipt.left.push({ file: log.name, reason: 'lines were still being added' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT')
          found = true; // it got another name meanwhile
        else receipt.left.push({ file: log.name, reason: errorText(error) });
      }
    }
    if (!found) break;
  }
  return receipt;
}

function noFiles(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/**
 * Waits for the drafts of files that are being compressed: one that was begun before may name the person, and takes the
 * place of its file when it is done. One that nobody goes on with, as its process was killed, is removed: what it was
 * made of is still there.
 */
async function endDrafts(folder: string, quietSeconds: number): Promise<ScrubReceipt['left']> {
  const left: ScrubReceipt['left'] = [];
  for (const file of draftNames(await readdir(folder).catch(noFiles))) {
    const path = join(folder, file);
    await untilQuiet(path, quietSeconds);
    await rm(path, { force: true }).catch((error) => left.push({ file, reason: errorText(error) }));
  }
  return left;
}

async function untilQuiet(path: string, seconds: number): Promise<void> {
  const quiet = new QuietFiles();
  while ((await quiet.seconds(path)) < seconds) await sleep(50);
}

/** Changes a line, which may end with a line break. */
type Replace = (line: string) => string;

function replacer(uuid: string, email: string | null): Replace {
  if (email === null) return (line) => line.replaceAll(uuid, gone);
  const [asText, asWord] = [oneLine(email), word(email)].map((name) =>
    bytesOf(name).replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'),
  );
  const asCaller = new RegExp(`(?<=:Found user email )${asText}(?=\n?$)`);
  const alone = new RegExp(`(?<![\\w.+-])(?:${asText}|${asWord})(?![\\w-])`, 'g');
  return (line) => {
    const clear = line.replaceAll(uuid, gone).replace(asCaller, gone);
    return email.includes('@') ? clear.replace(alone, gone) : clear;
  };
}

// Lines are handled as bytes, one character each, so that those which stay are written back as they were.
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

async function* linesOf(path: string, compressed: boolean): AsyncGenerator<string> {
  const file = createReadStream(path);
  let rest = '';
  for await (const chunk of compressed ? pipeline(file, createGunzip(), () => {}) : file) {
    const lines = (rest + (chunk as Buffer).toString('latin1')).split(/(?<=\n)/);
    rest = lines.at(-1)!.endsWith('\n') ? '' : lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

async function mentions(path: string, compressed: boolean, replace: Replace): Promise<boolean> {
  for await (const line of linesOf(path, compressed)) if (replace(line) !== line) return true;
  return false;
}

/** Rewrites a file, compressed; returns the number of replaced lines. If anything fails, the file stays unchanged. */
async function rewrite(folder: string, log: LogName, replace: Replace, quietSeconds: number): Promise<number> {
  const name = log.part === null ? finishLive(folder, log.source, log.day) : log.name;
  if (name === null) return 0;
  const path = join(folder, name);
  if (!log.compressed) await untilQuiet(path, quietSeconds);
  let lines = 0;
  const replaced = async function* (): AsyncGenerator<Buffer> {
    for await (const line of linesOf(path, log.compressed)) {
      const clear = replace(line);
      if (clear !== line) lines += 1;
      yield Buffer.from(clear, 'latin1');
    }
  };
  return (await replaceByCompressed(path, replaced)) ? lines : 0;
}
