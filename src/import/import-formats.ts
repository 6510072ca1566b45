// The table of formats, and how a path or an address becomes parts to import.
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { MobilityError } from '../model/mobility-error.ts';
import { overland } from './apps/overland-files.ts';
import { ownTracks } from './apps/owntracks-files.ts';
import { emissionDump } from './emission/dump.ts';
import { isDatabaseAddress, openLive } from './emission/live.ts';
import { bsonFile, entryFile } from './entries/entry-files.ts';
import { exportFolder } from './entries/export-folder.ts';
import { google } from './google.ts';
import type { FileFormat, FileReading, FolderFormat, Part } from './import-format.ts';
import { withEnd } from './recording-end.ts';
import { openSource, openSourceFile, type SourceFile, type SourceFolder, zippedFile } from './source.ts';
import { SourceBroken } from './source-error.ts';
import { csv } from './tracks/csv-tracks.ts';
import { geojson } from './tracks/geojson-tracks.ts';
import { geolife } from './tracks/geolife.ts';
import { kml } from './tracks/kml.ts';
import { gpx, tcx } from './tracks/xml-points.ts';
import { isZip, zipEntries } from './zip.ts';

/** Formats of folders that are one whole; of two that fit, the first. */
const folderFormats: readonly FolderFormat[] = [exportFolder, emissionDump];

/** Formats of other programs, whose files end without saying so. */
const recordings: readonly FileFormat[] = [
  gpx,
  tcx,
  kml,
  google,
  ownTracks,
  overland,
  geolife,
  // Families of formats: the files that no other format recognises.
  geojson,
  csv,
];

/** Formats of files; of two that fit, the first. */
const fileFormats: readonly FileFormat[] = [entryFile, bsonFile, ...recordings];

/** What `--format` takes. */
export const formatNames: readonly string[] = [...folderFormats, ...fileFormats].map(({ name }) => name);

/** What was found at the sources of one import. */
export interface FoundParts {
  parts: Part[];
  /** Files in folders of unknown format, which are skipped. */
  passedOver: string[];
}

/**
 * The parts at each of `sources`, sorted by path within a folder or archive. `format`: take every file as of that
 * format. Throws `MOBILITY_USAGE` for a source that is not there, and if the only one holds nothing to import.
 */
export async function findParts(
  sources: readonly string[],
  format?: string,
  reading: FileReading = {},
): Promise<FoundParts> {
  const found: FoundParts = { parts: [], passedOver: [] };
  for (const source of sources) {
    if (isDatabaseAddress(source)) {
      found.parts.push(await openLive(source));
      continue;
    }
    const before = found.parts.length;
    await lookInto(source, { format, reading, found, folders: new Set() });
    checkOnePerson(found.parts.slice(before));
    if (found.parts.length > before) continue;
    const text =
      `expected a file or folder in a known format (${formatNames.join(', ')}), found ${await foundAt(source)}; ` +
      'see docs/import.md, or name the format with --format';
    if (sources.length === 1) throw new MobilityError('MOBILITY_USAGE', `${source}: ${text}`);
    found.parts.push(brokenPart(source, new SourceBroken(text))); // the other sources are read
  }
  return found;
}

/** The data set of GeoLife has a folder for each person, and nothing in its files says whose they are. */
function checkOnePerson(parts: readonly Part[]): void {
  const folders = new Set(
    parts
      .filter(({ format }) => format === geolife.name)
      .map(({ name }) => name.replace(/([\\/]Trajectory)?[\\/][^\\/]*$/i, '')),
  );
  const [first, second] = folders;
  if (second === undefined) return;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected trajectories of one person, found ${folders.size}: import ${first}, ${second} and so on one by one, ` +
      'each with its own --user',
  );
}

interface Look {
  format: string | undefined;
  reading: FileReading;
  found: FoundParts;
  /** Folders looked into: links may lead in a circle. */
  folders: Set<string>;
}

async function lookInto(path: string, look: Look): Promise<void> {
  const { format, found, folders } = look;
  const source = await openSource(path);
  if ('size' in source) {
    if (!isZip(source.head)) return lookAt(source, () => openSourceFile(path), look);
    const { files, rejected } = await zipEntries(path).catch((error: unknown) => {
      if (!(error instanceof SourceBroken)) throw error;
      return { files: [], rejected: [error.message] }; // the other sources are read
    });
    for (const reason of rejected) found.parts.push(brokenPart(path, new SourceBroken(reason)));
    for (const entry of files) {
      if (/(^|\/)(\.|__MACOSX\/)/.test(entry.fileName)) continue;
      const again = () => zippedFile(path, entry);
      await lookAt(await again(), again, look);
    }
    return;
  }
  const real = await realpath(path);
  if (folders.has(real)) return;
  folders.add(real);
  const known = folderFormats.find((one) =>
    format === undefined ? one.recognises(source) : one.name === format && one.files(source).length > 0,
  );
  if (known !== undefined) {
    found.parts.push(await folderPart(source, known));
    return;
  }
  for (const name of source.names) if (!name.startsWith('.')) await lookInto(join(path, name), look);
}

const brokenPart = (name: string, error: SourceBroken): Part => ({
  name,
  format: 'zip',
  size: 0,
  names: 'none',
  read: () => {
    throw error;
  },
});

async function lookAt(file: SourceFile, again: () => Promise<SourceFile>, look: Look): Promise<void> {
  const { format, reading, found } = look;
  for (const one of fileFormats) {
    if (format === undefined ? !(await one.recognises(file, reading)) : one.name !== format) continue;
    const { names = 'none' } = one;
    const { path: name, size } = file;
    found.parts.push({
      name,
      format: one.name,
      size,
      names: typeof names === 'function' ? names(file) : names,
      // Opens the file again: the bytes read to recognise thousands of files are not kept until the last file is read.
      read: async function* read(options) {
        const things = one.read(await again(), { ...options, ...reading });
        yield* recordings.includes(one) ? withEnd(things) : things;
      },
    });
    return;
  }
  found.passedOver.push(file.path);
}

async function folderPart(folder: SourceFolder, format: FolderFormat): Promise<Part> {
  let size = 0;
  for (const name of format.files(folder)) size += (await openSourceFile(join(folder.path, name))).size;
  return {
    name: folder.path,
    format: format.name,
    size,
    names: format.names ?? 'none',
    read: (options) => format.read(folder, options),
  };
}

/** What something in no known format looks like, and what to do with it. */
async function foundAt(path: string): Promise<string> {
  const source = await openSource(path);
  if (!('size' in source)) return source.names.length === 0 ? 'an empty folder' : 'a folder without any';
  const { head, size } = source;
  if (size === 0) return 'an empty file';
  if (isZip(head)) return 'a ZIP archive without any';
  if (head.length > 4 && head.readUInt32LE(0) === 0x8199e26d)
    return 'an archive of mongodump (load it with mongorestore and import the database, or dump with --out FOLDER)';
  if (head.toString('latin1', 8, 12) === '.FIT') return 'a FIT file (convert it to GPX first)';
  const text = head.toString('utf8');
  if (/"Feature/.test(text)) return 'GeoJSON without a point or line that has a time (name it with --columns time=…)';
  if (/^[^\s[{<][^\n]*[,;\t|][^\n]*[,;\t|]/.test(text))
    return 'a table whose columns for time, latitude and longitude are not known (name them: --columns time=…,lat=…,lon=…)';
  return 'something else';
}
