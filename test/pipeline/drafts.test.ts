// The last trip of a person: a draft until later data end it, shown and exported, and in no document.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTripsOfDays } from '../../src/diary/build-trip-documents.ts';
import { everyDay } from '../../src/diary/read-days.ts';
import { rowsOf } from '../../src/export/table-rows.ts';
import { fromOwnTracks } from '../../src/intake/apps/owntracks.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { Store } from '../../src/store/store.ts';
import { chainAfter, putAndRun } from '../support/diary.ts';
import { chained, trip } from '../support/equator-trips.ts';
import { runs } from '../support/lives.ts';
import { leaseOn, newUser, useStore } from '../support/store.ts';

const t0 = 1_777_870_800;
const hour = 3600;
const now = t0 + 180 * 24 * hour;

const message = (ts: number, metres: number, more: object = {}): Entry[] =>
  fromOwnTracks({ _type: 'location', lat: 38.57, lon: -7.9 + metres / 86_900, tst: ts, acc: 8, vel: 0, ...more })
    .entries;

/** An hour at home, a ride of 6 km, then nothing. */
const home = Array.from({ length: 13 }, (_, i) => message(t0 + 300 * i, i % 3)).flat();
const ride = Array.from({ length: 40 }, (_, i) => message(t0 + hour + 15 * (i + 1), 150 * (i + 1), { vel: 36 })).flat();
/** Nine hours of rest, with a ping each half hour. */
const pings = Array.from({ length: 18 }, (_, i) =>
  message(t0 + hour + 600, 6000, { t: 'p', created_at: t0 + hour + 600 + 1800 * (i + 1) }),
).flat();

const day = { from: '2026-05-04', to: '2026-05-04' };

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
const rowsIn = (store: Store, uuid: string, kinds: Parameters<typeof rowsOf>[0]) => {
  const person = { uuid, id: 1, name: 'ada', subgroup: null } as never;
  return listOf(rowsOf(kinds, { store, person, days: day, now }));
};

describe('the last trip of a person who removes the app', () => {
  const store = useStore();

  it('is a draft in days and exports, not in trip chain or documents, until later data end it', async () => {
    const uuid = await newUser(store);
    expect((await chainAfter(store, uuid, [...home, ...ride])).filter(({ trip }) => trip !== null)).toEqual([]);
    expect((await readTripsOfDays(store, uuid, day)).size).toBe(0);
    const [shown] = await listOf(everyDay(store, { uuid, joined_ts: undefined } as never, day, now, true));
    expect(shown!.records).toMatchObject([{ kind: 'dropped' }, { kind: 'draft', trip: { draft: true } }]);
    expect(shown!.records[1]!.trip!.distance).toBeGreaterThan(5500);
    expect(shown!.observed.moving_s).toBeGreaterThan(500);
    const documents = await readTripsOfDays(store, uuid, day, { drafts: true });
    expect(documents.get('2026-05-04')!.map(({ properties }) => properties.draft)).toEqual([true]);
    const rows = await rowsIn(store, uuid, ['trips', 'sections', 'days']);
    expect(rows.map(([kind, { draft }]) => `${kind} ${draft}`)).toEqual(['trips true', 'sections true', 'days true']);

    const ended = await chainAfter(store, uuid, message(t0 + 11 * hour, 6000));
    expect(ended.map(({ kind }) => kind)).toEqual(['dropped', 'trip']);
    expect(await store.trips.drafts(uuid)).toEqual([]);
  });

  it('is in the file of its local day, though a trip before it began beyond the date line, on the next day', async () => {
    const uuid = await newUser(store);
    const noon = (day: string) => Date.parse(`${day}T12:00Z`) / 1000;
    const [from, to] = ['2026-05-04', '2026-05-05'];
    const ride = (start: number, east: number) => [{ times: [start, start + 600], easts: [east, east + 6000] }];
    const before = trip('before', ride(noon(from) - 3 * hour, 0), { day: from });
    const beyond = trip('beyond', ride(noon(from) - hour, 6000), { day: to }, Array(2).fill('Pacific/Kiritimati'));
    const back = { day: from, kind: 'draft' } as const;
    const draft = trip('draft', ride(noon(from) + 2 * hour, 12_000), back, Array(2).fill('Pacific/Honolulu'));
    const change = { put: chained(before, beyond), remove: [], drafts: [draft] };
    await store.trips.apply(uuid, change, {}, await leaseOn(store, uuid));
    expect((await rowsIn(store, uuid, ['trips'])).map(([, { trip_id }]) => trip_id)).toEqual(['before', 'draft']);
  });

  it('is the same in every order and over stretches of any size, with pings that show the rest after it', async () => {
    const seenOf = async (uuid: string) => {
      const { observed } = await store.pipeline.get(uuid);
      const drafts = await store.trips.drafts(uuid);
      return { observed, drafts: drafts.map(({ start_ts, end_ts, trip }) => [start_ts, end_ts, trip!.distance]) };
    };
    const all = [...home, ...ride, ...pings];
    const whole = await newUser(store);
    await putAndRun(store, whole, all);
    const expected = await seenOf(whole);
    expect(expected.drafts).toHaveLength(1);
    expect(expected.observed!.seen.ts).toBe(t0 + hour + 600 + 18 * 1800);
    expect(expected.observed!.silences.map(({ inferred }) => inferred)).toEqual(Array(18).fill(true));
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(all, { minLength: all.length }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 5, max: 100 }),
        async (shuffled, parts, stretchSize) => {
          const uuid = await newUser(store);
          const size = Math.ceil(shuffled.length / parts);
          for (let i = 0; i < shuffled.length; i += size)
            await putAndRun(store, uuid, shuffled.slice(i, i + size), { stretchSize });
          expect(await seenOf(uuid)).toEqual(expected);
        },
      ),
      runs(10),
    );
  });
});
