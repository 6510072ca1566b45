// Lists all formats, and finds the parts to import at a path or an address.
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pushed } from '../intake/put-batch.ts';
import { usageError } from '../model/mobility-error.ts';
import { overland, ownTracks } from './app-files.ts';
import { emissionDump } from './emission/dump.ts';
import { isDatabaseAddress, openLive } from './emission/live.ts';
import { bsonFile, entryFile } from './entries/entry-files.ts';
import { exportFolder } from './entries/export-folder.ts';
import { google } from './google.ts';
import type { FileFormat, FileReading, FolderFormat, Part, SourceReadOptions } from './import-format.ts';
import { withEnd, withSpeedCheck } from './recording-checks.ts';
import type { SourceFile, SourceFolder } from './source.ts';
import { openSource, openSourceFile, spooledFile, textFile, zippedFile } from './source.ts';
import { SourceBroken } from './source-error.ts';
import { Spool } from './spool.ts';
import { isTar, tarEntries } from './tar.ts';
import { csv, headerIn } from './tracks/csv-tracks.ts';
import { timeForms } from './tracks/fields.ts';
import { geojson } from './tracks/geojson-tracks.ts';
import { geolife } from './tracks/geolife.ts';
import { kml } from './tracks/kml.ts';
import { gpx, tcx } from './tracks/xml-points.ts';
import { isZip, type ZipPlace, zipEntries } from './zip.ts';

/** If two formats match, the first counts. */
const folderFormats: readonly FolderFormat[] = [exportFolder, emissionDump];

/** Formats of other programs that do not state the end of a recording: see `withEnd`. */
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

async function recordingFormat(file: SourceFile): Promise<FileFormat | undefined> {
  for (const format of recordings) if (await format.recognises(file, {})) return format;
  return undefined;
}

const fileFormats: readonly FileFormat[] = [entryFile, bsonFile, ...recordings];

export const formatNames: readonly string[] = [...folderFormats, ...fileFormats].map(({ name }) => name);

export type FoundParts = { parts: Part[]; skipped: { path: string; found: string }[] };

/**
 * Finds parts at `sources`: paths or addresses. `format`: reads every file in this format. `signal`
 * ends the search, which then throws or returns a part that reports a broken archive.
 * `mostSpooled`: bytes of archives that may be unpacked to the temporary folder. Throws
 * `MOBILITY_USAGE` if a source does not exist, or if the only source has nothing to import.
 */
export async function findParts(
  sources: readonly string[],
  format?: string,
  reading: FileReading = {},
  { signal, mostSpooled = Infinity }: { signal?: AbortSignal; mostSpooled?: number } = {},
): Promise<FoundParts> {
  const found: FoundParts = { parts: [], skipped: [] };
  for (const source of sources) {
    if (isDatabaseAddress(source)) {
      found.parts.push(await openLive(source));
      continue;
    }
    const before = found.parts.length;
    const onBytes = (): void => signal?.throwIfAborted();
    await searchPath(source, { format, reading, found, onBytes, folders: new Set(), spool: new Spool(mostSpooled) });
    checkOnePerson(found.parts.slice(before));
    if (found.parts.length > before) continue;
    const text =
      `expected a file or folder in a known format (${formatNames.join(', ')}), found ${await foundAt(source, found, reading)}; ` +
      'see docs/import.md, or name the format with --format';
    if (sources.length === 1) throw usageError(`${source}: ${text}`);
    found.parts.push(brokenPart(source, new SourceBroken(text, 'format'))); // the other sources are still read
  }
  return found;
}

/** GeoLife has one folder per person, and its files name no person. */
function checkOnePerson(parts: readonly Part[]): void {
  const trajectories = parts.filter(({ format }) => format === geolife.name);
  const folders = new Set(trajectories.map(({ name }) => name.replace(/([\\/]Trajectory)?[\\/][^\\/]*$/i, '')));
  const [first, second] = folders;
  if (second === undefined) return;
  const remedy = `import ${first}, ${second} and so on one by one, each with its own --user`;
  throw usageError(`expected trajectories of one person, found ${folders.size} people: ${remedy}`);
}

interface Search {
  format: string | undefined;
  reading: FileReading;
  found: FoundParts;
  onBytes: () => void;
  folders: Set<string>; // folders that were searched, because links may form a cycle
  spool: Spool;
}

