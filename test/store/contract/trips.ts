// Contract: the chain of trips.
import { expect } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import { briefOf } from '../../../src/model/trip-fields.ts';
import type { PipelineState } from '../../../src/store/store.ts';
import { battery, entry, newId, type Person, same, type Use } from './kit.ts';

/** A link of the chain; the store looks only at the fields that are set here. */
function link(chain_ts: number, fields: Partial<TripRecord> = {}): TripRecord {
  const place = { id: 'p', location: [9.05, 48.5] as [number, number], enter_ts: chain_ts - 1 };
  return {
    id: `id-${chain_ts}`,
    kind: 'trip',
    chain_ts,
    start_ts: chain_ts + 0.25,
    end_ts: chain_ts + 5.5,
    day: '2016-05-17',
    settled_ts: chain_ts + 6,
    trip: { id: `trip-${chain_ts}`, distance: -0 } as unknown as TripRecord['trip'],
    untracked: null,
    carry: { resume_ts: chain_ts + 4, started: false, raw_place: place, place: null },
    ...fields,
  };
}

/** A link that is no trip. */
const dropped = (chain_ts: number, fields: Partial<TripRecord> = {}): TripRecord =>
  link(chain_ts, { kind: 'dropped', trip: null, ...fields });

const tripOf = (...modes: string[]) =>
  ({
    start_zone: 'Europe/Berlin',
    start_loc: [9.0512345678901, -48.5],
    end_loc: [9.25, 0.1 + 0.2],
    sections: modes.map((sensed_mode, distance) => ({ sensed_mode, distance, coordinates: [[9, 48]] })),
  }) as unknown as TripRecord['trip'];

