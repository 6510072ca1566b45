// GPX and TCX: the points of recorded tracks. Routes and waypoints are plans, not records.
import type { Origin } from '../../model/entry.ts';
import type { FileFormat, Found, SourceReadOptions } from '../import-format.ts';
import { rootName, xmlEvents } from '../read/xml.ts';
import type { SourceFile } from '../source.ts';
import { fieldsIn, fixFound } from './fields.ts';

/** The import format `gpx`, versions 1.0 and 1.1. */
export const gpx: FileFormat = {
  name: 'gpx',
  recognises: ({ head }) => rootName(head) === 'gpx',
  read: readGpx,
};

/** The import format `tcx` (Training Center XML). */
export const tcx: FileFormat = {
  name: 'tcx',
  recognises: ({ head }) => rootName(head) === 'TrainingCenterDatabase',
  read: readTcx,
};

/** Elements of a point that are read: its own, and extensions, which have the same names in all programs. */
const ofGpx = ['ele', 'time', 'accuracy', 'speed', 'course', 'bearing', 'hdop'];
const ofTcx = ['LatitudeDegrees', 'LongitudeDegrees', 'Time', 'AltitudeMeters', 'Speed'];

async function* readGpx(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { point, where, creator } of pointsIn(file, onBytes, 'trkpt', ofGpx)) {
    const hdop = Number(point.hdop); // 0 to some 20, without a unit: no accuracy in metres
    const reported = Number.isFinite(hdop) ? { hdop } : {};
    const fields = fieldsIn(Object.keys(point));
    yield fixFound(point, fields, { origin: originOf(creator), where, zone: 'UTC', reported });
  }
}

async function* readTcx(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { point, where } of pointsIn(file, onBytes, 'Trackpoint', ofTcx)) {
    const fields = fieldsIn(Object.keys(point));
    // Indoors and before the first fix a device writes points of the heart alone: they are no places.
    if (fields.lat === undefined && fields.lon === undefined) yield { left: 'a trackpoint without a position' };
    else yield fixFound(point, fields, { origin: { program: 'tcx' }, where, zone: 'UTC' });
  }
}

/** Each `element` with its attributes and the first text of each of `names` in it, and what the file says wrote it. */
async function* pointsIn(
  file: SourceFile,
  onBytes: (count: number) => void,
  element: string,
  names: readonly string[],
): AsyncGenerator<{ point: Record<string, string>; where: string; creator: string | undefined }> {
  let point: Record<string, string> | null = null;
  let creator: string | undefined;
  let where = '';
  for await (const event of xmlEvents(file.bytes(onBytes))) {
    if (event.open) {
      if (event.name === 'gpx') creator = event.attributes.creator;
      if (event.name !== element) continue;
      point = { ...event.attributes };
      where = `line ${event.line}`;
    } else if (point !== null && event.name === element) {
      yield { point, where, creator };
      point = null;
    } else if (point !== null && event.text !== '' && names.includes(event.name)) {
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