async function searchPath(path: string, search: Search): Promise<void> {
  const { format, found, folders } = search;
  const source = await openSource(path);
  if ('size' in source) {
    if (isZip(source.head)) await searchZip(source.path, path, search);
    else if (isTar(source.head)) await searchTar(source, search);
    else await addFile(source, () => openSourceFile(path), search);
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
  for (const name of source.names) if (!name.startsWith('.')) await searchPath(join(path, name), search);
}

const isHidden = (name: string): boolean => /(^|\/)(\.|__MACOSX\/)/.test(name);
const isOther = (name: string): boolean => /\.(jpe?g|png|gif|heic|webp|mp[34]|mov|avi|html|pdf)$/i.test(name);

const isArchive = ({ head, name }: SourceFile): boolean => isZip(head) && /\.(zip|kmz)$/i.test(name);

/** Searches archives within the archive too, but not a third level. */
async function searchZip(path: string, archive: ZipPlace | Promise<ZipPlace>, search: Search): Promise<void> {
  try {
    const place = await archive;
    const { files, rejected } = await zipEntries(place);
    for (const reason of rejected) search.found.parts.push(brokenPart(path, new SourceBroken(reason, 'packing')));
    for (const entry of files) {
      search.onBytes();
      if (isHidden(entry.fileName)) continue;
      const reopen = () => zippedFile(path, entry, place);
      const file = await reopen();
      if (typeof place === 'string' && isArchive(file))
        await searchZip(file.path, search.spool.append(file.bytes(search.onBytes)), search);
      else await addFile(file, reopen, search);
    }
  } catch (error) {
    reportBroken(path, error, search);
  }
}

async function searchTar(archive: SourceFile, search: Search): Promise<void> {
  try {
    for await (const { name, bytes } of tarEntries(archive.bytes(search.onBytes), archive.size)) {
      if (isHidden(name)) continue;
      if (isOther(name)) {
        search.found.skipped.push({ path: `${archive.path}/${name}`, found: 'an image, film or web page' });
        continue;
      }
      const part = await search.spool.append(bytes);
      const reopen = () => spooledFile(`${archive.path}/${name}`, part);
      const file = await reopen();
      if (isArchive(file)) await searchZip(file.path, part, search);
      else await addFile(file, reopen, search);
    }
  } catch (error) {
    reportBroken(archive.path, error, search);
  }
}

/** Adds a part that fails with `error` when it is read, so that other sources are still read. */
function reportBroken(path: string, error: unknown, { found }: Search): void {
  if (!(error instanceof SourceBroken)) throw error;
  found.parts.push(brokenPart(path, error));
}

const brokenPart = (name: string, error: SourceBroken): Part => {
  const read = (): never => {
    throw error;
  };
  return { name, format: 'archive', size: 0, names: 'none', read };
};

async function addFile(file: SourceFile, reopen: () => Promise<SourceFile>, search: Search): Promise<void> {
  const { format, reading, found } = search;
  for (const one of fileFormats) {
    if (format === undefined ? !(await one.recognises(file, reading)) : one.name !== format) continue;
    const { names = 'none' } = one;
    const { path: name, size } = file;
    found.parts.push({
      name,
      format: one.name,
      size,
      names: typeof names === 'function' ? names(file) : names,
      // The file is opened again here: the beginnings of thousands of files would fill the memory.
      read: async function* read(options) {
        const items = one.read(await reopen(), { ...options, ...reading });
        yield* recordings.includes(one) ? withSpeedCheck(withEnd(items)) : items;
      },
    });
    return;
  }
  found.skipped.push({ path: file.path, found: descriptionOf(file, reading) });
}

async function folderPart(folder: SourceFolder, { name: format, names = 'none', files, read }: FolderFormat) {
  let size = 0;
  for (const name of files(folder)) size += (await openSourceFile(join(folder.path, name))).size;
  return { name: folder.path, format, size, names, read: (options: SourceReadOptions) => read(folder, options) };
}

async function foundAt(path: string, { skipped }: FoundParts, reading: FileReading): Promise<string> {
  const source = await openSource(path);
  const isFile = 'size' in source;
  if (isFile && !isTar(source.head) && !isZip(source.head)) return descriptionOf(source, reading);
  if (!isFile && source.names.length === 0) return 'an empty folder';
  const [first] = skipped.filter((one) => one.path.startsWith(path));
  const other = first === undefined ? '' : `, but ${first.found}`;
  return `${isFile ? 'an archive' : 'a folder'} without a file in a known format${other}`;
}

function descriptionOf({ head, size }: SourceFile, reading: FileReading): string {
  if (size === 0) return 'an empty file';
  if (isZip(head)) return 'an archive in an archive (unpack it first)';
  if (head.length > 4 && head.readUInt32LE(0) === 0x8199e26d)
    return 'an archive of mongodump (load it with mongorestore and import the database, or dump with --out FOLDER)';
  if (head.toString('latin1', 8, 12) === '.FIT')
    return 'a FIT file (convert it: gpsbabel -i garmin_fit -f ride.fit -o gpx -F ride.gpx)';
  const text = head.toString('utf8');
  const naming = 'name them: --columns time=…,lat=…,lon=…';
  if (/"Feature/.test(text)) return `GeoJSON without a point or line that has a time (${naming})`;
  if (headerIn(head, reading) !== null)
    return `a table without a row whose time and coordinates can be read (${timeForms})`;
  const names = [...new Set([...text.slice(0, 2000).matchAll(/"([^"]{1,40})"\s*:/g)].map(([, name]) => name))];
  if (/^\s*[[{]/.test(text) && names.length > 0)
    return `JSON with the names ${names.slice(0, 12).join(', ')}, in which time, latitude or longitude is missing (${naming})`;
  if (/^[^\s[{<][^\n]*[,;\t|][^\n]*[,;\t|]/.test(text))
    return `a table whose columns for time, latitude and longitude are not known (${naming})`;
  return 'something else';
}

type UploadPart = { entries: Pushed[]; unread: number };

const partEntries = 5000;

/** Finds the boundary of a form (`multipart/form-data`), and the content of its first file. */
const filePart = /^--([^\r\n]+).*?filename=.*?\r\n\r\n(.*?)\r\n--\1/s;

/**
 * Reads a file that an app such as GPSLogger sent by HTTP, as the body or in a form. null: the text
 * is no recording in a known format. The app may send the file while it still records, so the end
 * of the file is not the end of a trip. A truncated file yields the entries before its end.
 */
export async function readUpload(text: string): Promise<AsyncIterable<UploadPart> | null> {
  const file = await textFile(filePart.exec(text)?.[2] ?? text);
  const format = await recordingFormat(file);
  if (format === undefined) return null;
  return (async function* () {
    let part: UploadPart = { entries: [], unread: 0 };
    try {
      for await (const found of format.read(file, { onBytes: () => {} })) {
        if ('entry' in found) part.entries.push(found.entry);
        if ('unread' in found) part.unread += 1;
        if (part.entries.length < partEntries) continue;
        yield part;
        part = { entries: [], unread: 0 };
      }
    } catch (error) {
      if (!(error instanceof SourceBroken)) throw error;
    }
    yield part;
  })();
}
