// Lists all formats, and finds the parts to import at a path or an address.
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
import { keptFile, openSource, openSourceFile, type SourceFile, type SourceFolder, zippedFile } from './source.ts';
import { SourceBroken } from './source-error.ts';
import { Spool } from './spool.ts';
import { withSpeedCheck } from './stated-speeds.ts';
import { isTar, tarEntries } from './tar.ts';
import { csv } from './tracks/csv-tracks.ts';
import { geojson } from './tracks/geojson-tracks.ts';
import { geolife } from './tracks/geolife.ts';
import { kml } from './tracks/kml.ts';
import { gpx, tcx } from './tracks/xml-points.ts';
import { isZip, type ZipPlace, zipEntries } from './zip.ts';

/** Formats of folders. If two match, the first counts. */
const folderFormats: readonly FolderFormat[] = [exportFolder, emissionDump];

/** Formats of other programs. Their files do not say that the recording ended. */
const recordings: readonly FileFormat[] = [
  gpx,
  tcx,
  kml,
  google,
  ownTracks,
  overland,
  geolife,
  // General formats, for files that no other format recognises.
  geojson,
  csv,
];

/** The format of a recording; undefined: the file is no recording. */
export async function recordingFormat(file: SourceFile): Promise<FileFormat | undefined> {
  for (const format of recordings) if (await format.recognises(file, {})) return format;
  return undefined;
}

/** Formats of files. If two match, the first counts. */
const fileFormats: readonly FileFormat[] = [entryFile, bsonFile, ...recordings];

/** The values of `--format`. */
export const formatNames: readonly string[] = [...folderFormats, ...fileFormats].map(({ name }) => name);

/** What the sources of an import contain. */
export interface FoundParts {
  parts: Part[];
  /** Files in folders and archives that are skipped, with a description. */
  skipped: { path: string; found: string }[];
}

/**
 * The parts at each of `sources`, sorted by path within a folder or archive. `format`: reads every file in this format.
 * Throws `MOBILITY_USAGE` if a source does not exist, or if the only source contains nothing to import.
 */
export async function findParts(
  sources: readonly string[],
  format?: string,
  reading: FileReading = {},
): Promise<FoundParts> {
  const found: FoundParts = { parts: [], skipped: [] };
  for (const source of sources) {
    if (isDatabaseAddress(source)) {
      found.parts.push(await openLive(source));
      continue;
    }
    const before = found.parts.length;
    await lookInto(source, { format, reading, found, folders: new Set(), spool: new Spool() });
    checkOnePerson(found.parts.slice(before));
    if (found.parts.length > before) continue;
    const text =
      `expected a file or folder in a known format (${formatNames.join(', ')}), found ${await foundAt(source)}; ` +
      'see docs/import.md, or name the format with --format';
    if (sources.length === 1) throw new MobilityError('MOBILITY_USAGE', `${source}: ${text}`);
    found.parts.push(brokenPart(source, new SourceBroken(text))); // the other sources are still read
  }
  return found;
}

/** Refuses several people: the GeoLife data set has one folder per person, and its files do not name the person. */
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
  /** Folders that were searched, because links may form a cycle. */
  folders: Set<string>;
  spool: Spool;
}

