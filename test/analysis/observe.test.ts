// Stage "clean": which entries become locations, motions and transitions, and that their order does not matter.
import fc from 'fast-check';
import { expect, it } from 'vitest';
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
const key = 'background/filtered_location';

function fix(data: JsonObject = {}, metadata: JsonObject = {}): Entry {
  return {
    metadata: { key, write_ts: ts + 1, platform: 'android', time_zone: 'Europe/Berlin', ...metadata },
    data: { ts, latitude: 52.5, longitude: 13.4, accuracy: 10, altitude: 34, filter: 'time', ...data },
  };
}

function clean(...entries: Entry[]) {
  const locations = entries.flatMap((entry) => toLocation(entry, sourceOf(entry)) ?? []);
  return cleanLocations(locations, ({ latitude }) => `guessed at ${latitude}`);
}

it.each<[title: string, data: JsonObject, metadata: JsonObject, kept: boolean]>([
  ['marked as invalid by a text', { reported: { valid: 'false' } }, {}, false],
  ['marked as invalid', { reported: { valid: false } }, {}, false],
  ['marked as valid', { reported: { valid: 'true' } }, {}, true],
  ['of 0, 0', { latitude: 0.00009, longitude: -0.00009 }, {}, false],
  ['near 0, 0', { latitude: 0.00009, longitude: 0.0002 }, {}, true],
  ['with an accuracy below 200 m', { accuracy: 199.9 }, {}, true],
  ['with an accuracy of 200 m', { accuracy: 200 }, {}, false],
  ['of unknown accuracy', { accuracy: null }, {}, true],
  ['a day after their write time', {}, { write_ts: ts - 86_400 }, true],
  ['more than a day after their write time', {}, { write_ts: ts - 86_401 }, false],
  ['written less than 1000 s late', {}, { write_ts: ts + 999 }, true],
  ['written 1000 s late', {}, { write_ts: ts + 1000 }, false],
  ['of an iPhone, written late', { filter: 'distance' }, { write_ts: ts + 9999 }, true],
  ['of 1970, when no phones existed', { ts: 0 }, { write_ts: 0 }, false],
  ['before 1970', { ts: -5 }, { write_ts: -5 }, false],
  ['before our era', { ts: -6e10 }, { write_ts: -6e10 }, false],
  ['beyond the calendar', { ts: 253_402_300_700 }, { write_ts: 253_402_300_700 }, false],
])('locations %s are kept or left out', (_, data, metadata, kept) => {
  expect(clean(fix(data, metadata))).toHaveLength(kept ? 1 : 0);
});

it('locations have the fields that the analysis needs', () => {
  const where = { latitude: 52.5, longitude: 13.4, altitude: 34, accuracy: 10 };
  expect(clean(fix())).toMatchObject([{ ts, ...where, sampling: 'time', zone: 'Europe/Berlin', zoneGuessed: false }]);
});

it('locations whose entry names no zone have a guess that is marked as one', () => {
  const unnamed = clean(fix({}, { time_zone: 'nowhere' }));
  expect(unnamed).toMatchObject([{ zone: 'guessed at 52.5', zoneGuessed: true }]);
});

it('locations that name no filter are sampled as usual on their platform', () => {
  expect(clean(fix({ filter: null }))[0]!.sampling).toBe('time');
  expect(clean(fix({ filter: null }, { platform: 'iOS' }))[0]!.sampling).toBe('distance');
  expect(clean(fix({ filter: 'distance' }))[0]!.sampling).toBe('distance');
});

it('locations of the same time are reduced to the most accurate, and of equals to the one written first', () => {
  const [kept, ...more] = clean(
    fix({ accuracy: 20, latitude: 1 }, { write_ts: ts + 1 }),
    fix({ accuracy: 5, latitude: 3 }, { write_ts: ts + 3 }),
    fix({ accuracy: 5, latitude: 2 }, { write_ts: ts + 2 }),
  );
  expect(more).toEqual([]);
  expect(kept!.latitude).toBe(2);
});

it('locations are the same for any order of the entries: ascending, one per time', () => {
  const between = (min: number, max: number) => fc.integer({ min, max });
  const times = { ts: between(ts, ts + 5), write_ts: between(ts, ts + 9) };
  const entry = fc
    .record({ ...times, accuracy: between(3, 5), latitude: between(1, 3) })
    .map(({ write_ts, ...data }) => fix(data, { write_ts }));
  const orders = fc.array(entry).chain((entries) => {
    const whole = { minLength: entries.length, maxLength: entries.length };
    return fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, whole));
  });
  fc.assert(
    fc.property(orders, ([entries, shuffled]) => {
      const found = clean(...entries);
      expect(clean(...shuffled)).toEqual(found);
      const times = found.map((location) => location.ts);
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
    }),
  );
});

const row = (data: JsonObject): Entry => ({ metadata: { key: 'k', write_ts: 1 }, data });

it('motions and transitions are ascending, and without exact repeats of a motion', () => {
  const a = row({ ts: 2, type: 7, confidence: 90 });
  const b = row({ ts: 1, type: 7, confidence: 90 });
  const rows = [a, b, a, row({ ts: 1, type: 0, confidence: null }), row({ type: 7 })];
  expect(cleanMotions(rows.flatMap((one) => toMotion(one) ?? []))).toEqual([
    { ts: 1, type: 0, confidence: 0 },
    { ts: 1, type: 7, confidence: 90 },
    { ts: 2, type: 7, confidence: 90 },
  ]);
});

it('motions and transitions are ascending, and a transition without a name still shows that the phone was on', () => {
  const rows = [row({ ts: 5, transition: 2, curr_state: 2 }), row({ ts: 4, transition: null }), row({})];
  expect(cleanEvents(rows.flatMap((one) => toEvent(one) ?? []))).toEqual([
    { ts: 4, transition: null, state: null },
    { ts: 5, transition: 2, state: 2 },
  ]);
});
