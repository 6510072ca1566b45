// Keeps the parts of each person in a file until all tables are written. So an export that was interrupted continues,
// and several processes can read people.
//
//   OUT/.parts/5d41402abc4b2a76…   length, packed part; length, packed part; …   of one person
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { UserRecord } from '../model/user.ts';
import { allOrNone, bytesInFile } from '../util/file-access.ts';
import { packageVersion } from '../util/program-version.ts';

/** The folder of the files, in the folder of the export. */
export const partsFolder = (out: string): string => join(out, '.parts');

/** s; older files are made again. An export without interruption shows people at times as far apart. */
const keptFor = 86_400;

/** The path of a person's file. It changes with all that decides the rows, except the data. */
export function partsPath(
  folder: string,
  { uuid, user_email, study, subgroup, joined_ts }: UserRecord,
  choice: object,
) {
  const name = JSON.stringify([packageVersion(), uuid, user_email, study, subgroup, joined_ts, choice]);
  return join(folder, createHash('sha256').update(name).digest('hex').slice(0, 32));
}

/** True if the file was finished in the last day. `now`: seconds since the epoch. */
export function isFinished(path: string, now: number): boolean {
  const file = statSync(path, { throwIfNoEntry: false });
  return file !== undefined && now - file.mtimeMs / 1000 < keptFor;
}

/** Writes the file of a person, completely or not at all. */
export async function writeParts(path: string, parts: AsyncIterable<object>): Promise<void> {
  await rm(path, { force: true });
  await allOrNone(({ write }) =>
    write(path, async (writer) => {
      for await (const part of parts) {
        const packed = deflateRawSync(serialize(part), { level: 1 });
        const length = Buffer.alloc(4);
        length.writeUInt32LE(packed.length);
        await writer.write(Buffer.concat([length, packed]));
      }
    }),
  ).catch((error) => {
    if (!existsSync(path)) throw error; // else a worker of the interrupted export finished it meanwhile
  });
}

/** Reads the file of a person. */
export async function* readParts<Part>(path: string): AsyncGenerator<Part> {
  const bytes = await bytesInFile(path);
  for (let at = 0; at < bytes.length; ) {
    const from = at + 4;
    at = from + bytes.readUInt32LE(at);
    yield deserialize(inflateRawSync(bytes.subarray(from, at))) as Part;
  }
}

/** The most items per lane that `inLanes` begins before the caller takes the first result. */
const itemsAhead = 8;

/** Changes so many items at once, also while the caller handles a result. Yields the results in the order of items. */
export async function* inLanes<T, R>(
  items: AsyncIterable<T>,
  lanes: number,
  change: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const ends = Array.from({ length: lanes }, () => Promise.resolve<unknown>(null));
  const results: Promise<R>[] = [];
  const most = lanes === 1 ? 1 : lanes * itemsAhead;
  let [count, isOver] = [0, false];
  try {
    for await (const item of items) {
      const lane = count % lanes;
      const result = ends[lane]!.then(() => (isOver ? Promise.reject(new Error('not begun')) : change(item)));
      ends[lane] = result.catch(() => {}); // the caller gets the error with the result
      results.push(result);
      count += 1;
      if (results.length === most) yield await results.shift()!;
    }
    while (results.length > 0) yield await results.shift()!;
  } finally {
    isOver = true;
    await Promise.all(ends);
  }
}
