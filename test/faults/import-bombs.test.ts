// Files that unpack to far more than they are: an import reads them to their end in a small heap.
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { tempFolder } from '../support/clean-up.ts';
import { sampled } from '../support/sample.ts';
import { fillStore } from './kit.ts';
import { run } from './program.ts';

const mebibyte = 1024 * 1024;

/** MiB of heap; the program alone needs about 30. */
const heap = 128;

type Part = string | Uint8Array;

/** A head, a part again and again, and a tail. */
function* file(head: string, count: number, make: (i: number) => Part, tail = ''): Generator<Part> {
  if (head !== '') yield head;
  for (let i = 0; i < count; i++) yield make(i);
  if (tail !== '') yield tail;
}

/** `text` again and again: so many MiB. */
const fill = (text: string, size: number): string => text.repeat(Math.ceil((size * mebibyte) / text.length));
const long = fill('x', 4.1);
const track = '<gpx><trk><trkseg>';
const point = '<trkpt lat="38.5" lon="-7.9"><time>2024-03-12T08:00:00Z</time></trkpt>';
const placemark = '<kml><Placemark><TimeSpan><begin>2024-03-12T08:00:00Z</begin></TimeSpan>';
const metadata = '"metadata":{"key":"my/key","write_ts":1710000000}';

let written = 1.7e9;

/** A user's BSON document of so many MiB at most, of empty documents. */
function bson(size: number, user: number): Uint8Array {
  const data = { a: new Array(Math.floor((size * mebibyte) / 14)).fill({}) };
  const user_id = new BSON.UUID(`01234567-89ab-4def-8123-45678900000${user}`);
  written += 0.5;
  return BSON.serialize({ user_id, metadata: { key: 'my/key', write_ts: written }, data });
}

const attributes = (): string => Array.from({ length: 900 }, (_, i) => `a${i}="${'x'.repeat(60_000)}"`).join(' ');
const time = '<when>2024-03-12T08:00:00.123456789012345678901234567890Z</when>';
const objects = (size: number): string => `[${fill('{},', size)}0]`;
const foreign = (i: number): string => `,{"_id":1,"metadata":{"key":"my/key","write_ts":${i}},"data":{"a":`;
const overland = '{"timestamp":"2024-03-12T08:00:00Z","horizontal_accuracy":5}';
const location = `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":${overland}}`;
const line = (): string =>
  `,{"type":"Feature","geometry":{"type":"LineString","coordinates":[${fill('[1,2,3,1710000000],', 0.98)}[1,2]]}}`;

const bombs: Record<string, () => Generator<Part>> = {
  'open.gpx': () => file(track + point, 40, () => `<a>${long}`),
  'fields.gpx': () => file(`${track}${point}<trkpt lat="38.5" lon="-7.9">`, 40, (i) => `<a${i}>${long}</a${i}>`),
  'attributes.gpx': () => {
    const all = attributes();
    return file(track + point, 20, () => `<a ${all}>`);
  },
  'places.kml': () => file(placemark, 40, () => `<coordinates>${fill('1,2 ', 4.1)}</coordinates>`),
  'times.kml': () => file('<kml><Placemark><Track>', 40, () => `<when>${long}</when>`),
  'waiting.kml': () => file('<kml><Placemark><Track>', 40, () => fill(time, 1)),
  'elements.json': () => file(`[{${metadata},"data":{}}`, 12, () => `,{${metadata},"data":${objects(15)}}`, ']'),
  'foreign.json': () => file(`[{${metadata},"data":{}}`, 6, (i) => `${foreign(i)}${objects(0.99)}}}`, ']'),
  'lines.jsonl': () => file(`{${metadata},"data":{}}\n`, 12, () => `{${metadata},"data":${objects(15)}}\n`),
  'features.json': () =>
    file(`{"locations":[${location}`, 20, () => `,{"type":"Feature","properties":${objects(0.99)}}`, ']}'),
  'rows.csv': () => file('time,lat,lon\n2024-03-12T08:00:00Z,38.5,-7.9\n"', 40, () => long),
  'lines.geojson': () =>
    file('{"type":"FeatureCollection","features":[{"lat":1,"lon":1,"time":1710000000}', 20, line, ']}'),
  'message.json': () => file('{"_type":"location"\n', 20, (i) => `,"a${i}":{"a":${objects(0.99)}}\n`, '}'),
  'Stage_timeseries.bson': () => file('', 12, () => bson(15, 1)),
  'users.bson': () => file('', 20, (i) => bson(0.99, i % 7)),
};

const user = '{"uuid":"01234567-89ab-4def-8123-456789000001","user_email":"ada","profile":';

/** Files of folders that are one whole: a dump of e-mission, and what `export` wrote. `content`: packed by gzip. */
const folders: Record<string, Record<string, () => Generator<Part>>> = {
  dump: { 'Stage_timeseries.bson.gz': bombs['Stage_timeseries.bson']!, 'Stage_uuids.bson.gz': bombs['users.bson']! },
  'json dump': {
    'Stage_timeseries.json.gz': bombs['elements.json']!,
    'Stage_usercache.json.gz': bombs['lines.jsonl']!,
  },
  export: {
    'user.json': () => file(`${user}{}}`, 0, () => ''),
    'entries.jsonl': bombs['lines.jsonl']!,
    'errors.jsonl': bombs['lines.jsonl']!,
    'documents.jsonl': () => file('', 12, (i) => `{"key":"k${i}","write_ts":${i},"data":${objects(15)}}\n`),
  },
  'export with a large user': {
    'user.json': () => file(`${user}[`, 40, () => fill('{},', 4)),
    'entries.jsonl': bombs['lines.jsonl']!,
  },
};

/** Imports a file or folder in a small heap: to its end, and with a report about it. */
async function expectImport(folder: string, source: string, ...flags: string[]): Promise<void> {
  await fillStore(join(folder, 'store'), { ada: [] });
  const env = { NODE_OPTIONS: `--max-old-space-size=${heap}`, MOBILITY_STORE: join(folder, 'store') };
  const end = await run(['import', source, ...flags, '--log-dir', join(folder, 'logs')], { env });
  expect([end.signal, end.code], end.stderr).toEqual([null, expect.any(Number)]);
  expect(end.stderr + end.stdout).toContain(source);
  expect(end.stderr).not.toContain('heap');
}

const writePacked = (path: string, content: Iterable<string | Uint8Array>): Promise<void> =>
  pipeline(Readable.from(content), createGzip({ level: 1 }), createWriteStream(path));

it.each(sampled(Object.keys(folders), 2))('imports the folder "%s" in a heap of 128 MiB', async (name) => {
  const folder = tempFolder();
  const source = join(folder, 'source');
  await mkdir(source);
  for (const [part, content] of Object.entries(folders[name]!)) await writePacked(join(source, part), content());
  await expectImport(folder, source);
});

it.each(sampled(Object.keys(bombs), 3))('imports %s.gz in a heap of 128 MiB', async (name) => {
  const folder = tempFolder();
  const path = join(folder, `${name}.gz`);
  await writePacked(path, bombs[name]!());
  await expectImport(folder, path, ...(name.endsWith('.bson') ? [] : ['--user', 'ada']));
});
