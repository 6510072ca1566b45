// Reads recorded tracks from GPX and TCX. Skips routes and waypoints, since they are plans.
import type { Origin } from '../../model/entry.ts';
import type { Found, SourceReadOptions } from '../import-format.ts';
import type { OnBytes } from '../read/bytes.ts';
import { xmlEvents, xmlFormat } from '../read/xml.ts';
import type { SourceFile } from '../source.ts';
import { fieldsIn, locate } from './fields.ts';

export const gpx = xmlFormat('gpx', 'gpx', readGpx);
export const tcx = xmlFormat('tcx', 'TrainingCenterDatabase', readTcx);

async function* readGpx(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  const counts: Record<string, number> = { trkpt: 0, wpt: 0, rtept: 0 };
  for await (const { element, point, where, creator } of pointsIn(file, onBytes, Object.keys(counts))) {
    counts[element]! += 1;
    if (element !== 'trkpt') continue;
    const hdop = Number(point.hdop); // 0 to about 20 without a unit, so it is not an accuracy in metres
    const reported = Number.isFinite(hdop) ? { hdop } : {};
    yield locate(point, fieldsIn(Object.keys(point)), { origin: originOf(creator), where, zone: 'UTC', reported });
  }
  const { trkpt, wpt, rtept } = counts;
  if (trkpt) return;
  const route = rtept ? `the points of a route only (${rtept}): a plan` : 'none';
  const found = wpt ? `waypoints only (${wpt}): places that were saved` : route;
  yield { warning: `expected points of a track, found ${found}`, kind: 'empty' };
}

async function* readTcx(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { point, where } of pointsIn(file, onBytes, ['Trackpoint'])) {
    const fields = fieldsIn(Object.keys(point));
    // Indoors and before the first position, a device writes trackpoints with the heart rate only.
    if (fields.lat === undefined && fields.lon === undefined) yield { skipped: 'a trackpoint without a position' };
    else yield locate(point, fields, { origin: { program: 'tcx' }, where, zone: 'UTC' });
  }
}

/** Yields these elements. `point`: their attributes, and the texts of inner elements such as `ele`. */
async function* pointsIn(file: SourceFile, onBytes: OnBytes, elements: readonly string[]) {
  let point: Record<string, string> | null = null;
  let creator: string | undefined;
  let where = '';
  const isRead = new Map<string, boolean>([['hdop', true]]);
  for await (const { name, line, ...event } of xmlEvents(file.bytes(onBytes))) {
    if (event.open) {
      if (name === 'gpx') creator = event.attributes.creator;
      if (!elements.includes(name)) continue;
      point = { ...event.attributes };
      where = `line ${line}`;
    } else if (point !== null && elements.includes(name)) {
      yield { element: name, point, where, creator };
      point = null;
    } else if (point !== null && event.text !== '') {
      if (!isRead.has(name)) isRead.set(name, Object.keys(fieldsIn([name])).length > 0);
      if (isRead.get(name)) point[name] ??= event.text;
    }
  }
}

/** Reads texts such as `OsmAnd 4.6.10` or `Garmin Connect`. */
function originOf(creator = ''): Origin {
  const [, name = '', version] = /^(.*?)(?:[\s~/-]+v?(\d[\w.]*))?$/s.exec(creator.trim().slice(0, 80)) ?? [];
  const program = name.trim().toLowerCase() || 'gpx';
  return version === undefined ? { program } : { program, version };
}
