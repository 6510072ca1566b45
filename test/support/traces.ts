// Traces of a user in files: texts, texts in compressed data, and pieces of compressed data.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, constants, gunzipSync, inflateRawSync } from 'node:zlib';
import { dictionary, packText } from '../../src/store/chunks/pack.ts';
import type { ColumnValue } from '../../src/store/rows/rows.ts';
import { allTables, userTables } from '../../src/store/rows/tables.ts';
import { connect } from '../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../src/store/sqlite/folder.ts';

/** Bytes of every file below a folder, by name; of a compressed log what it contains. */
function filesIn(folder: string): [name: string, bytes: Buffer][] {
  // Read at one go: SQLite removes the log of a closed connection when that is collected as garbage.
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return files.map(({ parentPath, name }) => {
    const bytes = readFileSync(join(parentPath, name));
    return [name, name.endsWith('.gz') ? gunzipSync(bytes) : bytes];
  });
}

/** Which of `texts` are in the files of a folder. */
export function textsIn(folder: string, texts: readonly string[]): string[] {
  const hits: string[] = [];
  for (const [name, bytes] of filesIn(folder)) {
    for (const text of texts) if (bytes.includes(text)) hits.push(`${text} in ${name}`);
  }
  return hits;
}

const mark = packText('')[0]!; // begins short texts
const window = packText('a'.repeat(10_000))[0]! & 15; // begins long texts

/** Which of `texts` are in compressed data that begins anywhere in the files of a folder. */
export function packedTextsIn(folder: string, texts: readonly string[]): string[] {
  const hits = new Set<string>();
  const { BROTLI_OPERATION_FLUSH, Z_SYNC_FLUSH } = constants;
  const maxOutputLength = 100_000;
  for (const [, bytes] of filesIn(folder)) {
    for (let at = 0; at < bytes.length && hits.size < texts.length; at++) {
      const isShort = bytes[at] === mark;
      if (!isShort && (bytes[at]! & 15) !== window) continue;
      try {
        const content = isShort
          ? inflateRawSync(bytes.subarray(at + 1, at + 600), { dictionary, finishFlush: Z_SYNC_FLUSH, maxOutputLength })
          : brotliDecompressSync(bytes.subarray(at, at + 600), {
              finishFlush: BROTLI_OPERATION_FLUSH,
              maxOutputLength,
            });
        for (const text of texts) if (content.includes(text)) hits.add(text);
      } catch {
        // no compressed data begins here
      }
    }
  }
  return [...hits];
}

const pieceSize = 32; // bytes: two rows rarely have so many in common by chance

/** All runs of 32 bytes in the texts and compressed columns of a user's rows; without a user, of all rows. */
export function piecesOf(folder: string, user?: string): Set<string> {
  const connection = connect(databaseIn(folder));
  const pieces = new Set<string>();
  for (const { name } of user === undefined ? allTables : userTables) {
    const rows = connection.prepare(`SELECT * FROM ${name}`).all<Record<string, ColumnValue>>();
    const wanted = rows.filter((row) => user === undefined || row.user === user);
    for (const value of wanted.flatMap((row) => Object.values(row))) {
      if (value === null || typeof value === 'number') continue;
      for (const piece of runsOf(Buffer.from(value as string))) pieces.add(piece);
    }
  }
  connection.close();
  return pieces;
}

/** How many of `pieces` are in each file of a folder that has some. */
export function piecesIn(folder: string, pieces: ReadonlySet<string>): string[] {
  const hits: string[] = [];
  for (const [name, bytes] of filesIn(folder)) {
    let count = 0;
    for (const piece of runsOf(bytes)) if (pieces.has(piece)) count += 1;
    if (count > 0) hits.push(`${count} in ${name}`);
  }
  return hits;
}

function* runsOf(bytes: Buffer): Generator<string> {
  const text = bytes.toString('latin1');
  for (let at = 0; at + pieceSize <= text.length; at++) yield text.slice(at, at + pieceSize);
}
