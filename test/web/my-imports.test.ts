// One's own history over HTTP: a file is imported, reported, ignored and used again.
import { buffer } from 'node:stream/consumers';
import { beforeAll, expect, it, vi } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import { zipStream } from '../../src/export/zip-stream.ts';
import { readMultipart } from '../../src/server/read-multipart.ts';
import { until } from '../support/until.ts';
import { openPages, type Pages } from './kit.ts';

let now = 1_720_000_000;
const name = 'sim-demo-1@example.org';
let pages: Pages;
let user: string;
beforeAll(async () => {
  pages = await openPages({ users: 2, days: 2, now: () => now });
  user = (await pages.store.users.byEmail(name))!.uuid;
});

/** A ride of 20 minutes that ended a week ago. */
function gpx(): string {
  const points = Array.from({ length: 121 }, (_, i) => {
    const time = new Date((now - 7 * 86_400 + i * 10) * 1000).toISOString();
    return `<trkpt lat="${38.57 + i * 0.0005}" lon="-7.9"><time>${time}</time></trkpt>`;
  });
  return `<?xml version="1.0"?><gpx version="1.1"><trk><trkseg>${points.join('')}</trkseg></trk></gpx>`;
}

const text = async (path: string): Promise<string> => (await pages.get(path, pages.person)).text();
const upload = (file: Blob | null, person = pages.person): Promise<Response> =>
  pages.send('/me/data', '/me/import"', file === null ? {} : { file }, person);
const where = (answer: Response): [number, string | null] => [answer.status, answer.headers.get('location')];
const pressUndo = async (): Promise<void> => {
  now += 60;
  expect((await pages.send('/me/data', '/me/import/undo', {}, pages.person)).status).toBe(303);
  now += 60;
  await pages.run('pipeline', '--all');
};
const tripsWeekAgo = async (): Promise<number> => {
  await pages.run('pipeline', '--all');
  const range = { from: now - 8 * 86_400, to: now - 6.5 * 86_400 };
  return (await correctedTrips(pages.store).spans(user, range)).length;
};

it('imports a file, excludes its entries, and includes them again', async () => {
  expect(await tripsWeekAgo()).toBe(0);
  const file = new File([gpx()], '../../my ride.gpx');
  expect(where(await upload(file))).toEqual([303, '/me/data?done=import#import']);
  expect(await text('/me/data?done=import')).toMatch(/my ride.gpx<[\s\S]*12[12] records added, 0 known before, 0 not/);
  expect(await tripsWeekAgo()).toBe(1);

  await upload(file);
  expect(await text('/me/data')).toMatch(/0 records added, 12[12] known before/);

  await pressUndo();
  expect([await tripsWeekAgo(), await text('/me/data')]).toEqual([0, expect.stringContaining('Use it again')]);
  await pressUndo();
  expect(await tripsWeekAgo()).toBe(1);
});

it('reports the problem of a file, and reads no file of a form of another site', async () => {
  const before = await pages.store.counts(user);
  expect(where(await upload(new File(['hello'], 'a.txt')))[1]).toBe('/me/data?done=unknown#import');
  expect(where(await upload(null))[1]).toBe('/me/data?done=none#import');
  const foreign = await pages.send(
    '/me/data',
    '/me/import"',
    { csrf: 'x', file: new File([gpx()], 'a.gpx') },
    pages.person,
  );
  expect(foreign.status).toBe(403);
  expect(await pages.store.counts(user)).toEqual(before);
});

it('shows the problems of a damaged archive and of a file of several people', async () => {
  const rows = ['ada', 'ada', 'bob'].map((person, i) => `${person},2024-06-0${i + 1}T08:00:00Z,38.57,-7.9`);
  const people = ['user_id,time,lat,lon', ...rows].join('\n');
  const zip = await buffer(zipStream((file) => file('a.gpx', async (writer) => writer.write(gpx()))));
  for (const [content, file, reason] of [
    [zip.subarray(0, -30), 'half.zip', 'half.zip: expected a ZIP archive, found a damaged'],
    [people, 'people.csv', 'people.csv: expected locations of one person, found a second person in "user_id"'],
  ] as const) {
    const to = where(await upload(new File([content], file)))[1]!;
    expect(to).toBe('/me/data?done=problem#import');
    const page = (await text(to)).replaceAll('&#34;', '"');
    expect(page).toContain('The import found problems in this file.');
    expect(page).toContain(`<span lang="en">${reason}`);
    expect(page).not.toContain('The file was read.');
  }
});

