// Reads folders of `mongodump` or `mongoexport`: `.bson` or `.json` files, possibly gzipped.
import { join } from 'node:path';
import { BSON } from 'mongodb';
import { isJsonObject } from '../../model/json.ts';
import type { FolderFormat, Found, SourceReadOptions } from '../import-format.ts';
import type { OnBytes } from '../read/bytes.ts';
import { maxElementBytes } from '../read/json-elements.ts';
import { isJsonList, jsonLines, jsonRecords } from '../read/json-records.ts';
import { openSourceFile, type SourceFile, type SourceFolder } from '../source.ts';
import { readUpTo, SourceBroken } from '../source-error.ts';
import type { CollectionName, EmissionDocument, EmissionDocuments } from './database.ts';
import { isCollectionName, readDatabase } from './database.ts';

export const emissionDump: FolderFormat = {
  name: 'emission-dump',
  names: 'people',
  recognises: (folder) => collectionFiles(folder).size > 0,
  files: (folder) => [...collectionFiles(folder).values()],
  read: readFolder,
};

/** If a collection has two files, the BSON file counts. */
function collectionFiles({ names }: SourceFolder): Map<CollectionName, string> {
  const files = new Map<CollectionName, string>();
  for (const name of names) {
    const [, collection = '', ending] = /^(\w+)\.(bson|json)(?:\.gz)?$/.exec(name) ?? [];
    if (isCollectionName(collection) && (ending === 'bson' || !files.has(collection))) files.set(collection, name);
  }
  return files;
}

async function* readFolder(folder: SourceFolder, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  const files = collectionFiles(folder);
  const problems: string[] = [];
  yield* readDatabase((collection) => {
    const name = files.get(collection);
    return name === undefined ? null : documentsOf(join(folder.path, name), onBytes, problems);
  });
  if (problems.length > 0) throw new SourceBroken(problems.join('; '));
}

/** Adds a truncated file to `problems`, so that the other files are still read. */
async function* documentsOf(path: string, onBytes: OnBytes, problems: string[]): EmissionDocuments {
  try {
    const file = await openSourceFile(path);
    yield* file.name.endsWith('.bson') ? bsonDocuments(file, onBytes) : jsonDocuments(file, onBytes);
  } catch (error) {
    if (!(error instanceof SourceBroken)) throw error;
    problems.push(`${path}: ${error.message}`);
  }
}

const maxDocumentBytes = 17 * 1024 * 1024; // MongoDB itself allows 16 MiB

/** Throws `SourceBroken` if the file is truncated or not BSON. */
export async function* bsonDocuments(file: SourceFile, onBytes: OnBytes): EmissionDocuments {
  let rest = Buffer.alloc(0);
  let position = 0; // the byte of the file where `rest` begins
  let skipped = 0; // bytes that are still to be skipped, of a document that is too long
  for await (const chunk of file.bytes(onBytes)) {
    const bytes = Buffer.concat([rest, chunk]);
    let start = Math.min(skipped, bytes.length);
    skipped -= start;
    while (bytes.length - start >= 4) {
      const length = bytes.readInt32LE(start);
      if (length < 5 || length > maxDocumentBytes) throw broken('a BSON document', position + start, 'something else');
      if (length > maxElementBytes) {
        yield `expected documents of at most ${maxElementBytes} bytes, found a longer one at byte ${position + start}`;
        skipped = Math.max(0, start + length - bytes.length);
      } else {
        if (bytes.length - start < length) break;
        yield documentOf(bytes.subarray(start, start + length), position + start);
      }
      start = Math.min(start + length, bytes.length);
    }
    rest = bytes.subarray(start);
    position += start;
  }
  if (rest.length > 0 || skipped > 0) throw broken('a complete document', position, 'the end of the file');
}

function documentOf(bytes: Buffer, at: number): EmissionDocument | string {
  try {
    return BSON.deserialize(bytes, { promoteValues: true, promoteBuffers: false });
  } catch {
    return `expected a BSON document at byte ${at}, found invalid bytes`;
  }
}

const broken = (expected: string, at: number, found: string): SourceBroken =>
  new SourceBroken(`expected ${expected} at byte ${at}, found ${found}; ${readUpTo}`);

async function* jsonDocuments(file: SourceFile, onBytes: OnBytes): EmissionDocuments {
  for await (const record of isJsonList(file) ? jsonRecords(file, onBytes) : jsonLines(file, onBytes)) {
    if ('unread' in record) yield record.unread;
    else if (isJsonObject(record.value)) yield record.value;
    else yield `expected a JSON object at ${record.where}, found another value`;
  }
}
