// One's own history over HTTP: a file is imported, reported, ignored and used again.
import { beforeAll, expect, it, vi } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import { silentLog } from '../../src/log/log.ts';
import { readMultipart } from '../../src/server/read-multipart.ts';
import { languages, type Texts } from '../../src/web/pages/texts/texts.ts';
import { until } from '../support/until.ts';
import { zip } from '../support/zip.ts';
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
/** How the page reports the import of a file. */
async function doneAfter(...file: Parameters<typeof upload>): Promise<string> {
  const { status, headers } = await upload(...file);
  expect([status, headers.get('location')]).toEqual([303, expect.stringMatching(/^\/me\/data\?done=\w+#import$/)]);
  return /done=(\w+)/.exec(headers.get('location')!)![1]!;
}
const ride = () => new File([gpx()], 'a.gpx');
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
  expect(await doneAfter(file)).toBe('import');
  expect(await text('/me/data?done=import')).toMatch(/my ride.gpx<[\s\S]*12[12] records added, 0 known before, 0 not/);
  expect(await tripsWeekAgo()).toBe(1);

  await upload(file);
  expect(await text('/me/data')).toMatch(/0 records added, 12[12] known before/);

  await pressUndo();
  expect(await tripsWeekAgo()).toBe(0);
  expect(await text('/me/data')).toContain('Use these records again');
  await pressUndo();
  expect(await tripsWeekAgo()).toBe(1);
});

it('reports the problem of a file, and reads no file of a form of another site', async () => {
  const before = await pages.store.counts(user);
  expect(await doneAfter(new File(['hello'], 'a.txt'))).toBe('format');
  expect(await text('/me/data?done=format&lang=de')).toContain(languages.de!.imports.problems.format);
  for (const none of [null, new File([], '')]) expect(await doneAfter(none)).toBe('none');
  expect(await doneAfter(new File([], 'a.gpx'))).toBe('damaged');
  const forged = { csrf: 'x', file: ride() };
  expect((await pages.send('/me/data', '/me/import"', forged, pages.person)).status).toBe(403);
  expect(await pages.store.counts(user)).toEqual(before);
});

const packed = (name: string, content: string, says = {}): Buffer => zip({ name, content: Buffer.from(content), says });
const rowsOf = (...rows: string[]): string => ['time,lat,lon,speed,user_id', ...rows].join('\n');
const day = '2024-06-01';
const ofUuid = (last: number): string => {
  const metadata = { key: 'own/a', write_ts: now - last };
  return JSON.stringify({ user_id: `6a0d1f5e-8d0b-4a6e-9d9e-0c9f7a3b5c1${last}`, metadata, data: {} });
};
/** 10 metres a second north, at a speed of 36. */
const fast = Array.from({ length: 50 }, (_, i) => `${now - 900 + i},${38 + i * 9e-5},-7.9,36`);
const timeline = {
  semanticSegments: [{ startTime: `${day}T08:00:00Z`, endTime: `${day}T09:00:00Z`, timelinePath: [] }],
  first: 'x'.repeat(600_000),
  second: 'x'.repeat(600_000),
};

it.each<[kind: keyof Texts['imports']['problems'], name: string, content: string | Buffer, shown?: string]>([
  ['damaged', 'half.zip', packed('a.gpx', gpx()).subarray(0, -30)],
  ['damaged', 'half.gpx', '<gpx><trk>'],
  ['damaged', 'sum.zip', packed('a.gpx', gpx(), { crc: 1 }), 'sum.zip/a.gpx'],
  ['large', 'Timeline.json', JSON.stringify(timeline)],
  ['packing', 'secret.zip', packed('a.gpx', gpx(), { flags: 1 })],
  ['packing', 'other.zip', packed('a.gpx', gpx(), { method: 12 })],
  ['packing', 'names.zip', packed('../a.gpx', gpx())],
  ['people', 'people.csv', rowsOf(`${day}T08:00:00Z,38.57,-7.9,,ada`, `${day}T08:01:00Z,38.57,-7.9,,bob`)],
  ['people', 'people.jsonl', `${ofUuid(1)}\n${ofUuid(2)}`],
  ['points', 'points.csv', rowsOf(`${day}T08:00:00Z,38.57,-7.9,,`, 'never,38.57,-7.9,,', `${day}T08:00:00Z,,,,`)],
  ['empty', 'plan.gpx', '<gpx><wpt lat="38.5" lon="-7.9"/></gpx>'],
  ['zone', 'clock.csv', rowsOf(`${day} 08:00:00,38.57,-7.9,,`)],
  ['speeds', 'fast.csv', rowsOf(...fast)],
])('names the problem %s of %s in each language, and logs the message', async (kind, name, content, shown = name) => {
  const log = vi.spyOn(silentLog, 'write');
  expect(await doneAfter(new File([content], name))).toBe('problem');
  const logged = log.mock.calls.map((call) => call.join(' '));
  log.mockRestore();
  expect(logged).toContainEqual(expect.stringContaining(`WARNING UUID ${user}: problem of an imported file: `));
  expect(logged.join()).not.toContain('@example.org');
  for (const [language, { imports }] of Object.entries(languages)) {
    const page = await text(`/me/data?done=problem&lang=${language}`);
    expect(problemsIn(page)).toEqual([imports.problemOf(shown, 0, imports.problems[kind])]);
    expect([page.includes(imports.failed.problem), page.includes(imports.done)]).toEqual([true, false]);
  }
});

const problemsIn = (page: string): string[] =>
  /id="import">.*?<li class="stated"><span>(.*?)<\/span>/s.exec(page)![1]!.split('<br>').slice(1);

it('shows each kind of problem once for an archive with many files', async () => {
  const contents = { 'a.gpx': '<gpx><trk>', 'b.gpx': gpx(), 'c.gpx': '<gpx>', 'd.gpx': '<gpx/>' };
  const files = Object.entries(contents).map(([name, content]) => ({ name, content: Buffer.from(content) }));
  await upload(new File([zip(...files)], 'all.zip'));
  expect(problemsIn(await text('/me/data?lang=de'))).toEqual([
    expect.stringMatching(/^all.zip\/a.gpx und 1 weitere Datei: Beschädigt oder unvollständig; .* Kopie hinzu\.$/),
    expect.stringMatching(/^all.zip\/d.gpx: Keine aufgezeichneten Punkte\. .* aufgezeichnet haben\.$/),
  ]);
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
  expect(await doneAfter(ride())).toBe('import');
  end();
  expect((await sent).status).toBe(403); // without the secret of the form
});

it('lets a person who just imported wait for others who asked within the last ten minutes', async () => {
  const other = await pages.openAs('sim-demo-2@example.org');
  const imports = (person: string): Promise<string> => {
    now += 10;
    return doneAfter(ride(), person);
  };
  const whileImporting = async (work: () => Promise<void>): Promise<void> => {
    let go = (_: Record<string, never>): void => {};
    const held = new Promise<Record<string, never>>((resolve) => {
      go = resolve;
    });
    const merge = vi.spyOn(pages.store.profiles, 'merge').mockImplementationOnce(() => held);
    const first = imports(pages.person);
    await until(() => merge.mock.calls.length > 0);
    merge.mockRestore();
    await work();
    go({});
    expect(await first).toBe('import');
  };
  await whileImporting(async () => expect(await imports(other)).toBe('busy'));
  const three = [await imports(pages.person), await imports(other), await imports(pages.person)];
  expect(three).toEqual(['busy', 'import', 'import']);
  await whileImporting(async () => expect(await imports(other)).toBe('busy'));
  now += 590;
  expect(await imports(pages.person)).toBe('busy');
  expect(await imports(pages.person)).toBe('import');
});

it('ends an import that takes too long, with a message', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  expect(await doneAfter(ride())).toBe('long');
  timeout.mockRestore();
  expect(await text('/me/data?done=long')).toContain('add it again');
});

