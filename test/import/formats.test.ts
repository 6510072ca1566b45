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

/** The program, time and place of a location, and the rest. The converters must take it. */
function entryText(entry: Entry): string {
  const { metadata, data } = entry;
  convert(entry);
  const { program, version = '' } = metadata.origin as { program: string; version?: string };
  const { ts, latitude, longitude, ...more } = data;
  const others = Object.entries(more).map(
    ([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`,
  );
  const what = [program, version, ts, `${latitude},${longitude}`, metadata.time_zone ?? '', ...others];
  return what.filter((one) => one !== '').join(' ');
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

it('OwnTracks: the same entries as its endpoint makes, of a recording, lines, a list or one message', async () => {
  const message = { _type: 'location', lat: 52.5, lon: 13.4, tst: t0, acc: 5, tid: 'ab' };
  const stamp = '2024-03-12T08:00:00Z\t';
  const rec = `${stamp}*                 \t${JSON.stringify(message)}\n${stamp}lwt               \t{"_type":"lwt","tst":1}\n`;
  const texts = [rec, `${JSON.stringify(message)}\n`, JSON.stringify({ count: 1, data: [message] })];
  const [fromRec, ...others] = await Promise.all([...texts, JSON.stringify(message, null, 2)].map((one) => read(one)));
  expect([fromRec!.format, fromRec!.left.length]).toEqual(['owntracks', 1]);
  expect(fromRec!.entries.map(entryText)).toEqual([`owntracks ${t0} 52.5,13.4 accuracy=5 reported={"tid":"ab"}`]);
  for (const other of others) expect(other.entries).toEqual(fromRec!.entries);
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
  ['entities that it declares', `<!DOCTYPE gpx [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]><gpx><trk>&b;</trk></gpx>`],
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
  ['PK\u0005\u0006'.padEnd(22, '\0'), 'an archive without a file in a known format'],
  ['some text about 52.5, 13.4', 'something else'],
  ['{"type":"FeatureCollection","features":[{"type":"Feature"}]}', 'GeoJSON without a point or line that has a time'],
  ['name;city;street\n', 'a table whose columns for time, latitude and longitude are not known (name them: --columns '],
  [
    'time,lat,lon\n05/04/2026 8:00,52.5,13.4\n',
    'a table without a row whose time and coordinates can be read (write times as 2024-12-31 08:00:00, 31.12.2024 ',
  ],
  [Buffer.from('\x0e\x10\x99\n\n\0\0\0.FIT', 'latin1'), 'a FIT file (convert it: gpsbabel -i garmin_fit'],
  ['<html><body>Log in</body></html>', 'something else'],
  // Near misses: files with the names of a format and none of its content.
  ['[{"startTime":"2024-03-12T08:00:00Z","activity":"lunch"}]', 'JSON with the names startTime, activity, in which'],
  ['[{"metadata":{"name":"a pod"},"data":{"ca":"x"}}]', 'JSON with the names metadata, name, data, ca, in which'],
  ['{"metadata":{"kernelspec":{"name":"a"}},"cells":[]}', 'JSON with the names metadata, kernelspec, name, cells, in'],
  ['{"_type":"post","title":"52.5, 13.4"}', 'JSON with the names _type, title, in which'],
  [
    '{"locations":[{"name":"a shop","latitude":52.5,"longitude":13.4}]}',
    'JSON with the names locations, name, latitude, longitude, in which',
  ],
  ['{"locations":[{"lat":52.5,"lng":1}],"motion":true}', 'JSON with the names locations, lat, lng, motion, in which'],
])('%j is refused with a description of what was found', async (content, found) => {
  await expect(read(content)).rejects.toThrow(`found ${found}`);
});
