// Removes a person from log files: overwrites name and UUID in every line, also in compressed and current files.
//
//     before      server-2026-11-28.log        START ..., Found user email ada@example.org, END ...   <- server writes
//     request     .server.new                  the server starts a new file before its next line
//     after       server-2026-11-28.log        START ..., Found user email erased---------, END ...
//                 server-2026-11-28-2.log      searched too, for lines that were queued             <- server writes
import { open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { keyTable } from '../model/keys.ts';
import { errorText } from '../model/mobility-error.ts';
import { replaceByGzip, rewriting, unlessMissing } from './compress-files.ts';
import { linesOf } from './file-lines.ts';
import { tryLock } from './file-lock.ts';
import { logNames, newFileRequest } from './file-names.ts';
import { oneLine, word } from './text.ts';

const mostRounds = 5; // other lines may be written meanwhile
const queueTime = 500; // ms that a process may take to write lines that it had queued

/** What was done, for the receipt. */
export interface ScrubReceipt {
  folder: string;
  /** Files that were searched. */
  files: number;
  /** Files in which lines were changed, and the number of lines. */
  rewritten: number;
  lines: number;
  /** Files that still name the person, or could not be read. */
  left: { file: string; reason: string }[];
}

/** A person whom the logs must not name. */
export interface ErasedPerson {
  /** Null if it is not known. */
  uuid: string | null;
  /** The name as the server logged it; null if it is not known. */
  user_email: string | null;
}

/**
 * Overwrites names and UUIDs with `erased---…` of the same length in all log files of a folder. The length stays, so
 * that a file can be changed while a process writes it. A name is overwritten where the server logged it as a caller's,
 * and, if it is an e-mail address, wherever it is a word of its own, also percent-encoded or in capitals, and as a part
 * of a path or key. Keys that a phone chose are overwritten in lines of its person. May be killed and repeated. A
 * missing folder has no files.
 */
export async function scrubLogs(folder: string, people: readonly ErasedPerson[]): Promise<ScrubReceipt> {
  const receipt: ScrubReceipt = { folder, files: 0, rewritten: 0, lines: 0, left: [] };
  if ((await readdir(folder).catch(unlessMissing)) === undefined) return receipt;
  const replace = replacer(people);
  await requestNewFiles(folder);
  await rewriting(folder, async () => {
    for (let round = 1, before = -1; receipt.lines > before && round <= mostRounds; round += 1) {
      before = receipt.lines;
      await scrubOnce(receipt, replace);
    }
  });
  return receipt;
}

/**
 * Asks each process that writes a log file to start a new one, and waits for lines that it had queued: the old files
 * then get no more lines. A process that logs nothing meanwhile starts its new file with its next line.
 */
async function requestNewFiles(folder: string): Promise<void> {
  const sources = new Set(logNames(await readdir(folder)).map(({ source }) => source));
  let isWritten = false;
  for (const source of sources) {
    const lock = tryLock(folder, source);
    lock?.release();
    if (lock !== null) continue; // no process writes it
    await writeFile(join(folder, newFileRequest(source)), '', { mode: 0o600 });
    isWritten = true;
  }
  if (isWritten) await sleep(queueTime);
}

/** One pass over all files. A file with changed lines is searched again: its process may have added others. */
async function scrubOnce(receipt: ScrubReceipt, replace: Replace): Promise<void> {
  const logs = logNames(await readdir(receipt.folder));
  receipt.files = logs.length;
  receipt.left = [];
  for (const { name, compressed } of logs) {
    const file = compressed ? `${name}.gz` : name;
    const scrub = compressed ? scrubCompressed : scrubPlain;
    const fail = (error: unknown) => void receipt.left.push({ file, reason: errorText(error) });
    const lines = (await scrub(join(receipt.folder, file), replace).catch(unlessMissing).catch(fail)) ?? 0;
    if (lines === 0) continue;
    receipt.lines += lines;
    receipt.rewritten += 1;
    receipt.left.push({ file, reason: 'lines were still being added' });
  }
}

/** Changes a line to one of the same length. */
type Replace = (line: string) => string;

const filler = (text: string): string => 'erased'.padEnd(text.length, '-').slice(0, text.length);

/** Looks up what may be a UUID or a name, so that many people cost no more than one. */
function replacer(people: readonly ErasedPerson[]): Replace {
  const uuids = new Set(people.map(({ uuid }) => uuid));
  const names = people.flatMap(({ user_email: name }) => (name === null ? [] : [oneLine(name), word(name)]));
  const bytes = new Set(names.map((name) => Buffer.from(name).toString('latin1')));
  const scrubUuid = (uuid: string): string => (uuids.has(uuid) ? filler(uuid) : uuid);
  const scrubName = (name: string): string =>
    bytes.has(name) || bytes.has(decoded(name).toLowerCase()) ? filler(name) : name;
  const scrubAll = (line: string): string =>
    line
      .replace(uuidPattern, scrubUuid)
      .replace(/(?<=:(?:Found user email |Refused token [^,\n]*, [^,\n]*, (?:of|sent as) ))[^\n]*/, scrubName)
      .replace(/(?<=\/)[^\s,;:"'()<>[\]/]+(?:@|%40)[^\s,;:"'()<>[\]/]*[^\s,;:"'()<>[\]/.]/g, scrubName)
      .replace(/[^\s,;:"()<>[\]]+@[^\s,;:"'()<>[\]]*[^\s,;:"'()<>[\].]/g, scrubName)
      .replace(/(?<=(?<!\w)')[^\s,;:"()<>[\]]+@[^\s,;:"'()<>[\]]*[^\s,;:"'()<>[\].]/g, scrubName); // quoted by '
  return (line) => {
    const scrubbed = scrubAll(line);
    const uuid = line.match(uuidPattern)?.find((one) => uuids.has(one));
    return uuid === undefined ? scrubbed : scrubbed.replace(keyPattern, scrubKey);
  };
}

const uuidPattern = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

/** The key of an entry, as a word or as JSON: a phone may choose any, such as a name. */
const keyPattern = /(?<= key = )(?:"(?:[^"\\]|\\.)*"|[^\s,]+)/g;
const knownKeys: ReadonlySet<string> = new Set(keyTable.map(({ key }) => key));
const scrubKey = (key: string): string => (knownKeys.has(key) || key === 'null' ? key : filler(key));

/** A part of a path, without its percent-encoding. */
const decoded = (part: string): string =>
  part.replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

/** Returns the number of changed lines. */
async function scrubPlain(path: string, replace: Replace): Promise<number> {
  const file = await open(path, 'r+');
  let [count, position] = [0, 0];
  try {
    for await (const lines of linesOf(path)) {
      for (const line of lines) {
        const scrubbed = replace(line);
        if (scrubbed !== line) {
          await file.write(Buffer.from(scrubbed, 'latin1'), 0, line.length, position);
          count += 1;
        }
        position += line.length;
      }
    }
    if (count > 0) await file.datasync();
    return count;
  } finally {
    await file.close();
  }
}

/** Returns the number of changed lines. */
async function scrubCompressed(path: string, replace: Replace): Promise<number> {
  let count = 0;
  for await (const lines of linesOf(path)) count += lines.filter((line) => replace(line) !== line).length;
  const scrubbed = async function* (): AsyncGenerator<Buffer> {
    for await (const lines of linesOf(path)) yield Buffer.from(lines.map(replace).join(''), 'latin1');
  };
  if (count > 0) await replaceByGzip(path, scrubbed());
  return count;
}
