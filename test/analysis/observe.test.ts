// Stage "clean": which entries become locations, motions and transitions, and that their order does not matter.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cleanEvents,
  cleanLocations,
  cleanMotions,
  toEvent,
  toLocation,
  toMotion,
} from '../../src/analysis/clean/observations.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { sourceOf } from '../../src/model/sources.ts';

const ts = 1_700_000_000;

function fix(data: JsonObject = {}, metadata: JsonObject = {}): Entry {
  return {
    metadata: {
      key: 'background/filtered_location',
      write_ts: ts + 1,
      platform: 'android',
      time_zone: 'Europe/Berlin',
      ...metadata,
    },
    data: { ts, latitude: 52.5, longitude: 13.4, accuracy: 10, altitude: 34, filter: 'time', ...data },
  };
}

const clean = (...entries: Entry[]) =>
  cleanLocations(
    entries.flatMap((entry) => toLocation(entry, sourceOf(entry)) ?? []),
    ({ latitude }) => `guessed at ${latitude}`,
  );

describe('locations', () => {
  it('that the receiver marks as invalid, or of 0, 0, are left out', () => {
    expect(clean(fix({ reported: { valid: 'false' } }), fix({ reported: { valid: false } }))).toEqual([]);
    expect(clean(fix({ reported: { valid: 'true' } }))).toHaveLength(1);
    expect(clean(fix({ latitude: 0.00009, longitude: -0.00009 }))).toEqual([]);
    expect(clean(fix({ latitude: 0.00009, longitude: 0.0002 }))).toHaveLength(1);
  });

  it('have the fields that the analysis needs', () => {
    expect(clean(fix())).toEqual([
      expect.objectContaining({
        ts,
        latitude: 52.5,
        longitude: 13.4,
        altitude: 34,
        accuracy: 10,
        sampling: 'time',
        zone: 'Europe/Berlin',
        zoneGuessed: false,
      }),
    ]);
  });

  it('have the zone that the entry names, else a guess that is marked as one', () => {
    const [named, unnamed] = clean(fix(), fix({ ts: ts + 1 }, { time_zone: 'nowhere' }));
    expect(named).toMatchObject({ zone: 'Europe/Berlin', zoneGuessed: false });
    expect(unnamed).toMatchObject({ zone: 'guessed at 52.5', zoneGuessed: true });
  });

  it('with an accuracy above 200 m are left out, and locations of unknown accuracy are kept', () => {
    expect(clean(fix({ accuracy: 199.9 }))).toHaveLength(1);
    expect(clean(fix({ accuracy: 200 }))).toHaveLength(0);
    expect(clean(fix({ accuracy: null }))).toHaveLength(1);
  });

  it('with a time more than a day after their write time are left out', () => {
    expect(clean(fix({}, { write_ts: ts - 86_400 }))).toHaveLength(1);
    expect(clean(fix({}, { write_ts: ts - 86_401 }))).toHaveLength(0);
  });

  it('written more than 1000 s late are left out with time sampling and kept from an iPhone', () => {
    expect(clean(fix({}, { write_ts: ts + 999 }))).toHaveLength(1);
    expect(clean(fix({}, { write_ts: ts + 1000 }))).toHaveLength(0);
    expect(clean(fix({ filter: 'distance' }, { write_ts: ts + 9999 }))).toHaveLength(1);
  });

  it('are left out if their time is before phones existed or beyond the calendar', () => {
    for (const time of [0, -5, -6e10, 253_402_300_700])
      expect(clean(fix({ ts: time }, { write_ts: time }))).toEqual([]);
  });

  it('that name no filter are sampled as usual on their platform', () => {
    expect(clean(fix({ filter: null }))[0]!.sampling).toBe('time');
    expect(clean(fix({ filter: null }, { platform: 'iOS' }))[0]!.sampling).toBe('distance');
    expect(clean(fix({ filter: 'distance' }))[0]!.sampling).toBe('distance');
  });

  it('of the same time are reduced to the most accurate, and of equals to the one written first', () => {
    const [kept, ...more] = clean(
      fix({ accuracy: 20, latitude: 1 }, { write_ts: ts + 1 }),
      fix({ accuracy: 5, latitude: 3 }, { write_ts: ts + 3 }),
      fix({ accuracy: 5, latitude: 2 }, { write_ts: ts + 2 }),
    );
    expect(more).toEqual([]);
    expect(kept!.latitude).toBe(2);
  });

  it('are the same for any order of the entries: ascending, one per time', () => {
    const entry = fc
      .record({
        ts: fc.integer({ min: ts, max: ts + 5 }),
        accuracy: fc.integer({ min: 3, max: 5 }),
        latitude: fc.integer({ min: 1, max: 3 }),
        write_ts: fc.integer({ min: ts, max: ts + 9 }),
      })
      .map(({ write_ts, ...data }) => fix(data, { write_ts }));
    fc.assert(
      fc.property(fc.array(entry), fc.infiniteStream(fc.nat()), (entries, keys) => {
        const shuffled = entries
          .map((e) => ({ e, key: keys.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ e }) => e);
        const found = clean(...entries);
        expect(clean(...shuffled)).toEqual(found);
        found.slice(1).forEach((location, i) => {
          expect(location.ts).toBeGreaterThan(found[i]!.ts);
        });
      }),
    );
  });
});

describe('motions and transitions', () => {
  const row = (data: JsonObject): Entry => ({ metadata: { key: 'k', write_ts: 1 }, data });

  it('are ascending, and without exact repeats of a motion', () => {
    const a = row({ ts: 2, type: 7, confidence: 90 });
    const b = row({ ts: 1, type: 7, confidence: 90 });
    const rows = [a, b, a, row({ ts: 1, type: 0, confidence: null }), row({ type: 7 })];
    expect(cleanMotions(rows.flatMap((one) => toMotion(one) ?? []))).toEqual([
      { ts: 1, type: 0, confidence: 0 },
      { ts: 1, type: 7, confidence: 90 },
      { ts: 2, type: 7, confidence: 90 },
    ]);
  });

  it('are ascending, and a transition without a name still shows that the phone was on', () => {
    const rows = [row({ ts: 5, transition: 2, curr_state: 2 }), row({ ts: 4, transition: null }), row({})];
    expect(cleanEvents(rows.flatMap((one) => toEvent(one) ?? []))).toEqual([
      { ts: 4, transition: null, state: null },
      { ts: 5, transition: 2, state: 2 },
    ]);
  });
});
