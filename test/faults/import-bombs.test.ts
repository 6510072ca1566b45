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

function* times(count: number, make: (i: number) => string | Uint8Array): Generator<string | Uint8Array> {
  for (let i = 0; i < count; i++) yield make(i);
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

const bombs: Record<string, () => Generator<string | Uint8Array>> = {
  'open.gpx': function* () {
    yield track + point;
    yield* times(40, () => `<a>${long}`);
  },
  'fields.gpx': function* () {
    yield `${track}${point}<trkpt lat="38.5" lon="-7.9">`;
    yield* times(40, (i) => `<a${i}>${long}</a${i}>`);
  },
  'attributes.gpx': function* () {
    const attributes = [...times(900, (i) => `a${i}="${'x'.repeat(60_000)}"`)].join(' ');
    yield track + point;
    yield* times(20, () => `<a ${attributes}>`);
  },
  'places.kml': function* () {
    yield placemark;
    yield* times(40, () => `<coordinates>${fill('1,2 ', 4.1)}</coordinates>`);
  },
  'times.kml': function* () {
    yield '<kml><Placemark><Track>';
    yield* times(40, () => `<when>${long}</when>`);
  },
  'waiting.kml': function* () {
    yield '<kml><Placemark><Track>';
    yield* times(40, () => fill('<when>2024-03-12T08:00:00.123456789012345678901234567890Z</when>', 1));
  },
  'elements.json': function* () {
    yield `[{${metadata},"data":{}}`;
    yield* times(12, () => `,{${metadata},"data":[${fill('{},', 15)}0]}`);
    yield ']';
  },
  'foreign.json': function* () {
    yield `[{${metadata},"data":{}}`;
    yield* times(
      6,
      (i) => `,{"_id":1,"metadata":{"key":"my/key","write_ts":${i}},"data":{"a":[${fill('{},', 0.99)}0]}}`,
    );
    yield ']';
  },
  'lines.jsonl': function* () {
    yield `{${metadata},"data":{}}\n`;
    yield* times(12, () => `{${metadata},"data":[${fill('{},', 15)}0]}\n`);
  },
  'features.json': function* () {
    yield '{"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},';
    yield '"properties":{"timestamp":"2024-03-12T08:00:00Z","horizontal_accuracy":5}}';
    yield* times(20, () => `,{"type":"Feature","properties":[${fill('{},', 0.99)}0]}`);
    yield ']}';
  },
  'rows.csv': function* () {
    yield 'time,lat,lon\n2024-03-12T08:00:00Z,38.5,-7.9\n"';
    yield* times(40, () => long);
  },
  'lines.geojson': function* () {
    yield '{"type":"FeatureCollection","features":[{"lat":1,"lon":1,"time":1710000000}';
    const line = `{"type":"Feature","geometry":{"type":"LineString","coordinates":[${fill('[1,2,3,1710000000],', 0.98)}[1,2]]}}`;
    yield* times(20, () => `,${line}`);
    yield ']}';
  },
  'message.json': function* () {
    yield '{"_type":"location"\n';
    yield* times(20, (i) => `,"a${i}":{"a":[${fill('{},', 0.99)}0]}\n`);
    yield '}';
  },
  'Stage_timeseries.bson': function* () {
    yield* times(12, () => bson(15, 1));
  },
  'users.bson': function* () {
    yield* times(20, (i) => bson(0.99, i % 7));
  },
};

/** Files of folders that are one whole: a dump of e-mission, and what `export` wrote. `content`: packed by gzip. */
const folders: Record<string, Record<string, () => Generator<string | Uint8Array>>> = {
  dump: { 'Stage_timeseries.bson.gz': bombs['Stage_timeseries.bson']!, 'Stage_uuids.bson.gz': bombs['users.bson']! },
  'json dump': {
    'Stage_timeseries.json.gz': bombs['elements.json']!,
    'Stage_usercache.json.gz': bombs['lines.jsonl']!,
  },
  export: {
    'user.json': function* () {
      yield '{"uuid":"01234567-89ab-4def-8123-456789000001","user_email":"ada","profile":{}}';
    },
    'entries.jsonl': bombs['lines.jsonl']!,
    'errors.jsonl': bombs['lines.jsonl']!,
    'documents.jsonl': function* () {
      yield* times(12, (i) => `{"key":"k${i}","write_ts":${i},"data":[${fill('{},', 15)}0]}\n`);
    },
  },
  'export with a large user': {
    'user.json': function* () {
      yield `{"uuid":"01234567-89ab-4def-8123-456789000001","user_email":"ada","profile":[`;
      yield* times(40, () => fill('{},', 4));
    },
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
  for (const [file, content] of Object.entries(folders[name]!)) await writePacked(join(source, file), content());
  await expectImport(folder, source);
});

it.each(sampled(Object.keys(bombs), 3))('imports %s.gz in a heap of 128 MiB', async (name) => {
  const folder = tempFolder();
  const file = join(folder, `${name}.gz`);
  await writePacked(file, bombs[name]!());
  await expectImport(folder, file, ...(name.endsWith('.bson') ? [] : ['--user', 'ada']));
});
