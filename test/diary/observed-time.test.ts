// The kinds of time of local days.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { observedDays, type TimeSpan, unobservedWithin } from '../../src/diary/observed-time.ts';
import { addDays, localDay, startOfDay } from '../../src/model/time.ts';
import type { Silence, TripRecord } from '../../src/model/trip.ts';
import { row } from '../support/row.ts';

const seen = { phone: 'waits', at: null, reports: 0, stay: null } as const;
const day = '2024-03-12';
const noon = startOfDay(day, 'Europe/Berlin') + 12 * 3600;
/** Midnight before and after, in s from noon. */
const [begin, end] = [-43_200, 43_200];

/** A trip with the parts that days are made of. Times in s since the epoch. */
function link(start_ts: number, end_ts: number, zones: [string, string], more: object = {}): TripRecord {
  const trip = { start_ts, end_ts, start_zone: zones[0], end_zone: zones[1] };
  const made = { kind: 'trip', chain_ts: start_ts, start_ts, end_ts, trip, untracked: null, ...more };
  return made as unknown as TripRecord;
}

/** A trip in Berlin. Times in s from noon. */
const ride = (from: number, to: number, more: object = {}): TripRecord =>
  link(noon + from, noon + to, ['Europe/Berlin', 'Europe/Berlin'], { silences: [], ...more });
const gap = (from: number, to: number, reason: Silence['reason'], more: Partial<Silence> = {}): Silence => {
  return { from: noon + from, to: noon + to, reason, ...more };
};

interface Given extends Partial<Omit<Parameters<typeof observedDays>[0], 'observed'>> {
  /** From the first location to the last entry, in s from noon. */
  known?: [from: number, to: number];
  silences?: Silence[];
  phone?: object;
}

function dayOf({ known: [from, ts] = [begin, end], silences = [], phone, ...source }: Given) {
  const observed = { from: noon + from, silences, seen: { ...seen, ...phone, ts: noon + ts } };
  return observedDays({ links: [], zone: 'Europe/Berlin', ...source, observed }, day, day)[0]!;
}

const dayThat = row<[title: string, Given]>;

it.each([
  dayThat('is moving in trips, staying between them, and unobserved where the phone was silent', {
    links: [ride(0, 3600), ride(9000, 9600, { silences: [gap(7200, 9000, 'silent')] })],
    known: [-600, 10_800],
    zone: 'UTC',
  })`
    -43200 before the first location, -600 staying, 0 moving, 3600 staying, 7200 silent, 9000 moving, 9600 staying, 10800 nothing received`,
  dayThat('is unobserved where the clock of the phone was wrong, without another sign of a gap', {
    causes: [{ from: noon, to: noon + 600, reason: 'clock wrong' }],
  })`-43200 staying, 0 clock wrong, 600 staying`,
  dayThat('is moving in a tunnel on a trip, and has no location after it if the phone reported movement', {
    links: [ride(0, 3600, { silences: [gap(60, 900, 'no location')] })],
    known: [0, 6000],
    phone: { unlocated: noon + 5000 },
  })`-43200 before the first location, 0 moving, 3600 staying, 5000 no location, 6000 nothing received`,
  dayThat('is moving in a trip that a correction added to a time without entries, and unobserved around it', {
    links: [ride(0, 3600)].map((one) => ({ ...one, trip: { ...one.trip!, source: 'correction' } })),
    known: [begin, -600],
    exclusions: [{ start_ts: noon + 1800, end_ts: noon + 7200 }],
  })`-43200 staying, -600 nothing received, 0 moving, 3600 taken out, 7200 nothing received`,
  dayThat('has tracking off as the reason after the last event of the phone', {
    known: [begin, 60],
    phone: { phone: 'off' },
  })`-43200 staying, 60 tracking off`,
])('a day %s', (_, given, expected) => {
  const { spans, moving_s, staying_s, unobserved_s } = dayOf(given);
  expect(spans.map(({ from, kind, reason }) => `${from - noon} ${reason ?? kind}`).join(', ')).toBe(expected);
  expect(spans.every(({ kind, reason }) => (kind === 'unobserved') === (reason !== null))).toBe(true);
  expect([spans[0]!.from, spans.at(-1)!.to]).toEqual([noon + begin, noon + end]);
  const lengthOf = (wanted: string): number =>
    spans.reduce((sum, { from, to, kind }) => sum + (kind === wanted ? to - from : 0), 0);
  expect([moving_s, staying_s, unobserved_s]).toEqual(['moving', 'staying', 'unobserved'].map(lengthOf));
});

