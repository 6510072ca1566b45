// TCX (Training Center XML): the trackpoints of activities.
import type { FileFormat, Found, SourceReadOptions } from '../format.ts';
import { rootName, xmlEvents } from '../read/xml.ts';
import type { SourceFile } from '../source.ts';
import { pointFound } from './point.ts';

/** The import format `tcx`. */
export const tcx: FileFormat = {
  name: 'tcx',
  title: 'TCX activities',
  recognises: ({ head }) => rootName(head) === 'TrainingCenterDatabase',
  read: readTcx,
};

/** Elements of a point that are read. */
const fields = ['LatitudeDegrees', 'LongitudeDegrees', 'Time', 'AltitudeMeters', 'Speed'];

async function* readTcx(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  let point: Record<string, string> | null = null;
  let line = 0;
  for await (const event of xmlEvents(file.bytes(onBytes))) {
    if (event.open) {
      if (event.name === 'Trackpoint') {
        point = {};
        line = event.line;
      }
    } else if (point !== null && event.name === 'Trackpoint') {
      const {
        LatitudeDegrees: latitude,
        LongitudeDegrees: longitude,
        Time: time,
        AltitudeMeters: altitude,
        Speed: speed,
      } = point;
      // Indoors and before the first fix a device writes points of the heart alone: they are no places.
      if (latitude === undefined && longitude === undefined) yield { left: 'a trackpoint without a position' };
      else yield pointFound({ latitude, longitude, time, altitude, speed }, { program: 'tcx' }, `line ${line}`);
      point = null;
    } else if (point !== null && event.text !== '' && fields.includes(event.name)) {
      point[event.name] ??= event.text;
    }
  }
}