it('reads fields and the file of a form as browsers send it, for any content of the file', () => {
  const body = (...lines: string[]): Buffer => Buffer.from(lines.join('\r\n'), 'latin1');
  const field = (name: string): string => `Content-Disposition: form-data; name="${name}"`;
  const ofFile = [`${field('file')}; filename="a.bin"`, 'Content-Type: application/octet-stream', ''];
  const sent = body('--b', field('csrf'), '', '12ab', '--b', ...ofFile, '\r\n--a\0\xff\r\n', '--b--', '');
  const { form, file } = readMultipart(sent, 'b');
  expect({ ...form }).toEqual({ csrf: '12ab' });
  expect([file?.name, Buffer.from(file!.bytes).toString('latin1')]).toEqual(['a.bin', '\r\n--a\0\xff\r\n']);
  expect(readMultipart(sent.subarray(0, 100), 'b').file).toBeNull();
  expect({ ...readMultipart(Buffer.from('x'), '').form }).toEqual({});
  const fields = Array.from({ length: 21 }, (_, i) => ['--b', field(`f${i}`), '', '1']).flat();
  const many = readMultipart(body(...fields, '--b--', ''), 'b').form;
  expect([Object.keys(many).length, many.f19, many.f20]).toEqual([20, '1', undefined]);
});
