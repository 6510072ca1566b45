// The app of today over recorded days of real phones: drafts, trips with modes and lines, labels that stay. Runs where
// MOBILITY_TEST_DAYS names a folder of days, as CI does.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { checkAnswer, config, listen, openKit } from '../server/kit.ts';
import { pipeline } from '../support/diary.ts';
import { type Card, openPhoneApp, type PhoneRow } from './phone-app.ts';

const folder = process.env.MOBILITY_TEST_DAYS ?? '';
const ending = '.put.json.gz';
const names = folder === '' ? [] : readdirSync(folder).filter((file) => file.endsWith(ending));

let seen = 0;

describe.skipIf(folder === '')('a recorded day on the phone', () => {
  it.each(names)('%s', async (file) => {
    const rows = JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString()).phone_to_server as PhoneRow[];
    const times = rows.map(({ metadata }) => metadata.write_ts).sort((a, b) => a - b);
    const [first, last] = [times[0]!, times.at(-1)!];
    let clock = last + 3600;
    const { store, app: served } = await openKit({ config: { ...config, openRegistration: true }, now: () => clock });
    const { port } = await listen(served);
    const app = openPhoneApp({
      connectUrl: `http://127.0.0.1:${port}/`,
      token: 'nrelop_study_default_recorded',
      zone: 'America/Los_Angeles',
      now: () => clock,
      onAnswer: (path, answer) => checkAnswer(path, 'POST', answer),
    });
    const { uuid } = await app.register();
    const cards = async (): Promise<Card[]> =>
      (await app.timeline(first - 86_400, clock)).filter(
        ({ draft, origin_key }) => !draft && origin_key.endsWith('trip'),
      );
    app.record(rows);
    await app.sync();
    expect(await cards()).toEqual([]);
    await pipeline(store, uuid);

    const processed = await cards();
    const { count } = await store.trips.summary(uuid);
    expect(processed).toHaveLength(count);
    seen += count;
    for (const card of processed) {
      expect([card.modes.length > 0, card.raw.distance > 0, card.lines.length]).toEqual([
        true,
        true,
        card.raw.sections.length,
      ]);
      for (const line of card.lines) expect(line.length).toBeGreaterThan(0);
    }
    clock += 60;
    for (const [i, { start_ts, end_ts }] of processed.entries()) {
      app.say(
        'manual/mode_confirm',
        { start_ts, end_ts, label: `mode_${i}` },
        'android',
        'America/Los_Angeles',
        clock + i,
      );
    }
    await app.sync();
    clock += 30 * 86_400;
    await pipeline(store, uuid);
    const later = await cards();
    expect(later.map(({ id, raw }) => [id, raw.user_input.mode_confirm])).toEqual(
      processed.map(({ id }, i) => [id, `mode_${i}`]),
    );
    await app.dashboard(later, ['2016-01-01', '2016-01-14']);
    expect(app.alerts).toEqual([]);
  });

  it('has trips, on most days several', () => {
    expect(names.length).toBeGreaterThan(0);
    expect(seen).toBeGreaterThan(2 * names.length);
  });
});
