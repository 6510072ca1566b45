// A participant's life with the app of today, through sockets: join, register, travel, drafts, trips, lasting labels.
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { studyConfig } from '../../src/model/study-config.ts';
import type { Serving } from '../../src/server/listen.ts';
import { simulateDay } from '../../src/simulate/simulate-day.ts';
import type { Store } from '../../src/store/store.ts';
import { languages } from '../../src/web/pages/texts/texts.ts';
import { config, type Kit, listen, openKit } from '../server/kit.ts';
import type { Opened } from '../store/contract.ts';
import { describeOnServers, newStoreOn } from '../store/servers.ts';
import { pipeline } from '../support/diary.ts';
import { studySettings } from '../support/study.ts';
import type { Untyped } from '../support/untyped.ts';
import { type Card, joinByLink, openPhoneApp, type PhoneApp } from './phone-app.ts';

const zone = 'Europe/Berlin';
const firstDay = '2024-03-12';
const midnight = Date.parse(`${firstDay}T00:00:00+01:00`) / 1000;
const day = 86_400;

let kit: Kit;
let store: Store;
let serving: Serving;
let clock: number;
let link: string;

/** A server with an open study with these subgroups, on the embedded store or on the one that `open` returns. */
function served(subgroups: string[], open?: () => Promise<Opened>): void {
  beforeEach(async () => {
    const other = await open?.();
    const wrap = (embedded: Store): Store => other?.store ?? embedded;
    kit = await openKit({ config: { ...config, auth: 'token' }, now: () => clock, wrap });
    store = wrap(kit.store);
    serving = await listen(kit.app);
    const study = studySettings({ subgroups });
    const address = `http://127.0.0.1:${serving.port}`;
    await store.studies.put({ ...study, config: studyConfig(study, { address, now: 1, texts: languages }) });
    link = `emission://join?study_config=sunny&sub_group=${subgroups[0] ?? 'default'}`;
  });
}

/** Opens the link of the study on a phone whose app asks this server for configurations. */
const joined = async (): Promise<PhoneApp> =>
  openPhoneApp({
    ...(await joinByLink(link, (study) => `http://127.0.0.1:${serving.port}/configs/${study}.nrel-op.json`)),
    zone,
    now: () => clock,
  });
const travelled = (platform: 'android' | 'ios', date: string) =>
  simulateDay({ platform, day: date, seed: `${platform} ${date}`, zone });
const trips = (cards: readonly Card[]): Card[] => cards.filter(({ origin_key }) => origin_key.endsWith('trip'));
const run = async (): Promise<void> => {
  for (const { uuid } of await store.users.list({ limit: 10 })) await pipeline(store, uuid);
};

describe.each([
  ['android', ['west']],
  ['ios', []],
] as const)('on %s, in a study with the subgroups %j', (platform, subgroups) => {
  served([...subgroups]);
  live(platform);
});
describeOnServers('the history of a phone on MongoDB', (server) => {
  served(['west'], () => newStoreOn(server()));
  live('android');
});