it('a day has the inferred part of the stay, and the distance that the user moved unobserved', () => {
  const silences = [gap(0, 3600, 'silent', { inferred: true }), gap(7200, 9000, 'moved', { moved_m: 5000 })];
  const sums = { staying_s: 600 + 7200 + 1800, inferred_stay_s: 3600, moved_unobserved_m: 5000 };
  expect(dayOf({ silences, known: [-600, 10_800] })).toMatchObject(sums);
});

it('a day says how far the user moved after a trip that ends within the gap, unless a trip leads on to its end', () => {
  const silences = [gap(3600, 18_000, 'moved', { moved_m: 90_000 })];
  const metres = (...links: TripRecord[]): (number | string | null)[] => {
    const found = dayOf({ links, silences, known: [-600, 20_000], zone: 'UTC' });
    return [found.moved_unobserved_m, found.spans.find(({ to }) => to === noon + 18_000)?.reason ?? null];
  };
  expect(metres(ride(0, 3800), ride(18_000, 19_000))).toEqual([90_000, 'moved']);
  expect(metres(ride(0, 3500), ride(17_000, 19_000))).toEqual([0, 'silent']);
  expect(metres(ride(0, 19_000))).toEqual([0, 'silent']);
  const inferred = ride(17_900, 19_000, { untracked: { start_ts: noon + 3600 } });
  expect(metres(ride(0, 3500), inferred)[0], 'the start of a trip was inferred after untracked time').toBe(90_000);
});

it('a day is unobserved where all entries are excluded; entries of another phone or token still show a stay', () => {
  const unobserved = (of: object): number =>
    dayOf({ exclusions: [{ start_ts: noon, end_ts: noon + 600, ...of }] }).off_s;
  expect([{}, { source: 'ios' }, { token_id: 'a' }].map(unobserved)).toEqual([600, 0, 0]);
});

it('a day begins in the zone where a trip over its midnight began, not where the trip before ended', () => {
  const links = [
    link(noon - 43_200, noon - 36_000, ['America/New_York', 'America/New_York']),
    link(noon, noon + 2 * 86_400, ['Europe/Berlin', 'Europe/Berlin']),
  ];
  const observed = { from: noon - 43_200, silences: [], seen: { ...seen, ts: noon } };
  const starts = observedDays({ links, observed, zone: 'UTC' }, day, '2024-03-13').map((one) => one.zone);
  expect(starts).toEqual(['America/New_York', 'Europe/Berlin']);
});

it('the kinds of time of each day sum to its length, and days follow each other, over clock changes and zones', () => {
  const zone = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Honolulu', 'UTC');
  const first = startOfDay('2024-03-29', 'UTC');
  const trip = fc.tuple(fc.integer({ min: 1, max: 50_000 }), fc.integer({ min: 1, max: 40_000 }), zone, fc.boolean());
  const trips = fc.array(trip, { maxLength: 8 });
  fc.assert(
    fc.property(zone, trips, fc.integer({ min: 0, max: 400_000 }), (home, made, known) => {
      let [at, here] = [first, home];
      const links = made.map(([stay, way, there, isSilent]) => {
        const silences: Silence[] = isSilent ? [{ from: at, to: at + stay, reason: 'silent' }] : [];
        const made = link(at + stay, at + stay + way, [here, there], { silences });
        [at, here] = [made.end_ts, there];
        return made;
      });
      const observed = { from: first, silences: [], seen: { ...seen, ts: first + known } };
      const to = addDays(localDay(at, here), 1);
      const days = observedDays({ links, observed, zone: home }, '2024-03-27', to);
      for (const [i, day] of days.entries()) {
        expect(day.from).toBe(days[i - 1]?.to ?? day.from);
        expect(day.moving_s + day.staying_s + day.unobserved_s).toBeCloseTo(day.to - day.from, 6);
        let end = day.from;
        for (const span of day.spans) {
          expect(span.from).toBe(end);
          end = span.to;
        }
        if (day.spans.length > 0) expect(end).toBe(day.to);
      }
    }),
  );
});

it('unobserved time is counted between two times only', () => {
  const spans: TimeSpan[] = [
    { from: 0, to: 600, kind: 'unobserved', reason: 'silent' },
    { from: 600, to: 1200, kind: 'staying', reason: null },
    { from: 1200, to: 1800, kind: 'unobserved', reason: 'silent' },
  ];
  expect(unobservedWithin({ spans }, 300, 1300)).toBe(400);
  expect(unobservedWithin({ spans }, -900, -300)).toBe(0);
});
