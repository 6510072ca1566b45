// The diary as a page: it shows every trip, needs nothing from outside, and lets no text of people act as HTML.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diaryPage } from '../../src/export/page/day-page.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import { run as runProgram } from '../cli/kit.ts';

it('a week of a person is one small page with every trip and nothing to fetch', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-page-'));
  try {
    const env = { MOBILITY_STORE: join(folder, 'store'), MOBILITY_LOG_DIR: join(folder, 'logs') };
    const run = (args: string[]) => runProgram(args, { env });
    await run(['simulate', '--users', '1', '--days', '7', '--from', '2024-03-25', '--seed', 'page']);
    await run(['pipeline', '--all']);
    const user = JSON.parse((await run(['users', 'list', '--json'])).stdout)[0].user_email;
    const day = JSON.parse((await run(['diary', '--user', user, '--day', '2024-03-27', '--json'])).stdout);
    const labelled = await run(['label', '--user', user, '--trip', day[0].id, '--mode', 'cargo <bike>']);
    expect(labelled, labelled.stderr).toMatchObject({ code: 0 });
    const file = join(folder, 'week.html');
    const done = await run(['diary', '--user', user, '--day', '2024-03-27', '--week', '--html', file]);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    const page = await readFile(file, 'utf8');
    const trips = Number(/^(\d+) trips/.exec(done.stderr)![1]);
    expect(trips).toBeGreaterThan(10);
    expect(page.match(/<tr><td>/g)).toHaveLength(trips);
    expect(page.match(/<h2 id="d2024-03-(25|26|27|28|29|30|31)">/g)).toHaveLength(7);
    expect(page).not.toMatch(/<script|src=|href="(?!#)|url\((?!#)|@import|http-equiv="refresh"/);
    expect(page).toContain(`default-src 'none'`);
    expect(page).toContain('cargo_&#60;bike&#62;');
    const out = join(folder, 'csv');
    await run(['export', '--user', user, '--format', 'csv', '--kind', 'trips', '--out', out]);
    expect(await readFile(join(out, 'trips.csv'), 'utf8')).toContain(',cargo_<bike>,');
    expect(page.length / 7).toBeLessThan(9_000);
    expect(await run(['diary', '--user', user, '--day', '2024-03-27', '--week'])).toMatchObject({ code: 2 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000); // seven days from phone to page, on a machine that others share

it('a name or label cannot act as HTML', () => {
  const hostile = `</title><script>alert(1)</script>"'&`;
  const trip = {
    id: 't',
    start_ts: 0,
    end_ts: 60,
    start_zone: 'UTC',
    end_zone: 'UTC',
    start_loc: [1, 2],
    end_loc: [1, 2],
  };
  const record = { trip: { ...trip, duration: 60, distance: 5, sections: [], stops: [] }, day: '1970-01-01' };
  const page = diaryPage({
    name: hostile,
    days: [{ day: '1970-01-01', records: [record as unknown as TripRecord] }],
    completeUntil: null,
    labels: new Map([['t', hostile]]),
  });
  expect(page).not.toContain('<script');
  expect(page.match(/&#60;script/g)!.length).toBeGreaterThan(2);
});
