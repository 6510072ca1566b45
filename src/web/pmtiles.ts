// Reads a base map from a PMTiles file of raster tiles, which may be damaged or hostile.
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Compression, type DecompressFunc, PMTiles, ResolvedValueCache, type Source, TileType } from 'pmtiles';
import { isJsonObject, type JsonValue } from '../model/json.ts';
import { errorText, MobilityError } from '../model/mobility-error.ts';

/** Tiles in Web Mercator: 2^z columns `x` from west to east, 2^z rows `y` from north to south. */
export interface Tiles {
  type: string;
  minZoom: number;
  maxZoom: number;
  attribution: string; // the map's authors in plain text; empty if the file does not name them
  /** Returns null if the file lacks the tile. Throws if the tile's part of the file is damaged. */
  tile(z: number, x: number, y: number): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

const types: Partial<Record<TileType, string>> = {
  [TileType.Png]: 'image/png',
  [TileType.Jpeg]: 'image/jpeg',
  [TileType.Webp]: 'image/webp',
};
const maxBytes = { directory: 1 << 20, part: 4 << 20 };
const maxCached = 10;

/** Throws `MOBILITY_CONFIG` if the file is not a PMTiles file of raster tiles. */
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
  const cache = new ResolvedValueCache(maxCached, undefined, decompressUpTo(maxBytes.directory));
  const archive = new PMTiles(sourceOf(file, size), cache, decompressUpTo(maxBytes.part));
  const header = await archive.getHeader();
  const { specVersion, tileType, tileDataOffset, tileDataLength = 0, minZoom, maxZoom } = header;
  if (specVersion !== 3) throw new Error(`it has version ${specVersion} of the format`);
  const end = tileDataOffset + tileDataLength;
  if (end > size) throw new Error(`it has ${size} bytes instead of ${end}`);
  const type = types[tileType];
  if (type === undefined) throw new Error('its tiles are not raster images');
  checkCompression(header.tileCompression);
  if (maxZoom > 26) throw new Error(`it has zoom level ${maxZoom}, which is above 26`);
  return {
    type,
    minZoom,
    maxZoom,
    attribution: header.jsonMetadataLength === 0 ? '' : attributionIn((await archive.getMetadata()) as JsonValue),
    close: () => file.close(),
    async tile(z, x, y) {
      if (!(z >= minZoom && z <= maxZoom && x >= 0 && y >= 0 && x < 2 ** z && y < 2 ** z)) return null;
      const found = await archive.getZxy(z, x, y);
      return found === undefined ? null : new Uint8Array(found.data);
    },
  };
}

const sourceOf = (file: FileHandle, size: number): Source => ({
  getKey: () => 'tiles',
  async getBytes(offset, wanted) {
    if (wanted > maxBytes.part) throw new Error(`a part has ${wanted} bytes, more than ${maxBytes.part}`);
    // The reader of the header asks for more bytes than a short file has.
    const length = offset === 0 ? Math.min(wanted, size) : wanted;
    const data = new ArrayBuffer(length);
    const { bytesRead } = await file.read(new Uint8Array(data), 0, length, offset);
    if (bytesRead < length) throw new Error('it ends too early');
    return { data };
  },
});

const unzip = promisify(gunzip);

const decompressUpTo =
  (maxOutputLength: number): DecompressFunc =>
  async (bytes, compression) => {
    checkCompression(compression);
    return compression === Compression.None ? bytes : new Uint8Array(await unzip(bytes, { maxOutputLength })).buffer;
  };

function checkCompression(compression: Compression): void {
  if (compression !== Compression.None && compression !== Compression.Gzip)
    throw new Error('its compression is not gzip');
}

function attributionIn(metadata: JsonValue): string {
  const text = isJsonObject(metadata) && typeof metadata.attribution === 'string' ? metadata.attribution : '';
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&copy;', '©')
    .replaceAll('&amp;', '&')
    .slice(0, 300);
}
