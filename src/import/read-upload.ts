// Reads a file that an app such as GPSLogger sent by HTTP, as the body or in a form.
import type { Pushed } from '../intake/put-batch.ts';
import { recordingFormat } from './import-formats.ts';
import { textFile } from './source.ts';
import { SourceBroken } from './source-error.ts';

export type UploadPart = { entries: Pushed[]; unread: number };

const partEntries = 5000;

/** Finds the boundary of a form (`multipart/form-data`), and the content of its first file. */
const filePart = /^--([^\r\n]+).*?filename=.*?\r\n\r\n(.*?)\r\n--\1/s;

/**
 * null: the text is no recording in a known format. The app may send the file while it still
 * records, so the end of the file is not the end of a trip. A truncated file yields the entries
 * before its end.
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
