// Files of other programs: each is recognised by its content and read into locations, readings and labels of one
// person.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Found } from '../../src/import/import-format.ts';
import { findParts } from '../../src/import/import-formats.ts';
import { SourceBroken } from '../../src/import/source-error.ts';
import { convert } from '../../src/intake/converters/convert.ts';
import type { Entry } from '../../src/model/entry.ts';
import { tempFolder } from '../support/clean-up.ts';

interface Read {
  format: string;
  entries: Entry[];
  unread: string[];
  left: string[];
  broken: string | null;
  /** When the recording ends by the file, whole seconds; null: unknown. */
  end: number | null;
}

/** Writes a file and reads it back as the import does. */
async function read(content: string | Buffer, name = 'a-file', format?: string): Promise<Read> {
  const path = join(tempFolder(), name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  const [part] = (await findParts([path], format)).parts;
  const result: Read = { format: part!.format, entries: [], unread: [], left: [], broken: null, end: null };
  const take = (found: Found): void => {
    const entry = 'entry' in found ? (found.entry as unknown as Entry) : null;
    if (entry?.metadata.key === 'statemachine/transition') result.end = Math.floor(convert(entry).data.ts as number);
    else if (entry !== null) result.entries.push(entry);
    if ('unread' in found) result.unread.push(found.unread);
    if ('skipped' in found) result.left.push(found.skipped);
  };
  try {
    for await (const found of part!.read({ onBytes: () => {} })) take(found);
  } catch (error) {
    if (!(error instanceof SourceBroken)) throw error;
    result.broken = error.message;
  }
  return result;
}

/** An entry in one line: what, where, when. Every entry must be one that the converters take. */
function entryText(entry: Entry): string {
  const { metadata, data } = entry;
  convert(entry);
  const origin = metadata.origin as { program: string; version?: string };
  const program = [origin.program, origin.version].filter((one) => one !== undefined).join(' ');
  const { ts, latitude, longitude, type, start_ts, end_ts, label, ...more } = data;
  const what =
    latitude !== undefined
      ? `${latitude},${longitude} ${metadata.time_zone ?? ''}`
      : type !== undefined
        ? `motion ${type}`
        : `${label} ${start_ts}-${end_ts}`;
  const others = Object.entries(more).map(
    ([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
  );
  return [program, ts, what.trim(), ...others].filter((one) => one !== undefined).join(' ');
}

const t0 = Date.parse('2024-03-12T08:00:00Z') / 1000;

const gpx = `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="OsmAnd 4.6.10" xmlns="http://www.topografix.com/GPX/1/1" xmlns:x="urn:x">
 <wpt lat="1" lon="1"><time>2024-03-12T07:00:00Z</time></wpt>
 <trk><name>a &amp; b</name><trkseg>
  <trkpt lat="52.5" lon="13.4"><ele>34.5</ele><time>2024-03-12T08:00:00Z</time><hdop>1.2</hdop>
   <extensions><x:speed>1.5</x:speed><x:course>90</x:course></extensions></trkpt>
  <trkpt lat="52.6" lon="13.5"><time>2024-03-12T09:00:30+01:00</time></trkpt>
  <trkpt lat="52.7" lon="13.6"></trkpt>
  <trkpt lat="north" lon="13.6"><time>2024-03-12T08:01:00Z</time></trkpt>
 </trkseg></trk></gpx>`;

it('GPX: points of tracks with their fields; points without time or position are reported by line', async () => {
  const { format, entries, unread, end } = await read(gpx);
  expect([format, end]).toEqual(['gpx', t0 + 30]);
  expect(entries.map(entryText)).toEqual([
    `osmand 4.6.10 ${t0} 52.5,13.4 Europe/Berlin altitude=34.5 sensed_speed=1.5 bearing=90 reported={"hdop":1.2}`,
    `osmand 4.6.10 ${t0 + 30} 52.6,13.5 Europe/Berlin`,
  ]);
  expect(unread).toEqual([
    'expected a time at line 8, found none',
    'expected latitude and longitude as numbers at line 9, found a missing or unreadable value',
  ]);
  const packed = await read(gzipSync(gpx), 'no-ending');
  expect(packed.entries).toEqual(entries);
  const utf16 = await read(Buffer.from(`\ufeff${gpx}`, 'utf16le'));
  expect(utf16.entries).toEqual(entries);
});

const row = '2024-03-12T08:00:00Z,52.5,13.4,7,18';
const rowText = `csv ${t0} 52.5,13.4 Europe/Berlin accuracy=7 sensed_speed=5`;
it.each([
  ['after sep= and a title', `\ufeffsep=,\r\nMy trips\r\ntime,lat,lon,hAcc (m),Speed [km/h]\r\n${row}`],
  [
    'of SensorLog',
    `locationTimestamp_since1970(s),locationLatitude(WGS84),locationLongitude(WGS84),locationHorizontalAccuracy(m),locationSpeed(m/s)\n${t0},52.5,13.4,7,5`,
  ],
  ['with units in the values', 'unix\tlat\tlon\tuncertainty\tspeed\n1710230400\t52,5\t13.4E\t7 m\t18 km/h'],
  ['in UTF-16 without a mark', Buffer.from(`time,lat,lon,acc,speed_kmh\n${row}`, 'utf16le')],
  ['in UTF-16, big-endian', Buffer.from(`\ufefftime,lat,lon,acc,speed_kmh\n${row}`, 'utf16le').swap16()],
  ['in Windows-1252', Buffer.from(`Évora\ntime;lat;lon;acc;vel\n${row.replaceAll(',', ';')}\n`, 'latin1')],
])('CSV: a table %s has the same location', async (_, text) => {
  expect((await read(text)).entries.map(entryText)).toEqual([rowText]);
});

it('TCX: trackpoints with a position, without points with a heart rate only', async () => {
  const point = (inner: string) => `<Trackpoint><Time>2024-03-12T08:00:00.500Z</Time>${inner}</Trackpoint>`;
  const { format, entries, left } =
    await read(`<TrainingCenterDatabase><Activities><Activity Sport="Biking"><Lap><Track>
    ${point('<Position><LatitudeDegrees>52.5</LatitudeDegrees><LongitudeDegrees>13.4</LongitudeDegrees></Position><AltitudeMeters>30</AltitudeMeters>')}
    ${point('<HeartRateBpm><Value>99</Value></HeartRateBpm>')}</Track></Lap></Activity></Activities></TrainingCenterDatabase>`);
  expect([format, entries.map(entryText), left.length]).toEqual([
    'tcx',
    [`tcx ${t0 + 0.5} 52.5,13.4 Europe/Berlin altitude=30`],
    1,
  ]);
});

it('KML: each point of tracks, and placemarks at their begin and end', async () => {
  const { format, entries, unread } = await read(`<kml xmlns:gx="g"><Document>
    <Placemark><gx:Track><when>2024-03-12T08:00:00Z</when><when>2024-03-12T08:00:10Z</when>
      <gx:coord>13.4 52.5 30</gx:coord><gx:coord>13.5 52.6 31</gx:coord></gx:Track></Placemark>
    <Placemark><TimeSpan><begin>2024-03-12T08:01:00Z</begin><end>2024-03-12T08:02:00Z</end></TimeSpan>
      <LineString><coordinates>13.6,52.5,0 13.7,52.5,0
      13.8,52.5,0</coordinates></LineString></Placemark>
    <Placemark><Point><coordinates>13.4,52.5</coordinates></Point></Placemark></Document></kml>`);
  expect(format).toBe('kml');
  expect(entries.map(entryText)).toEqual([
    `kml ${t0} 52.5,13.4 Europe/Berlin altitude=30`,
    `kml ${t0 + 10} 52.6,13.5 Europe/Berlin altitude=31`,
    `kml ${t0 + 60} 52.5,13.6 Europe/Berlin altitude=0`,
    `kml ${t0 + 120} 52.5,13.8 Europe/Berlin altitude=0`,
  ]);
  expect(unread).toEqual(['expected a time or a span of time for the placemark at line 7, found none']);
});

it('Google Timeline of Android: paths, visits, movements and raw signals', async () => {
  const at = (minutes: number) => new Date((t0 + minutes * 60) * 1000).toISOString();
  const { format, entries, left } = await read(
    JSON.stringify({
      semanticSegments: [
        { startTime: at(0), endTime: at(20), timelinePath: [{ point: '52.5°, 13.4°', time: at(5) }] },
        {
          startTime: at(20),
          endTime: at(60),
          visit: { hierarchyLevel: 0, topCandidate: { placeLocation: { latLng: '52.6°, 13.5°' } } },
        },
        { startTime: at(20), endTime: at(30), visit: { hierarchyLevel: 1, topCandidate: {} } },
        {
          startTime: at(60),
          endTime: at(70),
          activity: {
            start: { latLng: '52.6°, 13.5°' },
            end: { latLng: '52.7°, 13.6°' },
            topCandidate: { type: 'IN_BUS', probability: 0.8 },
          },
        },
      ],
      rawSignals: [
        { position: { LatLng: '52.8°, 13.7°', accuracyMeters: 13, altitudeMeters: 80, timestamp: at(80) } },
        {
          activityRecord: {
            probableActivities: [
              { type: 'STILL', confidence: 0.1 },
              { type: 'WALKING', confidence: 0.9 },
            ],
            timestamp: at(81),
          },
        },
        { wifiScan: {} },
      ],
      userLocationProfile: { frequentPlaces: [{ placeLocation: '1°, 1°' }] },
    }),
  );
  const zone = 'Europe/Berlin';
  expect(format).toBe('google');
  expect(entries.map((one) => entryText(one).replace('google-timeline ', ''))).toEqual([
    `${t0 + 300} 52.5,13.4 ${zone}`,
    `${t0 + 1200} 52.6,13.5 ${zone}`,
    `${t0 + 3600} 52.6,13.5 ${zone}`,
    `${t0 + 1200} motion 3`,
    `${t0 + 3600} 52.6,13.5 ${zone}`,
    `${t0 + 4200} 52.7,13.6 ${zone}`,
    `${t0 + 3600} motion 0 confidence=80`,
    `${t0 + 4800} 52.8,13.7 ${zone} accuracy=13 altitude=80`,
    `${t0 + 4860} motion 7 confidence=90`,
  ]);
  expect(left).toHaveLength(2);
});

it('Google Timeline of iPhones: a list, with geo: places and minutes', async () => {
  const [startTime, endTime] = ['2024-03-12T09:00:00.000+01:00', '2024-03-12T10:00:00.000+01:00'];
  const { format, entries } = await read(
    JSON.stringify([
      { endTime, startTime, timelinePath: [{ durationMinutesOffsetFromStartTime: '12', point: 'geo:52.5,13.4' }] },
      {
        endTime,
        startTime,
        activity: {
          start: 'geo:52.5,13.4',
          end: 'geo:52.6,13.5',
          topCandidate: { type: 'in passenger vehicle', probability: '0.5' },
        },
      },
    ]),
  );
  expect(format).toBe('google');
  expect(entries.map((one) => entryText(one).replace('google-timeline ', ''))).toEqual([
    `${t0 + 720} 52.5,13.4 Europe/Berlin`,
    `${t0} 52.5,13.4 Europe/Berlin`,
    `${t0 + 3600} 52.6,13.5 Europe/Berlin`,
    `${t0} motion 0 confidence=50`,
  ]);
});

it('Records.json of Takeout: locations and activities, with both kinds of times and overflowed numbers', async () => {
  const { format, entries, unread } = await read(
    JSON.stringify({
      locations: [
        { latitudeE7: 525000000, longitudeE7: 134000000, accuracy: 14, velocity: 2, timestampMs: String(t0 * 1000) },
        {
          latitudeE7: 4294967296 - 335000000,
          longitudeE7: 1512000000,
          timestamp: '2024-03-12T08:01:00.250Z',
          activity: [
            {
              timestamp: '2024-03-12T08:01:05Z',
              activity: [
                { type: 'ON_BICYCLE', confidence: 90 },
                { type: 'STILL', confidence: 10 },
              ],
            },
          ],
        },
        { source: 'WIFI', timestamp: '2024-03-12T08:02:00Z' },
      ],
    }),
  );
  expect(format).toBe('google');
  expect(entries.map((one) => entryText(one).replace('google-timeline ', ''))).toEqual([
    `${t0} 52.5,13.4 Europe/Berlin accuracy=14 sensed_speed=2`,
    `${t0 + 60.25} -33.5,151.2 Australia/Sydney`,
    `${t0 + 65} motion 1 confidence=90`,
  ]);
  expect(unread).toEqual([expect.stringMatching(/latitudeE7 and longitudeE7 at byte \d+/)]);
});

it('OwnTracks and Overland: the same entries as their endpoints make', async () => {
  const message = { _type: 'location', lat: 52.5, lon: 13.4, tst: t0, acc: 5, tid: 'ab' };
  const stamp = '2024-03-12T08:00:00Z\t';
  const rec = `${stamp}*                 \t${JSON.stringify(message)}\n${stamp}lwt               \t{"_type":"lwt","tst":1}\n`;
  const texts = [rec, `${JSON.stringify(message)}\n`, JSON.stringify({ count: 1, data: [message] })];
  const [fromRec, ...others] = await Promise.all([...texts, JSON.stringify(message, null, 2)].map((one) => read(one)));
  expect([fromRec!.format, fromRec!.left.length]).toEqual(['owntracks', 1]);
  expect(fromRec!.entries.map(entryText)).toEqual([`owntracks ${t0} 52.5,13.4 accuracy=5 reported={"tid":"ab"}`]);
  for (const other of others) expect(other.entries).toEqual(fromRec!.entries);
  const feature = {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [13.4, 52.5] },
    properties: { timestamp: '2024-03-12T08:00:00Z', motion: ['walking'], horizontal_accuracy: 8, wifi: 'secret' },
  };
  const batch = await read(JSON.stringify({ locations: [feature, feature] }));
  expect(batch.format).toBe('overland');
  expect(new Set(batch.entries.map(entryText))).toEqual(
    new Set([`overland ${t0} 52.5,13.4 accuracy=8`, `overland ${t0} motion 7`]),
  );
});

it('GeoLife: trajectories in metres and GMT, and labels as user input', async () => {
  const header =
    'Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track,0,0,2,8421376\r\n0\r\n';
  const plt = await read(
    `${header}39.9,116.3,0,492,39744.1,2008-10-23,02:53:04\r\n39.9,116.4,0,-777,39744.1,2008-10-23,02:53:10\r\n`,
  );
  const ts = Date.parse('2008-10-23T02:53:04Z') / 1000;
  expect([plt.format, plt.entries.map(entryText)]).toEqual([
    'geolife',
    [`geolife ${ts} 39.9,116.3 Asia/Shanghai altitude=${492 * 0.3048}`, `geolife ${ts + 6} 39.9,116.4 Asia/Shanghai`],
  ]);
  const labels = await read(
    'Start Time\tEnd Time\tTransportation Mode\r\n2008/10/23 02:53:04\t2008/10/23 03:00:00\tbus\r\nno line\r\n',
  );
  expect(labels.entries.map(({ metadata, data }) => [metadata.key, metadata.type, data])).toEqual([
    ['manual/mode_confirm', 'message', { start_ts: ts, end_ts: ts + 416, label: 'bus' }],
  ]);
  expect(labels.unread).toEqual(['expected start, end and mode at line 3, found a missing or unreadable field']);
});

it('two locations of one second remain two, and each keeps its identity in any order', async () => {
  const point = (lat: number) => `<trkpt lat="${lat}" lon="13.4"><time>2024-03-12T08:00:00Z</time></trkpt>`;
  const file = (points: string) => `<gpx creator="x"><trk><trkseg>${points}</trkseg></trk></gpx>`;
  const written = async (points: string) => (await read(file(points))).entries.map(({ metadata }) => metadata.write_ts);
  const [a, b] = await written(point(52.5) + point(52.6));
  expect(a).not.toBe(b);
  expect(await written(point(52.6) + point(52.5))).toEqual([b, a]);
  for (const one of [a!, b!]) expect(Math.floor(one)).toBe(t0);
});

it.each([
  [
    'entities that a file declares itself',
    `<!DOCTYPE gpx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><gpx><trk>&b;</trk></gpx>`,
  ],
  ['an external entity', `<!DOCTYPE gpx [<!ENTITY f SYSTEM "file:///etc/passwd">]><gpx><trk>&f;</trk></gpx>`],
  ['elements without end', `<gpx>${'<a>'.repeat(1000)}`],
  ['attributes without end', `<gpx ${Array.from({ length: 2000 }, (_, i) => `a${i}="1"`).join(' ')}></gpx>`],
  ['an attribute without end', `<gpx a="${'x'.repeat(1_000_000)}"></gpx>`],
  ['a file that is cut', gpx.slice(0, 500)],
  ['a packed file that is cut', gzipSync(gpx.repeat(50)).subarray(0, 300)],
  ['tags that do not match', '<gpx><trk></gpx>'],
])('XML with %s is refused with the position', async (_, content) => {
  const { broken } = await read(content, 'x.gpx', 'gpx');
  expect(broken).toMatch(/^(expected XML on line \d+|cannot read the whole file)/);
  expect(broken).toMatch(/everything before it was read. Repair the file and import it again$/);
});

it.each<[string | Buffer, string]>([
  ['', 'an empty file'],
  ['PK\u0005\u0006'.padEnd(22, '\0'), 'an archive without one'],
  ['some text about 52.5, 13.4', 'something else'],
  [
    '{"type":"FeatureCollection","features":[{"type":"Feature"}]}',
    'GeoJSON without a point or line that has a time (name them: --columns time=…,lat=…,lon=…)',
  ],
  [
    'name;city;street\n',
    'a table whose columns for time, latitude and longitude are not known (name them: --columns time=…,lat=…,lon=…)',
  ],
  ['time,lat,lon\n05/04/2026 8:00,52.5,13.4\n', 'a table without a row whose time and coordinates can be read'],
  [Buffer.from('\x0e\x10\x99\n\n\0\0\0.FIT', 'latin1'), 'a FIT file (convert it: gpsbabel -i garmin_fit'],
  ['<html><body>Log in</body></html>', 'something else'],
  // Near misses: files with the names of a format and none of its content.
  ['[{"startTime":"2024-03-12T08:00:00Z","activity":"lunch"}]', 'JSON with the names startTime, activity, in which'],
  [
    '[{"metadata":{"name":"a pod"},"data":{"ca.crt":"x"}}]',
    'JSON with the names metadata, name, data, ca.crt, in which',
  ],
  [
    '{"metadata":{"kernelspec":{"name":"python3"}},"cells":[]}',
    'JSON with the names metadata, kernelspec, name, cells, in which',
  ],
  ['{"_type":"post","title":"52.5, 13.4"}', 'JSON with the names _type, title, in which'],
  [
    '{"locations":[{"name":"a shop","latitude":52.5,"longitude":13.4}]}',
    'JSON with the names locations, name, latitude, longitude, in which',
  ],
  [
    '{"locations":[{"lat":52.5,"lng":13.4}],"motion":true}',
    'JSON with the names locations, lat, lng, motion, in which',
  ],
])('%j is refused with a description of what was found', async (content, found) => {
  await expect(read(content)).rejects.toThrow(`found ${found}`);
});
