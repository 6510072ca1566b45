// GPX 1.1: one track per section, and a time for each point.
import type { Row, TableWriter, Writer } from '../columns.ts';
import { instantText } from '../instants.ts';

const head = `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="mobility" xmlns="http://www.topografix.com/GPX/1/1">
`;

export function gpxWriter(writer: Writer): TableWriter {
  let section: unknown = null;
  const close = (): string => (section === null ? '' : '    </trkseg>\n  </trk>\n');
  return {
    begin: () => writer.write(head),
    async rows(rows) {
      let text = '';
      for (const row of rows) {
        if (row.section_id !== section) {
          text += close() + open(row);
          section = row.section_id;
        }
        text += point(row);
      }
      await writer.write(text);
    },
    end: () => writer.write(`${close()}</gpx>\n`),
  };
}

function open(row: Row): string {
  const name = xmlText(`${row.user_name ?? row.user_id} ${row.section_id}`);
  return `  <trk>\n    <name>${name}</name>\n    <type>${xmlText(String(row.mode))}</type>\n    <trkseg>\n`;
}

function point({ latitude, longitude, altitude_m, tracked_at }: Row): string {
  const height = typeof altitude_m === 'number' ? `<ele>${altitude_m}</ele>` : '';
  const time = typeof tracked_at === 'number' ? instantText(tracked_at) : null;
  return `      <trkpt lat="${latitude}" lon="${longitude}">${height}${time ? `<time>${time}</time>` : ''}</trkpt>\n`;
}

/** Characters that XML 1.0 does not allow become U+FFFD. */
function xmlText(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);
}
