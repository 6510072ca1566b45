// Keeps the rows of each person in a file until all tables are written. An interrupted export
// continues from these files, and several processes can make them.
//
//   OUT/.parts/5d41402abc4b2a76…   one person: length, packed part, length, packed part, …, CRC-32
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { folderIn, isMongoAddress } from '../model/address.ts';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { allOrNone } from '../util/file-access.ts';
import { packageVersion } from '../util/program-version.ts';

export const partsFolder = (out: string): string => join(out, '.parts');

const keptFor = 86_400; // s; older files are made again, so that the rows of people are at most a day apart

/** The name of the file is a hash of everything that the rows depend on, except the data. */
export async function partsPath(store: Store, folder: string, user: UserRecord, choice: object): Promise<string> {
  const { uuid, user_email, study, subgroup, joined_ts } = user;
  const { retained } = await store.pipeline.get(uuid);
  const config = study === undefined ? null : (await store.studies.byName(study))?.config; // has the modes of labels
  const address = isMongoAddress(store.address) ? store.address : resolve(folderIn(store.address));
  const basis = [packageVersion(), process.versions.v8, address, config, retained?.raw_before, retained?.days_before];
  const name = JSON.stringify([...basis, uuid, user_email, study, subgroup, joined_ts, choice]);
  return join(folder, createHash('sha256').update(name).digest('hex').slice(0, 32));
}

export const hasParts = (folder: string): boolean =>
  existsSync(folder) && readdirSync(folder).some((name) => /^[0-9a-f]{32}$/.test(name));

/** True if the file was finished in the last day, and is not damaged. `now`: s since the epoch. */
export async function isFinished(path: string, now: number): Promise<boolean> {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined || now - file.mtimeMs / 1000 >= keptFor) return false;
  return (await packedIn(path).catch(() => null)) !== null;
}

async function packedIn(path: string): Promise<Buffer> {
  const bytes = await readFile(path);
  const packed = bytes.subarray(0, -4);
  // Each person has at least one part. The CRC-32 of nothing is 0, and would not show that all are missing.
  if (packed.length > 0 && crc32(packed) === bytes.readUInt32LE(packed.length)) return packed;
  throw new Error('it is incomplete or damaged');
}

export async function writeParts(path: string, parts: AsyncIterable<object>): Promise<void> {
  await rm(path, { force: true });
  await allOrNone(({ write }) =>
    write(path, async (writer) => {
      let sum = 0;
      for await (const part of parts) {
        const packed = deflateRawSync(serialize(part), { level: 1 });
        const bytes = Buffer.concat([uint32(packed.length), packed]);
        sum = crc32(bytes, sum);
        await writer.write(bytes);
      }
      await writer.write(uint32(sum));
    }),
  ).catch((error) => {
    if (!existsSync(path)) throw error; // else a worker of the interrupted export finished it meanwhile
  });
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Throws `MOBILITY_OUTPUT` if the file is damaged. */
export async function* readParts<Part>(path: string): AsyncGenerator<Part> {
  try {
    const bytes = await packedIn(path);
    for (let at = 0; at < bytes.length; ) {
      const from = at + 4;
      at = from + bytes.readUInt32LE(at);
      yield deserialize(inflateRawSync(bytes.subarray(from, at))) as Part;
    }
  } catch (cause) {
    const text = `cannot read ${path}: ${errorText(cause)}: remove ${dirname(path)} and run the command again`;
    throw new MobilityError('MOBILITY_OUTPUT', text, { cause });
  }
}

const itemsAhead = 8; // items per worker that `mapInOrder` begins before the caller takes the first result

/** Works on `workers` items at a time, also while the caller handles a result. Keeps the order. */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T>,
  workers: number,
  change: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const ends = Array.from({ length: workers }, () => Promise.resolve<unknown>(null));
  const results: Promise<R>[] = [];
  const most = workers === 1 ? 1 : workers * itemsAhead;
  let [count, isOver] = [0, false];
  try {
    for await (const item of items) {
      const worker = count % workers;
      const result = ends[worker]!.then(() => (isOver ? Promise.reject(new Error('not begun')) : change(item)));
      ends[worker] = result.catch(() => {}); // the caller gets the error with the result
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
