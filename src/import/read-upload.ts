// A file that an app sent by HTTP, such as the GPX file of GPSLogger: as a body of its own or as a field of a form.
import type { Pushed } from '../intake/put-batch.ts';
import { recordingFormat } from './import-formats.ts';
import { textFile } from './source.ts';
import { SourceBroken } from './source-error.ts';

/** Entries of a file, some at a time, and how many points have no time or place. */
export interface UploadPart {
  entries: Pushed[];
  unread: number;
}

const partEntries = 5000;

/** A file in a form: its boundary, and the content of the first part with a name of a file. */
const filePart = /^--([^\r\n]+).*?filename=.*?\r\n\r\n(.*?)\r\n--\1/s;

/**
 * The entries of a text; null if it is in no format of recordings. Such a file grows until the app begins another, so
 * that its end is not the end of a ride. A file that breaks off gives what is before.
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
