// `mobility transit`: feeds of strangers are refused with a sentence, and feeds that need attention are listed.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { put } from '../support/diary.ts';
import type { Untyped } from '../support/untyped.ts';
import { zip } from '../support/zip.ts';
import { ride } from '../transit/bus-ride.ts';
import { type GtfsTexts, townFeed } from '../transit/town.ts';
import { freshProgram, type Program } from './kit.ts';

/** The tables of the town as a zip; an empty text leaves a table out. */
const zipped = (changes: Readonly<Record<string, string | Buffer>> = {}, folder = ''): Buffer =>
  zip(
    ...Object.entries({ ...townFeed(), ...changes })
      .filter(([, content]) => content !== '')
      .map(([table, content]) => ({ name: `${folder}${table}.txt`, content: Buffer.from(content as string) })),
  );

const { stops = '', stop_times = '' } = townFeed();

const hashOf = (text: string): string => createHash('sha512').update(text).digest('base64');

/** A trip past 8,000 stops whose names cannot be compressed. */
function manyStops(): GtfsTexts {
  const names = Array.from({ length: 8_000 }, (_, i) => hashOf(`a${i}`) + hashOf(`b${i}`));
  return {
    stops: `stop_id,stop_name,stop_lat,stop_lon\n${names.map((name, i) => `${i},${name},52.5,13.4\n`).join('')}`,
    stop_times: `trip_id,stop_id,stop_sequence\n${names.map((_, i) => `one,${i},${i}\n`).join('')}`,
  };
}

describe('transit add', () => {
  let program: Program;
  beforeAll(async () => {
    program = await freshProgram();
    await program.run(['store', 'init']);
  });

  async function add(archive: Buffer) {
    const file = join(program.folder, 'feed.zip');
    await writeFile(file, archive);
    return ['transit', 'add', file];
  }

  it.each([
    ['without a table', () => zipped({ stops: '' }), /with stops\.txt, found a ZIP archive without it: add the file/],
    ['with names that lead out of it', () => zipped({}, '../'), /with agency\.txt, found a ZIP archive without it/],
    ['in Latin-1', () => zipped({ stops: Buffer.from(`${stops}\né`, 'latin1') }), /stops\.txt as a CSV table in UTF-8/],
    ['with a field of 300 KiB', () => zipped({ stops: `${stops}\n"${'x'.repeat(300_000)}` }), /65536 at line/],
    ['with all stops at 0, 0', () => zipped({ stops: 'stop_id,stop_lat,stop_lon\ne0,0,0\ne1,0,0\n' }), /found none/],
    ['whose index is too large', () => zipped(manyStops()), /at most 1 MiB for each agency, found .* leave out/],
  ])('refuses a feed %s and stores nothing', async (_, archive, message) => {
    await program.refuse(await add(archive()), message);
    expect(await program.json('transit', 'list')).toEqual({ feeds: [] });
  });

  it.each([
    ['a folder', () => zipped({}, 'gtfs/'), {}],
    ['a stop at 0, 0', () => zipped({ stops: stops.replace(/e0,East.*/, 'e0,East 0,0,0,0,') }), { stops_left_out: 1 }],
    ['a stop twice', () => zipped({ stops: `${stops}\ne0,East 0,52.5,13.4,0,` }), { stops_left_out: 1 }],
    ['no times', () => zipped({ stop_times: stop_times.replace(/\d\d:\d\d:\d\d/g, '99:99:99') }), { no_times: 2 }],
    ['a long shape that turns at each vertex', () => zipped(longShape()), { no_shape: 1 }],
    ['quotation marks in a name', () => zipped({ stops: stops.replace('East 0', 'the "old" stop') }), {}],
  ])('reads a feed with %s, and reports what it lacks', async (_, archive, notes) => {
    const [feed] = (await program.json(...(await add(archive())))).feeds;
    const box = [expect.closeTo(52.5, 0), 13.4, expect.anything(), expect.anything()];
    expect(feed).toMatchObject({ notes, index_bytes: expect.any(Number), box });
    await program.run(['transit', 'remove', feed.id]);
  });
});

function longShape(): GtfsTexts {
  const points = Array.from({ length: 50_000 }, (_, i) => `s,${52.5 + (i % 2) / 1_000},${13.4 + i / 1_000_000},${i}`);
  return {
    trips: 'route_id,service_id,trip_id,shape_id\n1,all,one,s\n2,all,two,\n',
    shapes: ['shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence', ...points].join('\n'),
  };
}

it('transit check lists expired feeds, their missing parts, and stops that no person was near', async () => {
  const { run, json, folder, withUser } = await freshProgram('ada');
  await withUser('ada', (store, uuid) => put(store, uuid, ride));
  await run(['pipeline', '--all']);
  const far = { stops: stops.replaceAll(',52.', ',12.'), agency: townFeed().agency!.replace('Town', 'Far') };
  for (const [name, changes] of Object.entries({ old: {}, new: ends(2030), far: { ...far, ...ends(2030) } })) {
    await writeFile(join(folder, `${name}.zip`), zipped({ ...changes, trips: `${townFeed().trips}1,all,${name}\n` }));
    await run(['transit', 'add', join(folder, `${name}.zip`)]);
  }
  const problems = async () =>
    (await run(['transit', 'check', '--json'], { now: 1_750_000_000 }))
      .json()
      .findings.map(({ name, problem }: Untyped) => `${name}: ${problem}`)
      .sort();
  const lacks = [
    '2 patterns without a shape: only their stops show the path',
    '1 trips left out: with fewer than two stops',
  ];
  const known = ['far.zip', 'new.zip', 'old.zip'].flatMap((name) => lacks.map((lack) => `${name}: ${lack}`));
  const outside = 'far.zip: 22 of its 22 stops are in areas (0.5 degrees) that no person visited';
  expect(await problems()).toEqual([...known, outside].sort());
  const { feeds } = await json('transit', 'list');
  await run(['transit', 'remove', feeds.find(({ name }: Untyped) => name === 'new.zip').id]);
  expect(await problems()).toContain('old.zip: ended on 2024-12-31: add the current feed of Town Transit');
});

const ends = (year: number): GtfsTexts => ({ feed_info: `feed_start_date,feed_end_date\n20240101,${year}1231\n` });

it('simulate --feed writes the lines of the town, which the diary then names', async () => {
  const { run, show, refuse, folder } = await freshProgram();
  const feed = join(folder, 'town.zip');
  const args = ['simulate', '--users', '1', '--days', '1', '--from', '2024-03-12', '--feed', feed];
  await refuse(args, 'expected --study NAME with --feed, found --feed alone');
  await run([...args, '--study', 'sunny']);
  await refuse([...args, '--study', 'sunny'], 'already exists');
  await run(['transit', 'add', feed]);
  await run(['pipeline', '--all']);
  const diary = ['diary', '--user', 'sim-demo-1@example.org', '--day', '2024-03-12'];
  await show(diary, '1, Évora Transit, from Stop 1');
});
