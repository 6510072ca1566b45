// Reads a file that an app sent by HTTP, such as the GPX of GPSLogger: the whole body, or a field of a form.
import type { Pushed } from '../intake/put-batch.ts';
import { recordingFormat } from './import-formats.ts';
import { textFile } from './source.ts';
import { SourceBroken } from './source-error.ts';

/** Some entries of a file. `unread`: the number of points that have no time or no coordinates. */
export type UploadPart = { entries: Pushed[]; unread: number };

const partEntries = 5000;

/** Matches the body of a form (`multipart/form-data`). Groups: the boundary, the content of the first file. */
const filePart = /^--([^\r\n]+).*?filename=.*?\r\n\r\n(.*?)\r\n--\1/s;

/**
 * Reads the entries of a text; null if it is not a recording in a known format. The app may send the file while it
 * still records, so the end of the file is not the end of a trip. If the file is truncated, the entries before the
 * missing part are read.
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
