// A day with a location each second becomes a case in a heap in which the pipeline runs too.
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../support/clean-up.ts';
import { share } from '../support/sample.ts';
import { run } from './program.ts';

const from = Date.UTC(2026, 9, 5, 6) / 1000;

const locations = share(57_600);

/** A location each second, in full mode for 16 hours; a ride in each second hour. */
function* lines(): Generator<string> {
  const metadata = { type: 'sensor-data', platform: 'android', time_zone: 'Europe/Lisbon' };
  let [latitude, longitude] = [38.57, -7.9];
  for (let i = 0; i < locations; i += 1) {
    const ts = from + i;
    const isMoving = i % 7200 < 1800;
    if (isMoving) [latitude, longitude] = [latitude + 4e-5 * Math.cos(i / 900), longitude + 4e-5 * Math.sin(i / 900)];
    const data = { ts, latitude, longitude, accuracy: 8, sensed_speed: isMoving ? 5 : 0 };
    const reading = { ts, type: isMoving ? 1 : 3, confidence: 90 };
    yield JSON.stringify({ metadata: { ...metadata, key: 'background/location', write_ts: ts + 0.3 }, data });
    const key = 'background/motion_activity';
    if (i % 30 === 0) yield JSON.stringify({ metadata: { ...metadata, key, write_ts: ts + 0.5 }, data: reading });
  }
}

it('writes the case of a day with a location each second beside a transit feed in a heap of 48 MiB', async () => {
  const folder = tempFolder();
  const file = join(folder, 'dense.jsonl');
  await writeFile(file, [...lines()].join('\n'));
  const env = { MOBILITY_STORE: join(folder, 'store'), MOBILITY_LOG_DIR: join(folder, 'logs') };
  await run(['import', file, '--user', 'ada', '--create'], { env });
  const feed = join(folder, 'town.zip'); // the buses of the town in which the day lies
  const other = { MOBILITY_STORE: join(folder, 'other'), MOBILITY_LOG_DIR: join(folder, 'other-logs') };
  await run(['simulate', '--study', 'town', '--users', '4', '--days', '1', '--feed', feed], { env: other });
  expect((await run(['transit', 'add', feed], { env })).code).toBe(0);
  await run(['pipeline', '--all'], { env });
  const out = join(folder, 'case');
  const end = await run(['debug-bundle', '--user', 'ada', '--day', '2026-10-05', '--out', out], {
    env: { ...env, NODE_OPTIONS: '--max-old-space-size=48' },
  });
  expect([end.signal, end.code], end.stderr).toEqual([null, 0]);
  expect(end.stderr).toContain(`${(locations * (31 / 30)).toLocaleString('en')} entries`);
  expect(await readdir(out)).toHaveLength(2);
});
