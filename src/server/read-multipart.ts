// Reads a form with a file, as browsers send it (RFC 7578).
//
//   --b CRLF Content-Disposition: form-data; name="csrf" CRLF CRLF 12ab CRLF
//   --b CRLF Content-Disposition: form-data; name="file"; filename="a.gpx" CRLF CRLF <gpx… CRLF --b--
//   result: form { csrf: '12ab' }, file a.gpx
import type { Upload } from '../web/web.ts';

const mostField = 16 * 1024; // bytes of a field that is not a file
const mostParts = 20; // a form of a page has three; a body of 64 MiB can have millions

/** Ignores fields and parts beyond the limits. If a name occurs twice, the first value counts. */
export function readMultipart(body: Buffer, boundary: string): Upload {
  const form = Object.create(null) as Record<string, string>;
  let file: Upload['file'] = null;
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  let start = body.indexOf(delimiter.subarray(2)) + delimiter.length - 2;
  for (let part = 0; part < mostParts; part += 1) {
    const end = body.indexOf(delimiter, start);
    if (end === -1) break;
    const headEnd = body.indexOf('\r\n\r\n', start);
    if (headEnd === -1 || headEnd > end) break;
    const head = body.toString('utf8', start, headEnd);
    const [, name = ''] = /[;\s]name="([^"]*)"/i.exec(head) ?? [];
    const [, fileName] = /[;\s]filename="([^"]*)"/i.exec(head) ?? [];
    const bytes = body.subarray(headEnd + 4, end);
    if (fileName === undefined && bytes.length <= mostField) form[name] ??= bytes.toString('utf8');
    // Browsers send an empty name and no content if no file was chosen.
    if (fileName !== undefined && (fileName !== '' || bytes.length > 0)) file ??= { name: fileName, bytes };
    start = end + delimiter.length;
  }
  return { form, file };
}
