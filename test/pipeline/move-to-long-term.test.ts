// Stage "move to long term": what goes where, what it marks as changed, and zones that other entries hang on.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { allEntries, chainAfter, derived, memoryLog, putAndRun } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, type Phone, pushed, pushedFix, pushedRide } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

const battery = (phone: Phone, seconds: number, data = {}): Entry =>
  pushed(phone, 'background/battery', seconds, { battery_level_pct: 50, battery_status: 3, ...data });
describe('the move', () => {
  it('moves entries unchanged, also with unknown keys, and continues after one that it rejects', async () => {
    const user = await newUser(store);
    const [good, bad] = [battery(android, 1), battery(android, 2, { battery_status: 'full' })];
    const unknown = pushed({ platform: 'script' as never, zone: null }, 'no/such', 3, { any: [1] });
    const report = await putAndRun(store, user, [good, bad, unknown]);
    expect(report.stages[0]!.counts).toMatchObject({ moved: 2, inserted: 2, unknown_keys: 1, set_aside: 1 });
    expect(await allEntries(store.timeseries, user)).toEqual([good, unknown]);
  });

  it('leaves nothing pending, counts its work, and logs each rejected entry without its payload', async () => {
    const user = await newUser(store);
    const log = memoryLog();
    const rejected = battery(android, 9000, { battery_status: 'full 13.4' });
    const report = await putAndRun(store, user, [...pushedRide(android, 0, 0), rejected], { log });
    expect(report.stages[0]!.counts).toMatchObject({ set_aside: 1, updated: 0 });
    const lines = log.lines.filter((line) => line.includes('background/battery') && line.includes(`${t0 + 9000}`));
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['WARNING', 'DEBUG']);
    expect(lines.join()).not.toContain('13.4');
    expect(await store.usercache.count(user)).toBe(0);
    expect(await store.errors.list(user, { limit: 10 })).toMatchObject([{ reason: 'wrong_type', tries: 1 }]);
  });
});

describe('the zone of entries that name none', () => {
  const nowhere: Phone = { platform: 'android', zone: null };
  const tokyo: Phone = { platform: 'android', zone: 'Asia/Tokyo' };
  const paris: Phone = { platform: 'android', zone: 'Europe/Paris' };
  const ride = pushedRide(nowhere, 0, 0);
  const zoneAfter = async (user: string, ...entries: Entry[]): Promise<string> => {
    const [link] = await chainAfter(store, user, entries);
    expect(link!.trip!.zone_guessed).toBe(true);
    return link!.trip!.start_zone;
  };

  it('follows a later entry near them, and then an even later one that is nearer', async () => {
    const user = await newUser(store);
    expect(await zoneAfter(user, ...ride)).toBe('Europe/Berlin');
    expect(await zoneAfter(user, battery(tokyo, -5000))).toBe('Asia/Tokyo');
    expect(await zoneAfter(user, battery(paris, -4000))).toBe('Europe/Paris');
    expect(await zoneAfter(user, battery(tokyo, -6000))).toBe('Europe/Paris');
  });

  it('follows an entry that stops naming one, names another, or fails', async () => {
    const user = await newUser(store);
    expect(await zoneAfter(user, ...ride, battery(paris, -5000), battery(tokyo, -4000))).toBe('Asia/Tokyo');
    expect(await zoneAfter(user, battery(nowhere, -4000))).toBe('Europe/Paris');
    expect(await zoneAfter(user, battery(tokyo, -4000))).toBe('Asia/Tokyo');
    expect(await zoneAfter(user, battery(tokyo, -4000, { battery_status: 'full' }))).toBe('Europe/Paris');
    expect(await zoneAfter(user, battery({ platform: 'android', zone: 'Mars/Base' }, -5000))).toBe('Europe/Berlin');
  });
});

describe('the locations that count', () => {
  const unfiltered = (entries: Entry[]): Entry[] =>
    entries.map((e) =>
      e.metadata.key === 'background/filtered_location'
        ? { ...e, metadata: { ...e.metadata, key: 'background/location' } }
        : e,
    );

  it('are all of a phone that never filters, and from the first filtered one on only filtered ones', async () => {
    const user = await newUser(store);
    const all = unfiltered([...pushedRide(android, 0, 0), ...pushedRide(android, 20_000, 6000)]);
    expect(await chainAfter(store, user, all)).toHaveLength(2);
    const [link, ...more] = await chainAfter(store, user, pushedRide(android, 20_000, 6000));
    expect(more).toEqual([]);
    expect(link!.chain_ts).toBe(t0 + 20_000);
    expect((await store.pipeline.get(user)).locations_from).toBe('background/filtered_location');
    expect((await derived(store, user)).documents).toHaveLength(1);
  });

  it('are all again when the last filtered one is removed', async () => {
    const user = await newUser(store);
    const ride = [...unfiltered(pushedRide(android, 0, 0)), pushedFix(android, 90_000, 0)];
    expect(await chainAfter(store, user, ride)).toEqual([]);
    expect(await chainAfter(store, user, [pushedFix(android, 90_000, 0, 0, { accuracy: -1 })])).toHaveLength(1);
  });
});
