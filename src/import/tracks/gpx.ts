// GPX 1.0 and 1.1: the points of recorded tracks. Routes and waypoints are plans, not records.
import type { Origin } from '../../model/entry.ts';
import type { FileFormat, Found, SourceReadOptions } from '../format.ts';
import { rootName, xmlEvents } from '../read/xml.ts';
import type { SourceFile } from '../source.ts';
import { pointFound } from './point.ts';

/** The import format `gpx`. */
export const gpx: FileFormat = {
  name: 'gpx',
  title: 'GPX tracks',
  recognises: ({ head }) => rootName(head) === 'gpx',
  read: readGpx,
};

/** Elements of a point that are read: its own, and those of extensions, which have the same names in all programs. */
const fields = ['ele', 'time', 'accuracy', 'speed', 'course', 'bearing', 'hdop'];

async function* readGpx(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  let origin: Origin = { program: 'gpx' };
  let point: Record<string, string> | null = null;
  let line = 0;
  for await (const event of xmlEvents(file.bytes(onBytes))) {
    if (event.open) {
      if (event.name === 'gpx') origin = originOf(event.attributes.creator);
      if (event.name !== 'trkpt') continue;
      point = { ...event.attributes };
      line = event.line;
    } else if (point !== null && event.name === 'trkpt') {
      const { lat, lon, ele, time, accuracy, speed, course, bearing = course, hdop } = point;
      const reported = hdop !== undefined && Number.isFinite(Number(hdop)) ? { hdop: Number(hdop) } : {};
      const found = { latitude: lat, longitude: lon, time, altitude: ele, accuracy, speed, bearing };
      yield pointFound(found, origin, `line ${line}`, reported);
      point = null;
    } else if (point !== null && event.text !== '' && fields.includes(event.name)) {
      point[event.name] ??= event.text;
    }
  }
}

/** The program that wrote a file, from what it calls itself: `OsmAnd 4.6.10`, `Garmin Connect`. */
function originOf(creator = ''): Origin {
  const [, name = '', version] = /^(.*?)(?:[\s~/-]+v?(\d[\w.]*))?$/s.exec(creator.trim().slice(0, 80)) ?? [];
  const program = name.trim().toLowerCase() || 'gpx';
  return version === undefined ? { program } : { program, version };
}
