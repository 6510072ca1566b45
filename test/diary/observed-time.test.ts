// The kinds of time of local days.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { observedDays, type TimeSpan, unobservedWithin } from '../../src/diary/observed-time.ts';
import { addDays, localDay, startOfDay } from '../../src/model/time.ts';
import type { Silence, TripRecord } from '../../src/model/trip.ts';

const seen = { phone: 'waits', at: null, reports: 0, stay: null } as const;

/** A link with the parts that days are made of. */
function link(start_ts: number, end_ts: number, zones: [string, string], silences: Silence[] = []): TripRecord {
  const trip = { start_ts, end_ts, start_zone: zones[0], end_zone: zones[1] };
  return {
    kind: 'trip',
    chain_ts: start_ts,
    start_ts,
    end_ts,
    trip,
    untracked: null,
    silences,
  } as unknown as TripRecord;
}

const noon = startOfDay('2024-03-12', 'Europe/Berlin') + 12 * 3600;

describe('a day', () => {
  it('is moving in trips, staying between them, and unobserved where the phone was silent', () => {
    const zones: [string, string] = ['Europe/Berlin', 'Europe/Berlin'];
    const silence = { from: noon + 7200, to: noon + 9000, reason: 'silent' } as const;
    const links = [link(noon, noon + 3600, zones), link(noon + 9000, noon + 9600, zones, [silence])];
    const observed = { from: noon - 600, silences: [], seen: { ...seen, ts: noon + 10_800 } };
    const [day] = observedDays({ links, observed, zone: 'UTC' }, '2024-03-12', '2024-03-12');
    expect(day!.spans.map(({ from, to, kind, reason }) => [from - noon, to - noon, kind, reason])).toEqual([
      [-43_200, -600, 'unobserved', 'before the first location'],
      [-600, 0, 'staying', null],
      [0, 3600, 'moving', null],
      [3600, 7200, 'staying', null],
      [7200, 9000, 'unobserved', 'silent'],
      [9000, 9600, 'moving', null],
      [9600, 10_800, 'staying', null],
      [10_800, 43_200, 'unobserved', 'nothing received'],
    ]);
    expect([day!.moving_s, day!.staying_s, day!.unobserved_s]).toEqual([
      4200,
      600 + 3600 + 1200,
      42_600 + 1800 + 32_400,
    ]);
  });

  it('is unobserved where the clock of the phone was wrong, without another sign of a gap', () => {
    const observed = { from: noon - 43_200, silences: [], seen: { ...seen, ts: noon + 43_200 } };
    const causes = [{ from: noon, to: noon + 600, reason: 'clock wrong' as const }];
    const [day] = observedDays({ links: [], observed, zone: 'Europe/Berlin', causes }, '2024-03-12', '2024-03-12');
    expect(day!.spans.map(({ from, to, reason }) => [from - noon, to - noon, reason])).toEqual([
      [-43_200, 0, null],
      [0, 600, 'clock wrong'],
      [600, 43_200, null],
    ]);
  });

  it('has the inferred part of the stay, and the distance that the user moved unobserved', () => {
    const silences: Silence[] = [
      { from: noon, to: noon + 3600, reason: 'silent', inferred: true },
      { from: noon + 7200, to: noon + 9000, reason: 'moved', moved_m: 5000 },
    ];
    const observed = { from: noon - 600, silences, seen: { ...seen, ts: noon + 10_800 } };
    const [day] = observedDays({ links: [], observed, zone: 'Europe/Berlin' }, '2024-03-12', '2024-03-12');
    expect(day).toMatchObject({ staying_s: 600 + 7200 + 1800, inferred_stay_s: 3600, moved_unobserved_m: 5000 });
  });

  it('says how far the user moved after a trip that ends within the gap, unless a trip leads on to its end', () => {
    const moved: Silence = { from: noon + 3600, to: noon + 18_000, reason: 'moved', moved_m: 90_000 };
    const observed = { from: noon - 600, silences: [moved], seen: { ...seen, ts: noon + 20_000 } };
    const zones: [string, string] = ['Europe/Berlin', 'Europe/Berlin'];
    const metres = (...trips: [from: number, to: number][]): (number | string | null)[] => {
      const links = trips.map(([from, to]) => link(noon + from, noon + to, zones));
      const [day] = observedDays({ links, observed, zone: 'UTC' }, '2024-03-12', '2024-03-12');
      return [day!.moved_unobserved_m, day!.spans.find(({ to }) => to === noon + 18_000)!.reason];
    };
    expect(metres([0, 3800], [18_000, 19_000])).toEqual([90_000, 'moved']);
    expect(metres([0, 3500], [17_000, 19_000])).toEqual([0, 'silent']);
    expect(metres([0, 19_000])).toEqual([0, 'silent']);
    const trips = [link(noon, noon + 3500, zones), link(noon + 17_900, noon + 19_000, zones)];
    const links = [trips[0]!, { ...trips[1]!, untracked: { start_ts: noon + 3600 } }];
    const [day] = observedDays({ links, observed, zone: 'UTC' }, '2024-03-12', '2024-03-12');
    expect(day!.moved_unobserved_m, 'the start of a trip was inferred after untracked time').toBe(90_000);
  });

  it('is unobserved where all entries are excluded; entries of another phone or token still show a stay', () => {
    const observed = { from: noon - 43_200, silences: [], seen: { ...seen, ts: noon + 43_200 } };
    const unobserved = (of: object): number => {
      const exclusions = [{ start_ts: noon, end_ts: noon + 600, ...of }];
      const source = { links: [], observed, zone: 'Europe/Berlin', exclusions };
      return observedDays(source, '2024-03-12', '2024-03-12')[0]!.off_s;
    };
    expect([{}, { source: 'ios' }, { token_id: 'a' }].map(unobserved)).toEqual([600, 0, 0]);
  });

  it('is moving in a tunnel on a trip; after the last location it has no location if the phone reported movement', () => {
    const tunnel = { from: noon + 60, to: noon + 900, reason: 'no location' } as const;
    const links = [link(noon, noon + 3600, ['Europe/Berlin', 'Europe/Berlin'], [tunnel])];
    const observed = { from: noon, silences: [], seen: { ...seen, unlocated: noon + 5000, ts: noon + 6000 } };
    const [day] = observedDays({ links, observed, zone: 'Europe/Berlin' }, '2024-03-12', '2024-03-12');
    expect(day!.spans.slice(1).map(({ from, kind, reason }) => [from - noon, kind, reason])).toEqual([
      [0, 'moving', null],
      [3600, 'staying', null],
      [5000, 'unobserved', 'no location'],
      [6000, 'unobserved', 'nothing received'],
    ]);
  });

  it('is moving in a trip that a correction added to a time without entries, and unobserved around it', () => {
    const zones: [string, string] = ['Europe/Berlin', 'Europe/Berlin'];
    const added = link(noon, noon + 3600, zones);
    const links = [{ ...added, trip: { ...added.trip!, source: 'correction' } }];
    const observed = { from: noon - 43_200, silences: [], seen: { ...seen, ts: noon - 600 } };
    const exclusions = [{ start_ts: noon + 1800, end_ts: noon + 7200 }];
    const source = { links, observed, zone: 'Europe/Berlin', exclusions };
    const [day] = observedDays(source, '2024-03-12', '2024-03-12');
    expect(day!.spans.map(({ from, to, kind, reason }) => [from - noon, to - noon, kind, reason])).toEqual([
      [-43_200, -600, 'staying', null],
      [-600, 0, 'unobserved', 'nothing received'],
      [0, 3600, 'moving', null],
      [3600, 7200, 'unobserved', 'taken out'],
      [7200, 43_200, 'unobserved', 'nothing received'],
    ]);
  });

  it('begins in the zone where a trip over its midnight began, even if the trip before ended in another zone', () => {
    const links = [
      link(noon - 43_200, noon - 36_000, ['America/New_York', 'America/New_York']),
      link(noon, noon + 2 * 86_400, ['Europe/Berlin', 'Europe/Berlin']),
    ];
    const observed = { from: noon - 43_200, silences: [], seen: { ...seen, ts: noon } };
    const starts = observedDays({ links, observed, zone: 'UTC' }, '2024-03-12', '2024-03-13').map((one) => one.zone);
    expect(starts).toEqual(['America/New_York', 'Europe/Berlin']);
  });

  it('has tracking off as the reason after the last event of the phone', () => {
    const observed = { from: noon, silences: [], seen: { ...seen, phone: 'off', ts: noon + 60 } as const };
    const [day] = observedDays({ links: [], observed, zone: 'Europe/Berlin' }, '2024-03-12', '2024-03-12');
    expect(day!.spans.at(-1)).toMatchObject({ kind: 'unobserved', reason: 'tracking off' });
  });
});

it('the kinds of time of each day sum to its length, and days follow each other, over clock changes and zones', () => {
  const zone = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Honolulu', 'UTC');
  const first = startOfDay('2024-03-29', 'UTC');
  const trips = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 50_000 }), fc.integer({ min: 1, max: 40_000 }), zone, fc.boolean()),
    {
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(zone, trips, fc.integer({ min: 0, max: 400_000 }), (home, made, known) => {
      let [at, here] = [first, home];
      const links = made.map(([stay, way, there, isSilent]) => {
        const silences: Silence[] = isSilent ? [{ from: at, to: at + stay, reason: 'silent' }] : [];
        const made = link(at + stay, at + stay + way, [here, there], silences);
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
