// Files in the shapes that other programs write, with made-up places: each is read whole, as what it is.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { FileReading } from '../../src/import/import-format.ts';
import { findParts } from '../../src/import/import-formats.ts';
import { SourceBroken } from '../../src/import/source-error.ts';
import { convert } from '../../src/intake/converters/convert.ts';
import type { Entry } from '../../src/model/entry.ts';

const folder = fileURLToPath(new URL('../fixtures/recordings/', import.meta.url));

/** What an import finds in a file, in lines: its formats, what is in it, and what is not taken. */
async function found(name: string, reading: FileReading = {}): Promise<string[]> {
  const { parts, passedOver } = await findParts([folder + name], undefined, reading);
  const lines = [parts.map(({ format }) => format).join(' ')];
  for (const part of parts) {
    try {
      for await (const one of part.read({ onBytes: () => {} })) {
        if ('entry' in one) lines.push(entryLine(one.entry as Entry));
        else lines.push('unread' in one ? `unread: ${one.unread}` : 'left' in one ? `left: ${one.left}` : 'else');
      }
    } catch (error) {
      if (!(error instanceof SourceBroken)) throw error;
      lines.push(`broken: ${error.message}`);
    }
  }
  return [...lines.filter((line) => line !== ''), ...passedOver.map((path) => `skipped: ${path.slice(folder.length)}`)];
}

/** Seconds after 08:00 UTC, where, and the rest; every entry must be one that the converters take. */
function entryLine(entry: Entry): string {
  const { key, time_zone } = convert(entry).metadata as { key: string; time_zone?: string };
  if (key === 'statemachine/transition') return '';
  const { ts, latitude, longitude, type, ...more } = entry.data;
  if (key === 'background/battery') return 'battery';
  const at = Math.round((Number(ts) - Date.UTC(2024, 2, 12, 8) / 1000) * 1000) / 1000;
  if (key !== 'background/location') return `${at} motion ${type}`;
  const others = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [at, `${latitude},${longitude}`, ...(time_zone === 'Europe/Lisbon' ? [] : [time_zone]), ...others].join(' ');
}