it('lets others import while a slow sender sends a file', async () => {
  let end = (): void => {};
  const body = new ReadableStream({
    start(controller) {
      end = () => controller.close();
    },
  });
  const headers = { Cookie: pages.person, 'Content-Type': 'multipart/form-data; boundary=b' };
  const sent = pages.request('/me/import', { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
  await expect.poll(() => body.locked).toBe(true);
  expect(where(await upload(new File([gpx()], 'a.gpx')))[1]).toBe('/me/data?done=import#import');
  end();
  expect((await sent).status).toBe(403); // without the secret of the form
});

it('lets a person who just imported wait for others who asked within the last ten minutes', async () => {
  const link = await pages.run('users', 'link', 'sim-demo-2@example.org', '--server', 'http://127.0.0.1:8080');
  const body = new URLSearchParams({ key: new URL(link.stdout.trim()).searchParams.get('key')! });
  const opened = await pages.request('/me/open', { method: 'POST', body });
  const other = opened.headers.get('set-cookie')!.split(';')[0]!;
  const imports = async (person: string): Promise<string> => {
    now += 10;
    return /done=(\w+)/.exec(where(await upload(new File([gpx()], 'a.gpx'), person))[1]!)![1]!;
  };
  const whileImporting = async (work: () => Promise<void>): Promise<void> => {
    let go = (): void => {};
    const merge = vi.spyOn(pages.store.profiles, 'merge').mockImplementationOnce(async () => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return {};
    });
    const first = imports(pages.person);
    await until(() => merge.mock.calls.length > 0);
    merge.mockRestore();
    await work();
    go();
    expect(await first).toBe('import');
  };
  await whileImporting(async () => expect(await imports(other)).toBe('busy'));
  expect([await imports(pages.person), await imports(other), await imports(pages.person)]).toEqual([
    'busy',
    'import',
    'import',
  ]);
  await whileImporting(async () => expect(await imports(other)).toBe('busy'));
  now += 590;
  expect(await imports(pages.person)).toBe('busy');
  expect(await imports(pages.person)).toBe('import');
});

it('ends an import that takes too long, with a message', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  const to = where(await upload(new File([gpx()], 'a.gpx')))[1]!;
  timeout.mockRestore();
  expect([to, await text(to)]).toEqual(['/me/data?done=long#import', expect.stringContaining('add it again')]);
});

it('reads fields and the file of a form as browsers send it, for any content of the file', () => {
  const body = (...lines: string[]): Buffer => Buffer.from(lines.join('\r\n'), 'latin1');
  const sent = body(
    '--b',
    'Content-Disposition: form-data; name="csrf"',
    '',
    '12ab',
    '--b',
    'Content-Disposition: form-data; name="file"; filename="a.bin"',
    'Content-Type: application/octet-stream',
    '',
    '\r\n--a\0\xff\r\n',
    '--b--',
    '',
  );
  const { form, file } = readMultipart(sent, 'b');
  expect({ ...form }).toEqual({ csrf: '12ab' });
  expect([file?.name, Buffer.from(file!.bytes).toString('latin1')]).toEqual(['a.bin', '\r\n--a\0\xff\r\n']);
  expect(readMultipart(sent.subarray(0, 100), 'b').file).toBeNull();
  expect({ ...readMultipart(Buffer.from('x'), '').form }).toEqual({});
  const fields = Array.from(
    { length: 21 },
    (_, i) => `--b\r\nContent-Disposition: form-data; name="f${i}"\r\n\r\n1\r\n`,
  );
  const many = readMultipart(body(`${fields.join('')}--b--`, ''), 'b').form;
  expect([Object.keys(many).length, many.f19, many.f20]).toEqual([20, '1', undefined]);
});