async function lookInto(path: string, look: Look): Promise<void> {
  const { format, found, folders } = look;
  const source = await openSource(path);
  if ('size' in source) {
    if (isZip(source.head)) await lookIntoZip(source.path, path, look);
    else if (isTar(source.head)) await lookIntoTar(source, look);
    else await lookAt(source, () => openSourceFile(path), look);
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

/** Hidden files, and the copies that macOS adds to archives. */
const isHidden = (name: string): boolean => /(^|\/)(\.|__MACOSX\/)/.test(name);
/** Images, films and web pages, of which the export of an account has many. They are not unpacked. */
const isOther = (name: string): boolean => /\.(jpe?g|png|gif|heic|webp|mp[34]|mov|avi|html|pdf)$/i.test(name);

/** Searches the files of an archive. An archive in it is searched too, but none inside that. */
async function lookIntoZip(path: string, archive: ZipPlace | Promise<ZipPlace>, look: Look): Promise<void> {
  try {
    const place = await archive;
    const { files, rejected } = await zipEntries(place);
    for (const reason of rejected) look.found.parts.push(brokenPart(path, new SourceBroken(reason)));
    for (const entry of files) {
      if (isHidden(entry.fileName)) continue;
      const again = () => zippedFile(path, entry, place);
      const file = await again();
      if (typeof place === 'string' && isZip(file.head) && /\.(zip|kmz)$/i.test(file.name))
        await lookIntoZip(file.path, look.spool.keep(file.bytes()), look);
      else await lookAt(file, again, look);
    }
  } catch (error) {
    reportBroken(path, error, look);
  }
}

async function lookIntoTar(archive: SourceFile, look: Look): Promise<void> {
  try {
    for await (const { name, bytes } of tarEntries(archive.bytes(), archive.size)) {
      if (isHidden(name)) continue;
      if (isOther(name)) {
        look.found.skipped.push({ path: `${archive.path}/${name}`, found: 'an image, film or web page' });
        continue;
      }
      const part = await look.spool.keep(bytes);
      const again = () => keptFile(`${archive.path}/${name}`, part);
      const file = await again();
      if (isZip(file.head) && /\.(zip|kmz)$/i.test(file.name)) await lookIntoZip(file.path, part, look);
      else await lookAt(file, again, look);
    }
  } catch (error) {
    reportBroken(archive.path, error, look);
  }
}

/** Lets the import report a broken archive. The other sources are still read. */
function reportBroken(path: string, error: unknown, { found }: Look): void {
  if (!(error instanceof SourceBroken)) throw error;
  found.parts.push(brokenPart(path, error));
}

const brokenPart = (name: string, error: SourceBroken): Part => ({
  name,
  format: 'archive',
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
      // The file is opened again, so that the bytes read to recognise thousands of files do not stay in memory.
      read: async function* read(options) {
        const things = one.read(await again(), { ...options, ...reading });
        yield* recordings.includes(one) ? withSpeedCheck(withEnd(things)) : things;
      },
    });
    return;
  }
  found.skipped.push({ path: file.path, found: descriptionOf(file) });
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

async function foundAt(path: string): Promise<string> {
  const source = await openSource(path);
  if (!('size' in source)) return source.names.length === 0 ? 'an empty folder' : 'a folder without any';
  if (isTar(source.head) || isZip(source.head)) return 'an archive without any';
  return descriptionOf(source);
}

/** Describes a file in an unknown format, and what to do with it. */
function descriptionOf({ head, size }: SourceFile): string {
  if (size === 0) return 'an empty file';
  if (isZip(head)) return 'an archive in an archive (unpack it first)';
  if (head.length > 4 && head.readUInt32LE(0) === 0x8199e26d)
    return 'an archive of mongodump (load it with mongorestore and import the database, or dump with --out FOLDER)';
  if (head.toString('latin1', 8, 12) === '.FIT')
    return 'a FIT file (convert it: gpsbabel -i garmin_fit -f ride.fit -o gpx -F ride.gpx)';
  const text = head.toString('utf8');
  const naming = 'name them: --columns time=…,lat=…,lon=…';
  if (/"Feature/.test(text)) return `GeoJSON without a point or line that has a time (${naming})`;
  const names = [...new Set([...text.slice(0, 2000).matchAll(/"([^"]{1,40})"\s*:/g)].map(([, name]) => name))];
  if (/^\s*[[{]/.test(text) && names.length > 0)
    return `JSON with the names ${names.slice(0, 12).join(', ')}, in which time, latitude or longitude is missing (${naming})`;
  if (/^[^\s[{<][^\n]*[,;\t|][^\n]*[,;\t|]/.test(text))
    return `a table whose columns for time, latitude and longitude are not known (${naming})`;
  return 'something else';
}