const expected: Record<string, { reading?: FileReading; lines: string[] }> = {
  '2019_MARCH.json': {
    lines: [
      'google',
      '0 38.5714,-7.9065',
      '3600 38.5714,-7.9065',
      '0 motion 3',
      '3900 38.575,-7.908 accuracy=20',
      '3600 38.5714,-7.9065',
      '4200 38.58,-7.91',
      '3600 motion 0',
    ],
  },
  '2023_MARCH.json': { lines: ['google', '0 38.5714,-7.9065', '3600.5 38.5714,-7.9065', '0 motion 3'] },
  'Timeline Edits.json': {
    lines: [
      'google',
      '0 38.5714,-7.9065 accuracy=9 altitude=300 sensed_speed=0.5',
      'left: a signal that tells no place, such as a scan for networks',
      '10 motion 3',
      'left: a signal that tells no place, such as a scan for networks',
    ],
  },
  'blanks.rec': {
    lines: [
      'owntracks',
      '0 38.5714,-7.9065  accuracy=14 reported={"_http":true}',
      '10 38.5714,-7.9065  accuracy=14 reported={"_http":true}',
    ],
  },
  'date-and-time.csv': {
    reading: { zone: 'Europe/Lisbon' },
    lines: [
      'csv',
      '0 38.5714,-7.9065 altitude=300 sensed_speed=2 bearing=90',
      '10 38.5715,-7.9066 altitude=301 sensed_speed=2 bearing=95',
    ],
  },
  'dawarich-export.json': {
    lines: [
      'geojson',
      '0 38.5714,-7.9065 altitude=300 accuracy=9 vaccuracy=3 sensed_speed=1.5 bearing=90',
      '60 38.5715,-7.9065 altitude=300 accuracy=9 vaccuracy=3 sensed_speed=1.5 bearing=90',
      '120 38.5716,-7.9065 altitude=300 accuracy=9 vaccuracy=3 sensed_speed=1.5 bearing=90',
    ],
  },
  'day-first.csv': { reading: { zone: 'Europe/Berlin' }, lines: ['csv', '0 38.5714,-7.9065'] },
  'decimal-comma.csv': {
    lines: [
      'csv',
      '0 38.5714,-7.9065 altitude=300 accuracy=8 sensed_speed=1.5',
      '60 38.5715,-7.9066 altitude=301 accuracy=10 sensed_speed=1.6',
    ],
  },
  'features.geojsonl': { lines: ['geojson', '0.123 38.5714,-7.9065', '1.123 38.5715,-7.9065'] },
  'garmin.gpx': { lines: ['gpx', '0 38.5714,-7.9065 altitude=300.2 sensed_speed=2.5'] },
  'garmin.tcx': { lines: ['tcx', '0 38.5714,-7.9065'] },
  'gpslogger.csv': {
    lines: [
      'csv',
      '0 38.5714,-7.9065 altitude=300 accuracy=8 sensed_speed=1.5 bearing=90',
      '60 38.5715,-7.9066 altitude=301 accuracy=10 sensed_speed=1.6 bearing=95',
    ],
  },
  'gpslogger.geojson': { lines: ['geojson', '0.25 38.5714,-7.9065 altitude=301.5 accuracy=4.5 sensed_speed=1.25'] },
  'large-form.zip': {
    lines: [
      'csv',
      '0 38.5714,-7.9065 altitude=300 accuracy=8 sensed_speed=1.5 bearing=90',
      '60 38.5715,-7.9066 altitude=301 accuracy=10 sensed_speed=1.6 bearing=95',
    ],
  },
  'line-begin-end.geojson': {
    lines: [
      'geojson',
      '0 38.5714,-7.9065',
      '600 38.5725,-7.9075',
      'left: a feature that is neither a point nor a line',
    ],
  },
  'line-coord-times.geojson': {
    lines: ['geojson', '0 38.5714,-7.9065 altitude=300', '10 38.5715,-7.9066 altitude=301'],
  },
  'line-fourth-number.geojson': {
    lines: ['geojson', '0 38.5714,-7.9065 altitude=300', '10 38.5715,-7.9066 altitude=301'],
  },
  'lines-coordinate-properties.geojson': {
    lines: ['geojson', '0 38.5714,-7.9065', '10 38.5715,-7.9066', '3600 38.58,-7.91'],
  },
  'local-times.csv': {
    reading: { zone: 'Europe/Berlin' },
    lines: ['csv', '-3600 38.5714,-7.9065', '10533600 38.5715,-7.9066'],
  },
  'milliseconds.csv': { lines: ['csv', '0.123 38.5714,-7.9065 altitude=300.5 accuracy=12'] },
  'month-byte-order-mark.json': { lines: ['google', '0 38.5714,-7.9065', '0 motion 3'] },
  'month-candidates.json': {
    lines: ['google', '0 38.5714,-7.9065', '0 motion 3', '60 38.5714,-7.9065', '60 motion 3'],
  },
  'month-nowhere.json': {
    lines: [
      'google',
      '0 38.5714,-7.9065',
      '0 motion 3',
      'unread: expected a place such as "12.3°, 45.6°" or latitudeE7 and longitudeE7 at byte 285, found something else',
    ],
  },
  'month-waypoints.json': { lines: ['google', '0 38.5714,-7.9065', '600 38.58,-7.91', '0 motion 7'] },
  'moving-point.json': { lines: ['geojson', '0 38.5714,-7.9065', '10 38.5715,-7.9066'] },
  'names-of-time.geojson': {
    lines: [
      'geojson',
      '0 38.5714,-7.9065 altitude=300 accuracy=8 sensed_speed=2 bearing=90',
      '60 38.5715,-7.9066 sensed_speed=2 bearing=95',
      '120 38.5716,-7.9067 altitude=302 accuracy=5 sensed_speed=1.8',
      '180 38.5717,-7.9068',
      'unread: expected a time at byte 967, found none',
    ],
  },
  'one-feature.json': { lines: ['geojson', '-3600 38.5714,-7.9065'] },
  'osmand.gpx': { lines: ['gpx', '0 38.5714,-7.9065 altitude=300 sensed_speed=1.5 reported={"hdop":3.8}'] },
  'other-names.csv': {
    reading: { columns: { time: 'wann', lat: 'hoch', lon: 'rechts' } },
    lines: ['csv', '0 38.5714,-7.9065'],
  },
  'overland-batch.json': {
    lines: ['overland', '0 38.5714,-7.9065  accuracy=5 sensed_speed=1', '0 motion 7', 'battery'],
  },
  'overland-features.json': {
    lines: ['overland', '0 38.5714,-7.9065  accuracy=5 sensed_speed=1', '0 motion 7', 'battery'],
  },
  'placemarks.kml': { lines: ['kml', '0 38.5714,-7.9065 altitude=300'] },
  'points-list.json': { lines: ['geojson', '0 38.5714,-7.9065 accuracy=12', '60 38.58,-7.91'] },
  'polarsteps-locations.json': { lines: ['geojson', '0.5 38.5714,-7.9065', '900 38.58,-7.91'] },
  'positionfixes.csv': { lines: ['csv', '0 38.5714,-7.9065 altitude=300 accuracy=8', '10 38.5715,-7.9066'] },
  'quoted.csv': { lines: ['csv', '0 38.5714,-7.9065'] },
  'seconds.csv': {
    lines: [
      'csv',
      '0 38.5714,-7.9065 altitude=300 accuracy=8 sensed_speed=1.5 bearing=90',
      '60 38.5715,-7.9066 altitude=301 accuracy=10 sensed_speed=1.6 bearing=95',
    ],
  },
  'streamed.kmz': { lines: ['kml', '0 38.5714,-7.9065 altitude=300', 'skipped: streamed.kmz/images/icon.png'] },
  'tabs.rec': { lines: ['owntracks', '0 38.5714,-7.9065  accuracy=14 reported={"_http":true}'] },
  'tabs.tsv': {
    lines: ['csv', '0 38.5714,-7.9065 sensed_speed=10', 'unread: expected a time at line 3, found another text'],
  },
  'takeout.zip': {
    lines: [
      'google google',
      '0 38.5714,-7.9065 accuracy=14',
      '0 38.5714,-7.9065',
      '3600.5 38.5714,-7.9065',
      '0 motion 3',
      'skipped: takeout.zip/Takeout/archive_browser.html',
      'skipped: takeout.zip/Takeout/Location History (Timeline)/Settings.json',
    ],
  },
  'ten-millionths.csv': { lines: ['csv', '0 38.5714,-7.9065 altitude=300 accuracy=8 sensed_speed=1.5'] },
  'two-people.csv': {
    lines: [
      'csv',
      '0 38.5714,-7.9065',
      'broken: expected fixes of one person, found another in column "participant" at line 3: cut the table by person, and import each part with its own --user',
    ],
  },
};

it.each(readdirSync(folder))('%s', async (name) => {
  const { reading, lines } = expected[name] ?? { lines: [] };
  expect(await found(name, reading)).toEqual(lines);
});
