import { open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { keyTable } from '../model/keys.ts';
import { errorText } from '../model/mobility-error.ts';
import { unlessMissing } from '../util/make-folders.ts';
import { replaceByGzip, withArchiveLock } from './compress-files.ts';
import { tryLock } from './file-lock.ts';
import { logNames, newFileRequest } from './file-names.ts';
import { readLines } from './read-log.ts';
import { oneLine, word } from './text.ts';

const mostRounds = 5; // rounds over all files; a further round follows if processes may have added lines
const queueTime = 500; // ms that a process may take to write its queued lines

export interface ScrubReceipt {
  folder: string;
  files: number;
  rewritten: number;
  lines: number;
  /** Files that may still contain a name or UUID, such as unreadable ones. */
  left: { file: string; reason: string }[];
}

type ErasedPerson = { uuid: string | null; user_email: string | null };

/**
 * Overwrites names and UUIDs with `erased---…` in all log files of a folder. The length stays the
 * same, so that a file can be changed while a process writes it. Overwrites
 * - a UUID everywhere,
 * - a name where the server logged it as the caller,
 * - an e-mail address also as a separate word and as a part of a path or key, even if it is
 *   percent-encoded or in upper case,
 * - unknown keys of entries in lines with the UUID, because a phone may have put a name into a key.
 * If the process is killed, repeat the call. A missing folder counts as empty.
 *
 *   Found user email ann@example.com    →    Found user email erased---------
 */
export async function scrubLogs(folder: string, people: readonly ErasedPerson[]): Promise<ScrubReceipt> {
  const receipt: ScrubReceipt = { folder, files: 0, rewritten: 0, lines: 0, left: [] };
  if ((await readdir(folder).catch(unlessMissing)) === undefined) return receipt;
  const replace = replacer(people);
  await requestNewFiles(folder);
  await withArchiveLock(folder, async () => {
    for (let round = 1, before = -1; receipt.lines > before && round <= mostRounds; round += 1) {
      before = receipt.lines;
      await scrubOnce(receipt, replace);
    }
  });
  return receipt;
}

/** Asks other processes to start new files, so that old files get no more lines. */
async function requestNewFiles(folder: string): Promise<void> {
  const sources = new Set(logNames(await readdir(folder)).map(({ source }) => source));
  let isWritten = false;
  for (const source of sources) {
    const lock = tryLock(folder, source);
    lock?.release();
    if (lock !== null) continue; // no process writes this source
    await writeFile(join(folder, newFileRequest(source)), '', { mode: 0o600 });
    isWritten = true;
  }
  if (isWritten) await sleep(queueTime);
}

/** A changed file is left for the next round: its process may have added lines. */
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

type Replace = (line: string) => string;

const filler = (text: string): string => 'erased'.padEnd(text.length, '-').slice(0, text.length);

/** Looks up the parts of a line that look like a UUID or name, as fast for one person as for many. */
function replacer(people: readonly ErasedPerson[]): Replace {
  const uuids = new Set(people.map(({ uuid }) => uuid));
  const names = people.flatMap(({ user_email: name }) => (name === null ? [] : [oneLine(name), word(name)]));
  const bytes = new Set(names.map((name) => Buffer.from(name).toString('latin1')));
  const scrubUuid = (uuid: string): string => (uuids.has(uuid) ? filler(uuid) : uuid);
  const scrubName = (name: string): string =>
    bytes.has(name) || bytes.has(decodePercent(name).toLowerCase()) ? filler(name) : name;
  const scrubAll = (line: string): string =>
    line
      .replace(uuidPattern, scrubUuid)
      .replace(/(?<=:(?:Found user email |Refused token [^,\n]*, [^,\n]*, (?:of|sent as) ))[^\n]*/, scrubName)
      .replace(/(?<=\/)[^\s,;:"'()<>[\]/]+(?:@|%40)[^\s,;:"'()<>[\]/]*[^\s,;:"'()<>[\]/.]/g, scrubName)
      // An address may be in single quotes.
      .replace(addressPattern, (run) => scrubName(run).replace(/(?<=(?<!\w)').+/, scrubName));
  return (line) => {
    const scrubbed = scrubAll(line);
    const uuid = line.match(uuidPattern)?.find((one) => uuids.has(one));
    return uuid === undefined ? scrubbed : scrubbed.replace(keyPattern, scrubKey);
  };
}

/** Matches e-mail addresses from the start of a word: a search from each letter could take minutes. */
const addressPattern = /(?<![^\s,;:"()<>[\]])[^\s,;:"()<>[\]]+@[^\s,;:"'()<>[\]]*[^\s,;:"'()<>[\].]/g;
const uuidPattern = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

const keyPattern = /(?<= key = )(?:"(?:[^"\\]|\\.)*"|[^\s,]+)/g;
const knownKeys: ReadonlySet<string> = new Set(keyTable.map(({ key }) => key));
const scrubKey = (key: string): string => (knownKeys.has(key) || key === 'null' ? key : filler(key));

const decodePercent = (part: string): string =>
  part.replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

/** Overwrites lines in place: a process may be writing the file. Returns the number of lines. */
async function scrubPlain(path: string, replace: Replace): Promise<number> {
  const file = await open(path, 'r+');
  let [count, position] = [0, 0];
  try {
    for await (const lines of readLines(path)) {
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

async function scrubCompressed(path: string, replace: Replace): Promise<number> {
  let count = 0;
  for await (const lines of readLines(path)) count += lines.filter((line) => replace(line) !== line).length;
  const scrubbed = async function* (): AsyncGenerator<Buffer> {
    for await (const lines of readLines(path)) yield Buffer.from(lines.map(replace).join(''), 'latin1');
  };
  if (count > 0) await replaceByGzip(path, scrubbed());
  return count;
}
