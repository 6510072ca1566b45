// Contract: the chain of trips.
import { expect } from 'vitest';
import type { TripRecord } from '../../../src/model/trip.ts';
import type { PipelineState } from '../../../src/store/store.ts';
import { newId, type Person, same, type Use } from './kit.ts';

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

const everything = { from: -Infinity, to: Infinity };

export function tripTests(use: Use): void {
  const replace = (
    user: Person,
    range: { from: number; to: number },
    records: TripRecord[],
    state: Partial<PipelineState> = {},
  ) => user.leased((lease) => use.store.trips.replace(user.id, range, records, state, lease));
  const chain = (user: Person) => use.store.trips.chain(user.id, { limit: 1_000 });

  use.it('replace replaces the links of the range by the records and counts its changes', async (user) => {
    const first = await replace(user, everything, [link(10), link(20), link(30)]);
    expect(first).toEqual({ added: 3, removed: 0, changed: 0, unchanged: 0 });
    const again = await replace(user, everything, [link(10), link(20), link(30)]);
    expect(again).toEqual({ added: 0, removed: 0, changed: 0, unchanged: 3 });
    const counts = await replace(user, { from: 10, to: 31 }, [link(10), link(20, { end_ts: 29 }), link(25.5)]);
    expect(counts).toEqual({ added: 1, removed: 1, changed: 1, unchanged: 1 });
    same(await chain(user), [link(10), link(20, { end_ts: 29 }), link(25.5)]);
    expect((await use.store.counts(user.id)).trips).toBe(3);
  });

  use.it('days and previous tell of trips, not of dropped links', async (user) => {
    const dropped = { kind: 'dropped', trip: null } as const;
    const links = [
      link(10, { day: '2016-05-17' }),
      link(20, { day: '2016-05-19' }),
      link(30, { day: '2016-05-17' }),
      link(40, { day: '2016-05-20', ...dropped }),
    ];
    await replace(user, everything, links);
    const days = (from: string, to: string) => use.store.trips.days(user.id, { from, to });
    expect(await days('2016-05-17', '2016-05-20')).toEqual(['2016-05-17', '2016-05-19']);
    expect(await days('2016-05-18', '2016-05-19')).toEqual(['2016-05-19']);
    expect(await days('2016-05-20', '2016-05-21')).toEqual([]);
    const previous = async (ts: number) => (await use.store.trips.previous(user.id, ts))?.chain_ts ?? null;
    expect(await previous(Infinity)).toBe(30);
    expect(await previous(30)).toBe(20);
    expect(await previous(10)).toBeNull();
    expect(await use.store.trips.previous(newId(), Infinity)).toBeNull();
  });

  use.it('spans contain the time of the last write: an unchanged trip keeps its time', async (user) => {
    const times = async () => (await use.store.trips.spans(user.id, everything)).map((one) => one.written_ts!);
    await replace(user, everything, [link(10), link(20)]);
    const [first, second] = await times();
    while (Date.now() / 1000 <= second!); // until the clock has moved on
    await replace(user, everything, [link(10), link(20, { end_ts: 29 }), link(30)]);
    const [kept, changed, added] = await times();
    expect([kept, changed! > second!, added]).toEqual([first, true, changed]);
    await replace(user, { from: 25, to: 26 }, [link(25, { kind: 'dropped', trip: null })]);
    const part = await use.store.trips.spans(user.id, { from: 20, to: 30 });
    expect(part).toEqual([{ chain_ts: 20, start_ts: link(20).start_ts, end_ts: 29, written_ts: changed }]);
    expect(await use.store.trips.spans(newId(), everything)).toEqual([]);
  });

  use.it('outlines tell ends and modes of the trips that are asked for, without their lines', async (user) => {
    const trip = {
      start_zone: 'Europe/Berlin',
      start_loc: [9.0512345678901, -48.5],
      end_loc: [9.25, 0.1 + 0.2],
      sections: [
        { sensed_mode: 'PredictedModeTypes.BUS', distance: 1000.125, coordinates: [[9, 48]] },
        { sensed_mode: 'MotionTypes.ON_FOOT', distance: 0, coordinates: [] },
      ],
    } as unknown as TripRecord['trip'];
    const dropped = link(30, { kind: 'dropped', trip: null });
    await replace(user, everything, [link(10.5, { trip }), link(20, { trip }), dropped, link(40, { trip })]);
    const outline = (chain_ts: number) => ({
      chain_ts,
      start_ts: chain_ts + 0.25,
      start_zone: 'Europe/Berlin',
      start_loc: [9.0512345678901, -48.5],
      end_loc: [9.25, 0.1 + 0.2],
      sections: [
        { sensed_mode: 'PredictedModeTypes.BUS', distance: 1000.125 },
        { sensed_mode: 'MotionTypes.ON_FOOT', distance: 0 },
      ],
    });
    expect(await use.store.trips.outlines(user.id, [40, 10.5, 30, 25, 40])).toEqual([outline(10.5), outline(40)]);
    expect(await use.store.trips.outlines(user.id, [])).toEqual([]);
    expect(await use.store.trips.outlines(newId(), [10.5])).toEqual([]);
  });

  use.it('outlines that were read before are those of the trips of now', async (user) => {
    const tripOf = (mode: string) =>
      ({
        start_zone: 'UTC',
        start_loc: [9, 48],
        end_loc: [9.25, 48],
        sections: [{ sensed_mode: mode, distance: 1 }],
      }) as unknown as TripRecord['trip'];
    const modes = async () =>
      (await use.store.trips.outlines(user.id, [10, 20])).map(({ sections }) => sections.map((one) => one.sensed_mode));
    await replace(user, everything, [link(10, { trip: tripOf('BUS') }), link(20, { trip: tripOf('CAR') })]);
    expect(await modes()).toEqual([['BUS'], ['CAR']]);
    for (const { sections } of await use.store.trips.outlines(user.id, [10, 20])) sections[0]!.sensed_mode = 'changed';
    expect(await modes()).toEqual([['BUS'], ['CAR']]);
    await replace(user, everything, [link(10, { trip: tripOf('TRAIN') })]);
    expect(await modes()).toEqual([['TRAIN']]);
    await use.store.erase(user.id);
    expect(await modes()).toEqual([]);
  });

  use.it('links outside the range stay: its start is part of it and its end is not', async (user) => {
    await replace(user, everything, [link(10), link(20), link(30)]);
    expect(await replace(user, { from: 20, to: 30 }, [])).toEqual({ added: 0, removed: 1, changed: 0, unchanged: 0 });
    same(await chain(user), [link(10), link(30)]);
  });

  use.it('replace merges the state with it', async (user) => {
    await replace(user, everything, [link(10)], { complete_until: 15.5, changed: { from: 12, to: 13 } });
    await replace(user, everything, [link(10)], { documents_due: true });
    expect(await use.store.pipeline.get(user.id)).toMatchObject({
      complete_until: 15.5,
      changed: { from: 12, to: 13 },
      documents_due: true,
      last_error: null,
    });
  });

  use.it('replace keeps the mark of changed data, unless the state names another', async (user) => {
    const changed = async () => (await use.store.pipeline.get(user.id)).changed;
    await replace(user, everything, [link(10), link(20)]);
    expect(await changed()).toBeNull();
    await replace(user, everything, [link(10), link(30)], { changed: { from: 12, to: 13 } });
    expect(await changed()).toEqual({ from: 12, to: 13 });
    await replace(user, { from: 25, to: 50 }, [link(40)], { documents_due: true });
    expect(await changed()).toEqual({ from: 12, to: 13 });
    await replace(user, everything, [], { changed: null });
    expect(await changed()).toBeNull();
  });

  use.it('two users have two chains', async (a, b) => {
    await replace(a, everything, [link(10)]);
    await replace(b, everything, [link(10, { id: 'b' })]);
    await replace(a, everything, []);
    same(await chain(a), []);
    same(await chain(b), [link(10, { id: 'b' })]);
  });

  use.it('chain gives links by chain_ts, half-open and limited', async (user) => {
    const links = [link(10), link(20, { kind: 'dropped', trip: null }), link(30, { settled_ts: null }), link(40)];
    await replace(user, everything, [...links].reverse());
    same(await chain(user), links);
    same(await use.store.trips.chain(user.id, { from: 20, to: 40, limit: 10 }), links.slice(1, 3));
    same(await use.store.trips.chain(user.id, { from: 20, limit: 2 }), links.slice(1, 3));
    same(await use.store.trips.chain(user.id, { to: 20, limit: 10 }), links.slice(0, 1));
    same(await use.store.trips.chain(user.id, { from: 41, limit: 10 }), []);
  });

  use.it('lastSettledBefore gives the last link that hangs, with all before it, on earlier data only', async (user) => {
    const last = async (ts: number) => (await use.store.trips.lastSettledBefore(user.id, ts))?.chain_ts ?? null;
    expect(await last(1e12)).toBeNull();
    const links = [link(10), link(20, { kind: 'dropped', trip: null }), link(30), link(40, { settled_ts: null })];
    await replace(user, everything, links);
    expect(await last(15)).toBeNull();
    expect(await last(16)).toBeNull();
    expect(await last(16.5)).toBe(10);
    expect(await last(26.5)).toBe(20);
    expect(await last(36.5)).toBe(30);
    expect(await last(1e12)).toBe(30);
    same(await use.store.trips.lastSettledBefore(user.id, 20), link(10));
  });

  use.it('lastSettledBefore stops at a link that is not settled or settled later', async (user) => {
    await replace(user, everything, [link(10), link(20, { settled_ts: 100 }), link(30)]);
    expect((await use.store.trips.lastSettledBefore(user.id, 50))?.chain_ts).toBe(10);
    expect((await use.store.trips.lastSettledBefore(user.id, 101))?.chain_ts).toBe(30);
    await replace(user, everything, [link(10, { settled_ts: null }), link(20)]);
    expect(await use.store.trips.lastSettledBefore(user.id, 1e12)).toBeNull();
  });

  use.it('byDay gives the trips of local days, both ends included, and no dropped ones', async (user) => {
    const links = [
      link(10, { day: '2016-05-16' }),
      link(20, { day: '2016-05-17', kind: 'dropped', trip: null }),
      link(25, { day: '2016-05-17' }),
      link(30, { day: '2016-05-18' }),
      // A trip over the date line: its local day is before that of the trip before it.
      link(35, { day: '2016-05-17' }),
      link(40, { day: '2016-05-19' }),
    ];
    await replace(user, everything, links);
    const days = async (from: string, to: string) =>
      (await use.store.trips.byDay(user.id, { from, to })).map((one) => one.chain_ts).sort((a, b) => a - b);
    expect(await days('2016-05-17', '2016-05-18')).toEqual([25, 30, 35]);
    expect(await days('2016-05-16', '2016-05-16')).toEqual([10]);
    expect(await days('2016-05-20', '2016-05-30')).toEqual([]);
    same(await use.store.trips.byDay(user.id, { from: '2016-05-16', to: '2016-05-16' }), [links[0]!]);
    const ordered = await use.store.trips.byDay(user.id, { from: '2016-05-18', to: '2016-05-19' });
    expect(ordered.map((one) => one.chain_ts)).toEqual([30, 40]);
  });

  use.it('next gives the first trip after a link, over dropped ones', async (user) => {
    await replace(user, everything, [link(10), link(20, { kind: 'dropped', trip: null }), link(30)]);
    same(await use.store.trips.next(user.id, 10), link(30));
    same(await use.store.trips.next(user.id, 9.5), link(10));
    expect(await use.store.trips.next(user.id, 30)).toBeNull();
    expect(await use.store.trips.next(newId(), 0)).toBeNull();
  });

  use.it('summary gives number, first start and last end of the trips', async (user) => {
    expect(await use.store.trips.summary(user.id)).toEqual({ count: 0, start_ts: null, end_ts: null });
    const dropped = { kind: 'dropped' as const, trip: null };
    await replace(user, everything, [link(5, dropped), link(10), link(30), link(40, dropped)]);
    expect(await use.store.trips.summary(user.id)).toEqual({ count: 2, start_ts: 10.25, end_ts: 35.5 });
  });
}
