// A base map: one file of raster tiles in the format PMTiles, version 3
// (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md). Reads no more than a tile asks for.
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { isJsonObject, type JsonValue } from '../model/json.ts';
import { errorText, MobilityError } from '../model/mobility-error.ts';

/** The tiles of a file, in web mercator: `x` from west to east and `y` from north to south, 2^z of each. */
export interface Tiles {
  /** Media type of every tile. */
  type: string;
  minZoom: number;
  maxZoom: number;
  /** Whose map it is, plain text; empty: the file does not say. */
  attribution: string;
  /** The image of a tile; null: the file has none there. */
  tile(z: number, x: number, y: number): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

const types: Record<number, string> = { 2: 'image/png', 3: 'image/jpeg', 4: 'image/webp' };
const [headerLength, plain, zipped] = [127, 1, 2];
/** Bytes, as stored and unpacked, of a directory or the metadata, and of a tile; directories on the way to a tile. */
const most = { part: 1 << 20, tile: 4 << 20, depth: 3, kept: 8 };

/** Entries of a directory by ascending tile id. `run` 0: a directory that begins with this id. */
interface Directory {
  ids: Float64Array;
  runs: Float64Array;
  lengths: Float64Array;
  offsets: Float64Array;
}

/** A part of the file. */
interface Section {
  offset: number;
  length: number;
}

/** Opens a file of tiles. Throws `MOBILITY_CONFIG` if it is none, or has no raster tiles. */
export async function openTiles(path: string): Promise<Tiles> {
  try {
    const file = await open(path, 'r');
    return await readTiles(file).catch(async (error) => {
      await file.close();
      throw error;
    });
  } catch (error) {
    const expected = 'expected MOBILITY_TILES to be a PMTiles file (version 3) of PNG, JPEG or WebP tiles';
    throw new MobilityError('MOBILITY_CONFIG', `${expected}: ${path}: ${errorText(error)}`, { cause: error });
  }
}

async function readTiles(file: FileHandle): Promise<Tiles> {
  const { size } = await file.stat();
  const head = await bytesOf(file, { offset: 0, length: headerLength });
  if (head.toString('latin1', 0, 7) !== 'PMTiles' || head[7] !== 3) throw new Error('it does not begin as one');
  const section = (at: number): Section => {
    const [offset, length] = [Number(head.readBigUInt64LE(at)), Number(head.readBigUInt64LE(at + 8))];
    if (offset + length <= size) return { offset, length };
    throw new Error(`it has ${size} bytes, and says that it has ${offset + length}`);
  };
  const [root, metadata, leaves, tiles] = [8, 24, 40, 56].map(section) as [Section, Section, Section, Section];
  const [packing, tilePacking, kind, minZoom, maxZoom] = [...head.subarray(97, 102)] as number[];
  const type = types[kind!];
  if (type === undefined) throw new Error('its tiles are no raster images');
  if (![plain, zipped].includes(packing!) || ![plain, zipped].includes(tilePacking!))
    throw new Error('it is packed by another way than gzip');
  if (maxZoom! > 26) throw new Error(`zoom ${maxZoom} is more than 26`);
  const part = async (where: Section): Promise<Buffer> => unpacked(await bytesOf(file, where), packing!, most.part);
  const first = directoryIn(await part(root));
  const kept = new Map<number, Promise<Directory>>(); // leaves that were used last
  const leafAt = (where: Section): Promise<Directory> => {
    const found = kept.get(where.offset) ?? part(where).then(directoryIn);
    kept.delete(where.offset);
    kept.set(where.offset, found);
    if (kept.size > most.kept) kept.delete(kept.keys().next().value!);
    return found;
  };
  return {
    ...{ type, minZoom: minZoom!, maxZoom: maxZoom!, attribution: attributionIn(await part(metadata)) },
    close: () => file.close(),
    async tile(z, x, y) {
      if (!(z >= minZoom! && z <= maxZoom! && x >= 0 && y >= 0 && x < 2 ** z && y < 2 ** z)) return null;
      const id = tileId(z, x, y);
      let directory = first;
      for (let depth = 0; depth <= most.depth; depth += 1) {
        const at = lastUpTo(directory.ids, id);
        if (at < 0) return null;
        const [run, length, offset] = [directory.runs[at]!, directory.lengths[at]!, directory.offsets[at]!];
        const within = run === 0 ? leaves : tiles;
        if (offset + length > within.length) return null;
        const where = { offset: within.offset + offset, length };
        if (run === 0) directory = await leafAt(where);
        else if (id - directory.ids[at]! >= run || length > most.tile) return null;
        else return unpacked(await bytesOf(file, where), tilePacking!, most.tile);
      }
      return null;
    },
  };
}

async function bytesOf(file: FileHandle, { offset, length }: Section): Promise<Buffer> {
  if (length > most.tile) throw new Error(`a part of ${length} bytes is too large`);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
  if (bytesRead < length) throw new Error('it ends too early');
  return buffer;
}

const unzip = promisify(gunzip);

const unpacked = async (bytes: Buffer, packing: number, maxOutputLength: number): Promise<Buffer> =>
  packing === zipped && bytes.length > 0 ? unzip(bytes, { maxOutputLength }) : bytes;

function directoryIn(bytes: Buffer): Directory {
  let at = 0;
  const next = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || factor > 2 ** 49) throw new Error('a directory is damaged');
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  const count = next();
  if (count > bytes.length) throw new Error('a directory is damaged');
  const list = (): Float64Array => Float64Array.from({ length: count }, next);
  const [ids, runs, lengths, offsets] = [list(), list(), list(), list()] as const;
  for (let i = 1; i < count; i += 1) ids[i]! += ids[i - 1]!;
  // 0: right behind the entry before it.
  for (let i = 0; i < count; i += 1)
    offsets[i] = offsets[i] === 0 && i > 0 ? offsets[i - 1]! + lengths[i - 1]! : offsets[i]! - 1;
  return { ids, runs, lengths, offsets };
}

/** Index of the last id that is not above; -1: all are. */
function lastUpTo(ids: Float64Array, id: number): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! <= id) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The number of a tile: the tiles of smaller zooms, then its place on the Hilbert curve. */
export function tileId(z: number, x: number, y: number): number {
  let id = (4 ** z - 1) / 3;
  for (let side = 2 ** z / 2; side >= 1; side /= 2) {
    const [right, low] = [x >= side, y >= side];
    id += side * side * (right ? (low ? 2 : 3) : low ? 1 : 0);
    if (right) x -= side;
    if (low) y -= side;
    else {
      if (right) [x, y] = [side - 1 - x, side - 1 - y];
      [x, y] = [y, x];
    }
  }
  return id;
}

/** The text of `attribution`, which may be HTML. */
function attributionIn(metadata: Buffer): string {
  const found: JsonValue = metadata.length === 0 ? {} : JSON.parse(metadata.toString('utf8'));
  const text = isJsonObject(found) && typeof found.attribution === 'string' ? found.attribution : '';
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&copy;', '©')
    .replaceAll('&amp;', '&')
    .slice(0, 300);
}