function live(platform: 'android' | 'ios'): void {
  it('drafts become trips with modes, lines and lengths, and labels, surveys and notes are kept', async () => {
    clock = midnight + 23 * 3600;
    const app = await joined();
    await app.register();
    expect(await app.start({ curr_platform: platform, phone_lang: 'de' })).toBeTypeOf('object');
    expect(await app.range()).toEqual({ start_ts: null, end_ts: null });
    expect(await app.timeline(midnight, clock)).toEqual([]);

    // A day of travel, synced; the pipeline has not run: drafts.
    app.record(travelled(platform, firstDay));
    await app.sync();
    const drafts = await app.timeline(midnight, clock);
    expect(drafts.length).toBeGreaterThan(2);
    expect(drafts.every((card) => card.draft && card.toLabel)).toBe(true);

    // The participant labels two drafts before anything is processed: one now, one is still on the phone.
    const [one, two] = drafts as [Card, Card];
    const times = ({ start_ts, end_ts }: Card) => ({ start_ts, end_ts });
    const say = (key: string, data: JsonObject, after: number) =>
      app.say(`manual/${key}`, data, platform, clock + after);
    say('mode_confirm', { ...times(one), label: 'bike' }, 1);
    say('purpose_confirm', { ...times(one), label: 'work' }, 2);
    await app.sync();
    say('mode_confirm', { ...times(two), label: 'walk' }, 3);

    await run();
    clock += 600;
    const processed = trips(await app.timeline(midnight, clock));
    expect(processed.length).toBeGreaterThan(2);
    for (const card of processed) {
      expect(card).toMatchObject({ draft: false, day: firstDay });
      expect(card.modes.length).toBeGreaterThan(0);
      expect(card.raw.distance).toBeGreaterThan(0);
      expect(card.lines.length).toBe(card.raw.sections.length);
      for (const line of card.lines) expect(line.length).toBeGreaterThan(1);
      for (const { sensed_mode_str, mode_confidence, mode_probabilities } of card.raw.sections) {
        expect(mode_confidence).toBeGreaterThan(0);
        expect(Math.max(...(Object.values(mode_probabilities) as number[]))).toBeCloseTo(mode_confidence, 6);
        expect(mode_probabilities, sensed_mode_str).toHaveProperty(sensed_mode_str);
      }
      expect(card.raw.locations.length).toBeLessThanOrEqual(100);
      expect(card.places).not.toContain(null);
    }
    for (const [i, card] of processed.slice(1).entries()) {
      expect(card.start_ts).toBeGreaterThanOrEqual(processed[i]!.end_ts);
      expect(card.places[0]).toBe(processed[i]!.places[1]);
    }
    const labels = processed.flatMap((card) => card.labels.mode_confirm ?? []);
    expect(labels.toSorted()).toEqual(['bike', 'walk']);
    const first = processed.find((card) => card.labels.mode_confirm === 'bike')!;
    expect([first.labels.purpose_confirm, first.toLabel]).toEqual(['work', false]);

    // Notes and a survey, one note deleted again; a correction; then weeks pass and newer trips are processed.
    const survey = { ...times(first), name: 'Activity', version: 1.2, xmlResponse: '<a/>' };
    const note = (label: string, match_id: string, more = {}) => ({ ...survey, label, match_id, ...more });
    clock += 60;
    say('trip_addition_input', note('reading', 'n1'), 0);
    say('trip_addition_input', note('phoning', 'n2'), 1);
    say('trip_addition_input', note('reading', 'n1', { status: 'DELETED' }), 2);
    say('trip_user_input', note('1 purpose', 's1'), 3);
    say('mode_confirm', { ...times(first), label: 'e_bike' }, 4);
    clock += 60;
    const labelled = trips(await app.timeline(midnight, clock)).find(({ id }) => id === first.id)!;
    expect(labelled).toMatchObject({ labels: { mode_confirm: 'e_bike' }, notes: ['phoning'], survey: '1 purpose' });
    await app.sync();
    clock += 20 * day;
    app.record(travelled(platform, '2024-04-01'));
    await app.sync();
    await run();
    clock += 60;
    const later = trips(await app.timeline(midnight, midnight + 2 * day));
    expect(later.map(({ id }) => id)).toEqual(processed.map(({ id }) => id));
    expect((await app.range()).end_ts).toBeGreaterThan(clock - 2 * day);
    const still = later.find(({ id }) => id === first.id)!;
    const trip_user_input = { data: { label: '1 purpose' } };
    expect(still.raw.user_input).toMatchObject({ mode_confirm: 'e_bike', purpose_confirm: 'work', trip_user_input });
    expect(still.notes).toEqual(['phoning']);
    expect(still.raw.additions.map((row: Untyped) => row.data.status ?? 'ACTIVE')).toEqual(['ACTIVE']);
    expect(later.filter((card) => card.raw.user_input.mode_confirm === 'walk')).toHaveLength(1);

    expect(await app.dashboard(firstDay, '2024-03-18')).toEqual({});

    // The profile counts what the diary has; the answers for apps of other years show the same words.
    const profile = await app.start({});
    expect(profile).toMatchObject({ pipeline_range: await app.range(), labeled_trips: 2 });
    expect(profile.total_trips).toBeGreaterThan(later.length);
    const { timeline } = await app.call(`/timeline/getTrips/${firstDay}`);
    const words = (trips: Untyped[]) => trips.flatMap(({ properties }) => properties.user_input.mode_confirm ?? []);
    expect(words(timeline)).toEqual(later.flatMap(({ raw }) => raw.user_input.mode_confirm ?? []));
    const metric_list = { distance: ['mode_confirm'], count: ['mode_confirm'] };
    const range = { start_time: firstDay, end_time: firstDay };
    const mine = await app.call('/result/metrics/yyyy_mm_dd', { ...range, metric_list });
    const byMode = { mode_confirm_e_bike: 1, mode_confirm_walk: 1 };
    const unlabelled = { mode_confirm_UNLABELED: timeline.length - 2 };
    expect(mine.count).toEqual([{ date: firstDay, nUsers: 1, ...byMode, ...unlabelled }]);
    expect(mine.distance[0].mode_confirm_e_bike).toBeCloseTo(still.raw.distance, 6);
  });
}