/** As JSON, without the fields that the trips of this test lack. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const everything = { from: -Infinity, to: Infinity };

export function tripTests(use: Use): void {
  const apply = (user: Person, put: TripRecord[], remove: number[] = [], state: Partial<PipelineState> = {}) =>
    user.leased((lease) => use.store.trips.apply(user.id, { put, remove }, state, lease));
  const chain = (user: Person) => use.store.trips.chain(user.id, { limit: 1_000 });
  const times = (list: readonly ({ chain_ts: number } | null)[]): (number | null)[] =>
    list.map((one) => one?.chain_ts ?? null);

  use.it('apply replaces links with the same chain_ts, removes others, and merges the state', async (user, other) => {
    await apply(other, [link(10, { id: 'other' })]);
    await apply(user, [link(10), link(20), link(30)]);
    await user.mergeState({ changed: { from: 12, to: 13 } });
    await apply(user, [link(20, { end_ts: 29 }), link(25.5)], [30, 40], { complete_until: 15.5 });
    expect(await user.state()).toMatchObject({ changed: { from: 12, to: 13 }, complete_until: 15.5 });
    same(await chain(user), [link(10), link(20, { end_ts: 29 }), link(25.5)]);
    expect((await use.store.counts(user.id)).trips).toBe(3);
    await apply(user, [link(20, { id: 'again' })], [10, 20]);
    same(await chain(user), [link(20, { id: 'again' }), link(25.5)]);
    same(await chain(other), [link(10, { id: 'other' })]);
  });

  use.it('places are kept beside the trips until others replace them or the user is erased', async (user, other) => {
    const { trips } = use.store;
    const keep = (which: Person, places: object): Promise<void> =>
      which.leased((lease) => trips.apply(which.id, { put: [], remove: [], places: { ...places } }, {}, lease));
    expect(await trips.places(user.id)).toBeNull();
    await keep(other, { of: 'other' });
    await keep(user, { key: 'k', until: 0.1 + 0.2, places: [{ at: [9.05, -0] }] });
    await apply(user, [link(10)], [10]);
    same(await trips.places(user.id), { key: 'k', until: 0.1 + 0.2, places: [{ at: [9.05, -0] }] });
    await keep(user, { key: 'l' });
    same(await trips.places(user.id), { key: 'l' });
    await use.store.erase(user.id);
    expect(await trips.places(user.id)).toBeNull();
    same(await trips.places(other.id), { of: 'other' });
  });

  use.it('figures of months are kept until replaced, and hidden while entries may change them', async (user, other) => {
    const { trips, users, usercache } = use.store;
    const state = { months: { newest: '2024-03', until: 1 } };
    const keep = (which: Person, months: { month: string; figures: JsonObject }[]): Promise<void> =>
      which.leased((lease) => trips.apply(which.id, { put: [], remove: [], months }, state, lease));
    const read = async ({ id }: Person, month = '2024-03') =>
      (await users.months({ limit: 1_000_000 }, month)).find(({ user_id }) => user_id === id);
    const march = { month: '2024-03', figures: { sum: 0.1 + 0.2, of: [-0, 'a\0'] } };
    expect(await read(user)).toMatchObject({ figures: null, registered_ts: expect.any(Number) });
    await keep(user, [march, { month: '2024-02', figures: {} }]);
    await keep(other, [{ ...march, figures: {} }]);
    same((await read(user))!.figures, march.figures);
    expect((await read(user, '2024-01'))!.figures).toBeNull();
    await keep(user, [march]);
    expect((await read(user, '2024-02'))!.figures).toBeNull();

    const label = (write_ts: number): Entry => entry('manual/mode_confirm', write_ts, { start_ts: 10, end_ts: 20 });
    const { revision } = (await read(user))!;
    await usercache.put(user.id, { entries: [entry(battery, 1)], unusable: [] }, 10);
    same((await read(user))!.figures, march.figures);
    expect((await read(user))!.revision).not.toBe(revision);
    await usercache.put(user.id, { entries: [label(2)], unusable: [] }, 10);
    expect((await read(user))!.figures).toBeNull();
    await user.moveAll();
    expect((await read(user))!.figures).toBeNull();
    expect(await use.store.pipeline.get(user.id)).toMatchObject({ months: null });
    await use.store.erase(user.id);
    expect(await read(user)).toBeUndefined();
    same((await read(other))!.figures, {});
  });

  use.it('spans contain the time of the last write of each trip', async (user) => {
    const written = async () => (await use.store.trips.spans(user.id, everything)).map((one) => one.written_ts);
    await apply(user, [link(10), link(20)]);
    const [first, second] = await written();
    while (Date.now() / 1000 <= second!); // until the clock has moved on
    await apply(user, [link(20, { end_ts: 29 }), link(30)]);
    const [kept, changed, added] = await written();
    expect([kept, changed! > second!, added]).toEqual([first, true, changed]);
    await apply(user, [dropped(25)]);
    const part = await use.store.trips.spans(user.id, { from: 20, to: 30 });
    expect(part).toEqual([{ chain_ts: 20, start_ts: link(20).start_ts, end_ts: 29, written_ts: changed }]);
    expect(await use.store.trips.spans(newId(), everything)).toEqual([]);
  });

  use.it('trips in brief by chain_ts are the present ones', async (user) => {
    const trip = tripOf('MotionTypes.ON_FOOT', 'PredictedModeTypes.BUS');
    await apply(user, [link(10.5, { trip }), link(20, { trip }), dropped(30), link(40, { trip })]);
    const briefs = (...asked: number[]) => use.store.trips.briefsAt(user.id, asked);
    const expected = [10.5, 40].map((ts) => briefOf(link(ts, { trip })));
    expect(plain(await briefs(40, 10.5, 30, 25, 40))).toEqual(plain(expected));
    expect(await briefs()).toEqual([]);
    expect(await use.store.trips.briefsAt(newId(), [10.5])).toEqual([]);
    for (const one of await briefs(20)) one.trip!.sections[0]!.sensed_mode = 'changed';
    expect((await briefs(20))[0]!.trip!.sections[0]!.sensed_mode).toBe('MotionTypes.ON_FOOT');
    await apply(user, [link(20, { trip: tripOf('TRAIN') })], [40]);
    expect((await briefs(20, 40)).map((one) => one.trip!.sections[0]!.sensed_mode)).toEqual(['TRAIN']);
  });

  use.it('chain gives links by chain_ts, half-open and limited', async (user) => {
    const links = [link(10), dropped(20), link(30, { settled_ts: null }), link(40)];
    await apply(user, [...links].reverse());
    same(await chain(user), links);
    same(await use.store.trips.chain(user.id, { from: 20, to: 40, limit: 10 }), links.slice(1, 3));
    same(await use.store.trips.chain(user.id, { from: 20, limit: 2 }), links.slice(1, 3));
    same(await use.store.trips.chain(user.id, { to: 20, limit: 10 }), links.slice(0, 1));
    same(await use.store.trips.chain(user.id, { from: 41, limit: 10 }), []);
  });

  use.it('links in brief reach from the trip before a range to the link after it', async (user) => {
    const trip = { ...tripOf('TRAIN')!, end_place: { id: 'home' }, evidence: { left_out: { spikes: 2 } } } as never;
    const silences = [{ from: 11, to: 12, reason: 'silent' as const }];
    const untracked = { start_ts: 39, end_ts: 40, start_loc: [9, 48], end_loc: [9, 49] } as never;
    const links = [link(10, { trip }), dropped(20, { silences }), link(30), link(40, { untracked }), dropped(50)];
    const draft = link(60, { kind: 'draft', trip: { ...tripOf('BUS')!, draft: true } });
    const put = { put: links, remove: [], drafts: [draft] };
    await user.leased((lease) => use.store.trips.apply(user.id, put, {}, lease));
    const all = await use.store.trips.briefs(user.id, everything);
    expect(plain(all)).toEqual(plain([...links, draft].map(briefOf)));
    const within = async (from: number, to: number) => times(await use.store.trips.briefs(user.id, { from, to }));
    expect(await within(25, 35)).toEqual([10, 20, 30, 40]);
    expect(await within(30, 40)).toEqual([10, 20, 30, 40]);
    expect(await within(41, 45)).toEqual([40, 50]);
    expect(await within(55, 60)).toEqual([40, 50]);
    expect(await within(55, 61)).toEqual([40, 50, 60]);
    expect(await within(61, 70)).toEqual([40, 50]);
    expect(await use.store.trips.briefs(newId(), everything)).toEqual([]);
  });

  use.it('drafts are stored beside the trip chain until apply replaces them', async (user, other) => {
    const draft = (chain_ts: number) => link(chain_ts, { kind: 'draft', settled_ts: null });
    const applyDrafts = (put: TripRecord[], drafts?: TripRecord[]) =>
      user.leased((lease) => use.store.trips.apply(user.id, { put, remove: [], ...(drafts && { drafts }) }, {}, lease));
    await applyDrafts([link(10)], [draft(30), draft(20)]);
    same(await use.store.trips.drafts(user.id), [draft(20), draft(30)]);
    expect(await use.store.trips.drafts(other.id)).toEqual([]);
    same(await chain(user), [link(10)]);
    const { next, previous, byDay, starts, summary, spans, briefsAt, lastSettledBefore } = use.store.trips;
    const days = { from: '0001-01-01', to: '9999-12-31' };
    expect([await next(user.id, 10), await briefsAt(user.id, [20, 30])]).toEqual([null, []]);
    same([await previous(user.id, 99), await lastSettledBefore(user.id, 99)], [link(10), link(10)]);
    expect((await byDay(user.id, days)).length + (await starts(user.id, days)).length).toBe(2);
    expect((await spans(user.id, everything)).length + (await summary(user.id)).count).toBe(2);
    await applyDrafts([link(20)]);
    same(await use.store.trips.drafts(user.id), [draft(30)]);
    same(await chain(user), [link(10), link(20)]);
    await applyDrafts([], []);
    expect(await use.store.trips.drafts(user.id)).toEqual([]);
  });

  use.it('lastSettledBefore gives the last link that is settled, with all links before it', async (user) => {
    const last = async (...before: number[]) =>
      times(await Promise.all(before.map((ts) => use.store.trips.lastSettledBefore(user.id, ts))));
    expect(await last(1e12)).toEqual([null]);
    await apply(user, [link(10), dropped(20), link(30), link(40, { settled_ts: null })]);
    expect(await last(15, 16, 16.5, 26.5, 36.5, 1e12)).toEqual([null, null, 10, 20, 30, 30]);
    same(await use.store.trips.lastSettledBefore(user.id, 20), link(10));
    await apply(user, [link(20, { settled_ts: 100 })], [40]);
    expect(await last(50, 101)).toEqual([10, 30]);
    await apply(user, [link(10, { settled_ts: null }), link(20)]);
    expect(await last(1e12)).toEqual([null]);
  });

  use.it('trips are found by local day, both ends included, without dropped links', async (user) => {
    const days = ['2016-05-16', '2016-05-17', '2016-05-18', '2016-05-19', '2016-05-20'] as const;
    const trip = (chain_ts: number, n: number) => link(chain_ts, { day: days[n]! });
    const noTrips = [dropped(20, { day: days[1] }), dropped(50, { day: days[4] })];
    // The trip at 35 is over the date line: its local day is before that of the trip before it.
    await apply(user, [trip(10, 0), trip(25, 1), trip(30, 2), trip(35, 1), trip(40, 3), ...noTrips]);
    const found = async (from: string, to: string) => times(await use.store.trips.byDay(user.id, { from, to }));
    expect(await found(days[1], days[2])).toEqual([25, 30, 35]);
    expect(await found(days[2], days[3])).toEqual([30, 40]);
    expect(await found(days[4], '2016-05-30')).toEqual([]);
    same(await use.store.trips.byDay(user.id, { from: days[0], to: days[0] }), [trip(10, 0)]);
    const starts = (from: string, to: string) => use.store.trips.starts(user.id, { from, to });
    expect(await starts(days[2], days[4])).toEqual([30, 40].map((chain_ts, i) => ({ chain_ts, day: days[2 + i] })));
    expect(await starts(days[4], '2016-05-21')).toEqual([]);
  });

  use.it('next, previous and summary ignore dropped links', async (user) => {
    expect(await use.store.trips.summary(user.id)).toEqual({ count: 0, start_ts: null, end_ts: null });
    await apply(user, [dropped(5), link(10), dropped(20), link(30), dropped(40)]);
    const { next, previous, summary } = use.store.trips;
    same(await next(user.id, 10), link(30));
    expect(times(await Promise.all([9.5, 30].map((ts) => next(user.id, ts))))).toEqual([10, null]);
    expect(times(await Promise.all([Infinity, 30, 10].map((ts) => previous(user.id, ts))))).toEqual([30, 10, null]);
    expect([await next(newId(), 0), await previous(newId(), Infinity)]).toEqual([null, null]);
    expect(await summary(user.id)).toEqual({ count: 2, start_ts: 10.25, end_ts: 35.5 });
  });

  use.it('neighbours are two trips before a time and three from it on, without dropped links', async (user, other) => {
    await apply(other, [link(31)]);
    const trips = [10, 20, 30, 40, 50, 60].map((ts) => link(ts));
    await apply(user, [...trips, dropped(25), dropped(55)]);
    const near = async (ts: number) => times(await use.store.trips.neighbours(user.id, ts));
    expect(await near(30)).toEqual([10, 20, 30, 40, 50]);
    expect(await near(30.5)).toEqual([20, 30, 40, 50, 60]);
    expect(await near(-Infinity)).toEqual([10, 20, 30]);
    expect(await near(Infinity)).toEqual([50, 60]);
    const [, span] = await use.store.trips.neighbours(user.id, 25);
    expect(span).toEqual((await use.store.trips.spans(user.id, { from: 20, to: 21 }))[0]);
    expect(await use.store.trips.neighbours(newId(), 0)).toEqual([]);
  });
}
