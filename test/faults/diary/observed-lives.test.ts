// The kinds of time of a random history: they sum to each day, and depend only on the entries, in any delivery, on any
// store. Recorded days are read where MOBILITY_TEST_DAYS and MOBILITY_TEST_CASES name folders of them, as in CI.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { correctedTrips } from '../../../src/diary/corrections/corrected-trips.ts';
import type { ObservedDay } from '../../../src/diary/observed-time.ts';
import { type Day, dayFigures, everyDay, readDays } from '../../../src/diary/read-days.ts';
import { readPersonMonth } from '../../../src/figures/month-report.ts';
import type { Entry } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import { addDays, allTime, startOfDay, type TimeRange } from '../../../src/model/time.ts';
import type { BriefRecord, TripRecord } from '../../../src/model/trip.ts';
import { briefOf } from '../../../src/model/trip-fields.ts';
import { simulateDays } from '../../../src/simulate/simulate-day.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeOnServers, newStoreOn } from '../../store/servers.ts';
import { correctionsOf } from '../../support/corrections.ts';
import { deliver, inOnePush } from '../../support/diary.ts';
import { anyLife, type Delivery, deliveriesOf, runs } from '../../support/lives.ts';
import { t0 } from '../../support/phone.ts';
import { pushedIn, recordedIn } from '../../support/recorded.ts';
import { newStore } from '../../support/store.ts';

const now = 4_000_000_000;

/** The maximum number of days that are checked: a phone with a wrong clock leaves decades of them. */
const most = 100;

/**
 * The days with data. Fails if the kinds of time do not fill a day, or a day does not begin where the day before ends.
 */
async function daysOf(store: Store, uuid: string): Promise<ObservedDay[]> {
  const days: ObservedDay[] = [];
  for await (const { observed } of everyDay(store, { uuid }, {}, now)) {
    const { day, from, to, spans, moving_s, staying_s, unobserved_s, off_s } = observed;
    const before = days.at(-1);
    if (before !== undefined && addDays(before.day, 1) === day) expect(from).toBe(before.to);
    expect(moving_s + staying_s + unobserved_s).toBeCloseTo(to - from, 3);
    expect(Math.min(moving_s, staying_s, off_s, unobserved_s - off_s)).toBeGreaterThanOrEqual(0);
    expect([from, ...spans.map((span) => span.to)]).toEqual([...spans.map((span) => span.from), to]);
    if (days.push(observed) === most) break;
  }
  return days;
}

/** The store, with days that are derived from whole links and entries alone. */
const withWholeLinks = (store: Store): Store => ({
  ...store,
  timeseries: { ...store.timeseries, facts: async () => null },
  trips: {
    ...store.trips,
    briefs: (userId, range) => correctedTrips({ ...store, corrections: [] }).around(userId, range),
  },
});

/** Fails if links in brief and facts about entries lead to other days, flags or figures. */
async function expectSameInBrief(store: Store, uuid: string): Promise<void> {
  const whole = withWholeLinks(store);
  const trips = correctedTrips(store);
  const expectBriefs = async (range: TimeRange): Promise<void> =>
    expect(await trips.briefs(uuid, range)).toEqual((await trips.around(uuid, range)).map(withoutLine));
  await expectBriefs(allTime);
  const [days, others] = [everyDay(store, { uuid }, {}, now), everyDay(whole, { uuid }, {}, now)];
  for (let i = 0; i < most; i++) {
    const [day, other] = [(await days.next()).value, (await others.next()).value];
    if (!day || !other) return expect(day).toEqual(other);
    const seen = ({ observed, flagged, records }: Day) => ({ observed, flagged, records: records.map(withoutLine) });
    expect(seen(day)).toEqual(seen(other));
    expect(dayFigures(day)).toEqual(dayFigures(other));
    await expectBriefs(day.observed);
    if (i > 3) continue;
    const [alone, otherwise] = await Promise.all(
      [store, whole].map((one) => everyDay(one, { uuid }, { from: day.day, to: day.day }, now).next()),
    );
    expect(seen(alone!.value as Day)).toEqual(seen(otherwise!.value as Day));
    const month = day.day.slice(0, 7);
    const figures = (one: Store) => readPersonMonth(one, uuid, month, 'mode');
    expect(await figures(store)).toEqual(await figures(whole));
  }
}

