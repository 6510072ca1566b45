// Reads KML: tracks with a time for each point (`gx:Track`), and placemarks with times.
import type { Found, SourceReadOptions } from '../import-format.ts';
import { xmlEvents, xmlFormat } from '../read/xml.ts';
import type { SourceFile } from '../source.ts';
import { locate } from './fields.ts';

export const kml = xmlFormat('kml', 'kml', readKml);

const maxTimes = 500_000; // times of one track, held in memory, because a file may list all times before all positions

interface Placemark {
  begin?: string;
  end?: string;
  /** The first and the last position in all points and lines, as `longitude,latitude,altitude`. */
  first?: string;
  last?: string;
  line: number;
}

async function* readKml(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  let track: { times: string[]; next: number } | null = null;
  let placemark: Placemark | null = null;
  for await (const event of xmlEvents(file.bytes(onBytes), 'coordinates')) {
    if (event.open) {
      if (event.name === 'Track') track = { times: [], next: 0 };
      if (event.name === 'Placemark') placemark = { line: event.line };
      continue;
    }
    const { name, text, line } = event;
    if (track !== null && name === 'when') {
      if (track.times.length < maxTimes) track.times.push(text);
    } else if (track !== null && name === 'coord') {
      const time = track.times[track.next++];
      if (text !== '') yield placeFound(text.split(/\s+/), time, line);
    } else if (name === 'Track') {
      track = null;
    } else if (placemark !== null) {
      if (name === 'begin' || name === 'when') placemark.begin ??= text;
      if (name === 'end') placemark.end ??= text;
      if (name === 'coordinates' && text !== '') {
        const places = text.split(/\s+/);
        placemark.first ??= places[0]!;
        placemark.last = places.at(-1)!;
      }
      if (name !== 'Placemark') continue;
      yield* placesOf(placemark);
      placemark = null;
    }
  }
}

/** Yields only the two ends of a line: KML has no times for the points between. */
function* placesOf({ begin, end, first, last, line }: Placemark): Generator<Found> {
  if (first === undefined || last === undefined) return;
  if (begin === undefined) {
    yield { unread: `expected a time or a span of time for the placemark at line ${line}, found none` };
    return;
  }
  yield placeFound(first.split(','), begin, line);
  if (end !== undefined && end !== begin) yield placeFound(last.split(','), end, line);
}

function placeFound([longitude, latitude, altitude]: readonly string[], time: string | undefined, line: number): Found {
  const position = { longitude, latitude, altitude, time };
  return locate({}, {}, { origin: { program: 'kml' }, where: `line ${line}`, zone: 'UTC' }, position);
}
