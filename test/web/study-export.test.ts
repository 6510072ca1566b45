// The tables of a study over HTTP: a ZIP archive that is made while it is sent.
import { text } from 'node:stream/consumers';
import { beforeAll, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { zipStream } from '../../src/export/zip-stream.ts';
import { allOf } from '../support/all-of.ts';
import { openPages, type Pages } from './kit.ts';

const now = 1_720_000_000;
const range = { from: '2024-06-27', to: '2024-07-02' };
let pages: Pages;
beforeAll(async () => {
  pages = await openPages({ users: 3, days: 7, now: () => now, create: ['--show-names'] });
});

/** The files of an archive, whose checksums the reader checks. */
async function unpack(answer: Response): Promise<Record<string, string>> {
  const zip = await fromBufferPromise(Buffer.from(await answer.arrayBuffer()), { lazyEntries: true, autoClose: false });
  const files: Record<string, string> = {};
  for await (const entry of zip.eachEntry()) files[entry.fileName] = await text(await zip.openReadStreamPromise(entry));
  return files;
}

const download = (fields: Record<string, string>): Promise<Response> =>
  pages.send('/study/sunny/export', '/study/sunny/export.zip', fields, pages.manager);

it('has the tables of the command, with stable pseudonyms, and is in the audit log', async () => {
  const answer = await download(range);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip']);
  const files = await unpack(answer);
  const tables = ['days', 'trips', 'sections', 'places', 'points'].map((table) => `${table}.csv`);
  expect(Object.keys(files)).toEqual([...tables, 'datapackage.json', 'codebook.html']);
  expect(files['trips.csv']!.split('\n').length).toBeGreaterThan(10);
  expect(Object.values(files).join()).not.toMatch(/sim-demo/);
  expect(JSON.parse(files['datapackage.json']!).treatment).toMatchObject({ pseudonyms: true, coarse: null });
  expect(pages.acts.at(-1)).toMatchObject({ who: 'manager mira', action: expect.stringMatching(/^export 2024-06-27/) });
  const again = await unpack(await download(range));
  expect(again['trips.csv']).toBe(files['trips.csv']);

  const coarse = await unpack(await download({ ...range, coarse: '500', names: 'yes' }));
  expect(JSON.parse(coarse['datapackage.json']!).treatment).toMatchObject({ pseudonyms: false, coarse: 500 });
  expect(coarse['days.csv']).toMatch(/sim-demo-1/);
  const odd = await download({ ...range, coarse: '300' });
  expect([odd.status, odd.headers.get('location')]).toEqual([303, expect.stringContaining('done=range')]);
});

it('makes one archive at a time, and the next one after a reader disconnects', async () => {
  const first = await download(range);
  const second = await download(range);
  expect([second.status, second.headers.get('location')]).toEqual([303, expect.stringContaining('done=busy')]);
  await first.body!.cancel();
  await expect.poll(async () => (await download(range)).status).toBe(200);
});

it('names the command for a range too large for a browser, and keeps the chosen cells in it and the form', async () => {
  const answer = await download({ from: '2020-01-01', to: '2024-07-01', coarse: '500' });
  const html = await (await pages.get(answer.headers.get('location')!, pages.manager)).text();
  const range = '--from 2020-01-01 --to 2024-07-01';
  expect(html).toContain(`mobility export --study sunny ${range} --format csv --pseudonyms key.txt --coarse 500m`);
  expect(html.match(/<option value="\d*" selected>/g)).toEqual(['<option value="500" selected>']);
});

it('is missing without the right to export', async () => {
  await pages.store.managers.change('mira', (before) => {
    const { may_export: _, ...rest } = before!;
    return rest;
  });
  expect((await pages.get('/study/sunny/export', pages.manager)).status).toBe(404);
  expect(await (await pages.get('/study/sunny', pages.manager)).text()).not.toContain('/study/sunny/export');
});

it('ends the archive with the error of the file that fails', async () => {
  const make = zipStream((file) =>
    file('a.csv', async (writer) => {
      await writer.write('a');
      throw new Error('no more rows');
    }),
  );
  await expect(allOf(make)).rejects.toThrow('no more rows');
});