/** A link without the fields that a link in brief lacks. */
const withoutLine = (link: BriefRecord) => briefOf(link as TripRecord);

/** The days after a whole delivery. They are also checked after each run before. */
async function daysAfter(store: Store, uuid: string, delivery: Delivery): Promise<ObservedDay[]> {
  const checked = async (): Promise<ObservedDay[]> => {
    const days = await daysOf(store, uuid);
    await expectSameInBrief(store, uuid);
    return days;
  };
  const work = async (): Promise<ObservedDay[]> => {
    const days = await checked();
    for (const one of days.slice(-3)) {
      const [alone] = await readDays(store, { uuid }, { from: one.day, to: one.day }, now);
      expect(alone!.observed, `${one.day} alone`).toEqual(one);
    }
    return days;
  };
  return deliver(store, uuid, delivery, work, checked);
}

/** The entries, `seconds` later. */
function later(entries: readonly Entry[], seconds: number): Entry[] {
  return entries.map(({ metadata, data }) => ({
    metadata: { ...metadata, write_ts: metadata.write_ts + seconds },
    data: { ...data, ...(typeof data.ts === 'number' && data.ts > 1 && { ts: data.ts + seconds }) },
  }));
}

/** Histories over clock changes of their zones, some with corrections, and their deliveries. */
const lives = fc
  .tuple(anyLife, fc.constantFrom('2023-11-14', '2024-03-09', '2024-03-30', '2024-10-26', '2024-11-02'))
  .map(([entries, day]) => later(entries, Date.parse(`${day}T07:00:00Z`) / 1000 - t0))
  .chain((entries) => fc.tuple(fc.constant(entries), fc.oneof(correctionsOf(entries), fc.constant([]))))
  .map(([entries, corrections]) => [...entries, ...corrections])
  .chain((entries) => fc.tuple(fc.constant(entries), deliveriesOf(entries)));

async function expectToFill(store: Store, plain: Store, usual: number): Promise<void> {
  const property = fc.asyncProperty(lives, fc.constant(newUuid()), async ([entries, delivery], uuid) => {
    const days = await daysAfter(store, uuid, delivery);
    expect(days).toEqual(await daysAfter(plain, uuid, inOnePush(entries)));
  });
  await fc.assert(property, runs(usual));
}

const title = 'fill every day after every run, and are the same however it was delivered';

describe('the kinds of time of a random history', () => {
  it(title, async () => {
    const store = await newStore();
    await expectToFill(store, store, 12);
  });

  it.each([
    ['2024-03-30', [24, 23, 24]],
    ['2024-10-26', [24, 25, 24]],
  ])('sum to the length of each day around a change of the clock from %s', async (day, hours) => {
    const store = await newStore();
    const entries = [...simulateDays({ platform: 'android', day, seed: 'ada', zone: 'Europe/Berlin' }, 3)].flat();
    const days = await daysAfter(store, newUuid(), inOnePush(entries));
    expect(days.map(({ from }) => from)).toEqual(days.map(({ day }) => startOfDay(day, 'Europe/Berlin')));
    expect(days.map(({ from, to }) => (to - from) / 3600)).toEqual(hours);
  });
});

describeOnServers('the kinds of time of a random history on MongoDB', (server) => {
  it(title, async () => expectToFill((await newStoreOn(server())).store, await newStore(), 3));
});

const { MOBILITY_TEST_DAYS, MOBILITY_TEST_CASES } = process.env;
const recorded = [...recordedIn(MOBILITY_TEST_DAYS), ...recordedIn(MOBILITY_TEST_CASES)];

describe.skipIf(recorded.length === 0)('the kinds of time of recorded days', () => {
  it.each(recorded)('%s: fill every day, and are the same for any delivery', async (_, path) => {
    const store = await newStore();
    const [uuid, entries] = [newUuid(), pushedIn(path)];
    const days = await daysAfter(store, uuid, inOnePush(entries));
    const property = fc.asyncProperty(deliveriesOf(entries), async (delivery) => {
      expect(await daysAfter(store, uuid, delivery)).toEqual(days);
    });
    await fc.assert(property, runs(1));
  });
});
