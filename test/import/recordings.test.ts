// Files of other programs: each is recognised by its content and read whole, as what it is.
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { FileReading } from '../../src/import/import-format.ts';
import { findParts } from '../../src/import/import-formats.ts';
import { SourceBroken } from '../../src/import/source-error.ts';
import { convert } from '../../src/intake/converters/convert.ts';
import type { Entry } from '../../src/model/entry.ts';
import { tempFolder } from '../support/clean-up.ts';

const folder = fileURLToPath(new URL('../fixtures/recordings/', import.meta.url));
const t0 = Date.parse('2024-03-12T08:00:00Z') / 1000;

/** What an import finds in a file: its formats, the entries, and in lines also what is not taken. */
async function readFrom(path: string, reading?: FileReading, format?: string) {
  const { parts, skipped } = await findParts([path], format, reading);
  const entries: Entry[] = [];
  const lines: string[] = [];
  for (const part of parts) {
    try {
      for await (const one of part.read({ onBytes: () => {} })) {
        if ('entry' in one) {
          entries.push(one.entry as Entry);
          lines.push(entryLine(one.entry as Entry));
        } else if ('warning' in one) lines.push(`warning: ${one.warning}`);
        else lines.push('unread' in one ? `unread: ${one.unread}` : 'skipped' in one ? `left: ${one.skipped}` : 'else');
      }
    } catch (error) {
      if (!(error instanceof SourceBroken)) throw error;
      lines.push(`broken: ${error.message}`);
    }
  }
  return { formats: parts.map((part) => part.format).join(' '), entries, lines: lines.filter(Boolean), skipped };
}

/** Seconds after 08:00 UTC, where, and the rest; every entry must be one that the converters take. */
function entryLine(entry: Entry): string {
  const { key, time_zone } = convert(entry).metadata as { key: string; time_zone?: string };
  if (key === 'statemachine/transition') return '';
  const { ts, latitude, longitude, type, ...more } = entry.data;
  if (key === 'background/battery') return 'battery';
  if (key.startsWith('manual/')) return `${key} ${JSON.stringify(entry.data)}`;
  const at = Math.round((Number(ts) - t0) * 1000) / 1000;
  const others = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  if (key !== 'background/location') return [at, 'motion', type, ...others].join(' ');
  return [at, `${latitude},${longitude}`, ...(time_zone === 'Europe/Lisbon' ? [] : [time_zone]), ...others].join(' ');
}

/** By file, how it is read and what is found. */
const expected = JSON.parse(readFileSync(join(folder, '../recordings.json'), 'utf8')) as Record<
  string,
  { reading?: FileReading; lines: string[] }
>;

it.each([...new Set([...readdirSync(folder), ...Object.keys(expected)])])('%s', async (name) => {
  const { reading, lines } = expected[name] ?? { lines: [] };
  const found = await readFrom(folder + name, reading);
  const skipped = found.skipped.map(({ path }) => `skipped: ${path.slice(folder.length)}`);
  expect([found.formats, ...found.lines, ...skipped]).toEqual(lines);
});

/** Writes a file and reads it back as the import does. */
async function read(content: string | Buffer, name = 'a-file', format?: string) {
  const path = join(tempFolder(), name);
  await writeFile(path, content);
  return readFrom(path, {}, format);
}

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
  const { formats, entries, lines } = await read(gpx);
  expect([formats, ...lines]).toEqual([
    'gpx',
    '0 52.5,13.4 Europe/Berlin altitude=34.5 sensed_speed=1.5 bearing=90 reported={"hdop":1.2}',
    '30 52.6,13.5 Europe/Berlin',
    'unread: expected a time at line 8, found none',
    'unread: expected latitude and longitude as numbers at line 9, found a missing or unreadable value',
  ]);
  const end = entries.at(-1)!;
  expect([end.metadata.key, Math.floor(convert(end).data.ts as number)]).toEqual(['statemachine/transition', t0 + 30]);
  expect(entries[0]!.metadata.origin).toEqual({ program: 'osmand', version: '4.6.10' });
  const packed = await read(gzipSync(gpx), 'no-ending');
  expect(packed.entries).toEqual(entries);
  const utf16 = await read(Buffer.from(`\ufeff${gpx}`, 'utf16le'));
  expect(utf16.entries).toEqual(entries);
});

const row = '2024-03-12T08:00:00Z,52.5,13.4,7,18';
const rowLine = '0 52.5,13.4 Europe/Berlin accuracy=7 sensed_speed=5';
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
  const { entries, lines } = await read(text);
  expect([...lines, entries[0]!.metadata.origin]).toEqual([rowLine, { program: 'csv' }]);
});

it('OwnTracks: the same entries as its endpoint makes, of a recording, lines, a list or one message', async () => {
  const message = { _type: 'location', lat: 52.5, lon: 13.4, tst: t0, acc: 5, tid: 'ab' };
  const stamp = '2024-03-12T08:00:00Z\t';
  const rec = `${stamp}*                 \t${JSON.stringify(message)}\n${stamp}lwt               \t{"_type":"lwt","tst":1}\n`;
  const texts = [rec, `${JSON.stringify(message)}\n`, JSON.stringify({ count: 1, data: [message] })];
  const [fromRec, ...others] = await Promise.all([...texts, JSON.stringify(message, null, 2)].map((one) => read(one)));
  const location = '0 52.5,13.4  accuracy=5 reported={"tid":"ab"}';
  expect([fromRec!.formats, ...fromRec!.lines]).toEqual(['owntracks', location, expect.stringMatching(/^left: /)]);
  expect(fromRec!.entries[0]!.metadata.origin).toEqual({ program: 'owntracks' });
  for (const other of others) expect(other.entries).toEqual(fromRec!.entries);
});

it('two locations of one second remain two, and each keeps its identity in any order', async () => {
  const point = (lat: number) => `<trkpt lat="${lat}" lon="13.4"><time>2024-03-12T08:00:00Z</time></trkpt>`;
  const file = (points: string) => `<gpx creator="x"><trk><trkseg>${points}</trkseg></trk></gpx>`;
  const written = async (points: string) => (await read(file(points))).entries.map(({ metadata }) => metadata.write_ts);
  const [a, b] = await written(point(52.5) + point(52.6));
  expect(a).not.toBe(b);
  expect((await written(point(52.6) + point(52.5))).slice(0, 2)).toEqual([b, a]);
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
  const broken = (await read(content, 'x.gpx', 'gpx')).lines.at(-1);
  expect(broken).toMatch(/^broken: (expected XML on line \d+|cannot read the whole file)/);
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
