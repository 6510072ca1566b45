// The app of today over recorded days of real phones: drafts, trips with modes and lines, labels that stay. Runs where
// MOBILITY_TEST_DAYS names a folder of days, as CI does.
import { describe, expect, it } from 'vitest';
import { config, listen, openKit } from '../server/kit.ts';
import { pipeline } from '../support/diary.ts';
import { pushedIn, recordedIn } from '../support/recorded.ts';
import { type Card, openPhoneApp } from './phone-app.ts';

const zone = 'America/Los_Angeles';
const recorded = recordedIn(process.env.MOBILITY_TEST_DAYS);

let seen = 0;

describe.skipIf(process.env.MOBILITY_TEST_DAYS === undefined)('a recorded day on the phone', () => {
  it.each(recorded)('%s', async (_, path) => {
    const rows = pushedIn(path);
    const times = rows.map(({ metadata }) => metadata.write_ts).sort((a, b) => a - b);
    const [first, last] = [times[0]!, times.at(-1)!];
    let clock = last + 3600;
    const { store, app: served } = await openKit({ config: { ...config, openRegistration: true }, now: () => clock });
    const { port } = await listen(served);
    const app = openPhoneApp({
      connectUrl: `http://127.0.0.1:${port}/`,
      token: 'nrelop_study_default_recorded',
      zone,
      now: () => clock,
    });
    const { uuid } = await app.register();
    const isTrip = ({ draft, origin_key }: Card): boolean => !draft && origin_key.endsWith('trip');
    const cards = async (): Promise<Card[]> => (await app.timeline(first - 86_400, clock)).filter(isTrip);
    app.record(rows);
    await app.sync();
    expect(await cards()).toEqual([]);
    await pipeline(store, uuid);

    const processed = await cards();
    const { count } = await store.trips.summary(uuid);
    expect(processed).toHaveLength(count);
    seen += count;
    for (const card of processed) {
      expect([card.modes.length > 0, card.raw.distance > 0]).toEqual([true, true]);
      expect(card.lines).toHaveLength(card.raw.sections.length);
      for (const line of card.lines) expect(line).not.toEqual([]);
    }
    clock += 60;
    for (const [i, { start_ts, end_ts }] of processed.entries())
      app.say('manual/mode_confirm', { start_ts, end_ts, label: `mode_${i}` }, 'android', clock + i);
    await app.sync();
    clock += 30 * 86_400;
    await pipeline(store, uuid);
    const later = await cards();
    expect(later.map(({ id, raw }) => [id, raw.user_input.mode_confirm])).toEqual(
      processed.map(({ id }, i) => [id, `mode_${i}`]),
    );
    await app.dashboard('2016-01-01', '2016-01-14');
  });

  it('has trips, on most days several', () => {
    expect(seen).toBeGreaterThan(2 * recorded.length);
  });
});
