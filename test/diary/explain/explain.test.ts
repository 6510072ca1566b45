// Explanations of a day: each part of it has a reason, in a sentence for the stored rule.
import { expect, it } from 'vitest';
import { explainDay } from '../../../src/diary/explain/explain-day.ts';
import { observedDays } from '../../../src/diary/observed-time.ts';
import type { TripEvidence, TripRecord } from '../../../src/model/trip.ts';
import { simulatedProgram } from '../../cli/kit.ts';
import { workday } from '../../support/trips.ts';

type Parts = ReturnType<typeof explainDay>;

const simulated = '--users 1 --days 2 --from 2024-03-11 --seed why --platform android';

it('explains every second of a simulated day, without a coordinate', async () => {
  const { run } = await simulatedProgram(simulated);
  const asked = 'explain --user sim-why-1@example.org --day 2024-03-11';
  const result = await run(`${asked} --json`);
  const { parts } = result.json<{ parts: Parts }>();
  let until = parts[0]!.from;
  for (const { from, to, reasons } of parts) {
    expect(from).toBeLessThanOrEqual(until);
    expect(reasons.length).toBeGreaterThan(0);
    for (const { text } of reasons) expect(text).not.toMatch(/undefined|NaN|^$/);
    until = Math.max(until, to);
  }
  expect(until - parts[0]!.from).toBeGreaterThanOrEqual(86_400);
  const trips = parts.filter(({ kind }) => kind === 'trip');
  expect(trips.length).toBeGreaterThan(3);
  const start = trips[1]!.reasons.find(({ about }) => about === 'start')!;
  expect(start).toMatchObject({ rule: 'geofence', values: { first_location_ts: expect.any(Number) } });
  expect(start.readings!.map(({ word }) => word)).toContain('exited geofence');
  expect(result.stdout).not.toMatch(/l(at|ong)itude|coordinates/);

  const clock = /(\d\d:\d\d)-(\d\d:\d\d) {2}trip/.exec((await run(asked)).stdout)![1]!;
  const at = await run(`${asked} --at ${clock} --json`);
  const kinds = at.json<{ parts: Parts }>().parts.map(({ kind }) => kind);
  expect(kinds).toContain('trip');
  expect(kinds.length).toBeLessThan(4);
});

it('says which trips a correction changed, added or removed, and which modes it states', async () => {
  const { json, succeed } = await simulatedProgram(simulated);
  const day = ['--user', 'sim-why-1@example.org', '--day', '2024-03-11'];
  for (const line of [
    'drop --at 12:35',
    'mode --at 16:50 --mode tram',
    'add --from 14:30 --to 15:00 --mode train --distance 9000',
  ])
    await succeed(['correct', ...line.split(' '), ...day]);
  const { parts }: { parts: Parts } = await json('explain', ...day);
  for (const { text } of parts.flatMap(({ reasons }) => reasons)) expect(text).not.toBe('');
  const textsOf = (title: string): string[] =>
    parts.find((part) => part.title.startsWith(title))!.reasons.map(({ text }) => text);
  expect(textsOf('corrected')).toEqual(['a correction removed the trip, or joined it with the trip before']);
  expect(textsOf('train, 9')).toEqual([
    'a correction added the trip',
    expect.stringMatching(/^14:30-15:00 train: a correction states the mode; on average 18 km/),
    expect.stringMatching(/^9\.0 km as the correction states, or along the straight line/),
  ]);
  const [changed, start, ...others] = textsOf('walking, tram');
  expect(changed).toMatch(/^a correction changed the trip: /);
  expect(start).toMatch(/^the phone, silent/);
  expect(others.filter((text) => text.includes('tram: a correction states the mode'))).toHaveLength(1);
});

const [first, second] = workday();

function partsOf(records: TripRecord[]): Parts {
  const [observed] = observedDays({ links: records, observed: null, zone: 'UTC' }, first!.day, first!.day);
  return explainDay({ records, observed: observed!, zone: 'UTC' });
}

/** The text about a thing, or of a rule, of a trip with this evidence. */
function textOf(wanted: string, evidence: Partial<TripEvidence>, more: Partial<TripRecord> = {}): string | undefined {
  const trip = { ...first!.trip!, evidence: { ...first!.trip!.evidence!, ...evidence } };
  const reasons = partsOf([{ ...first!, trip, ...more }]).flatMap((part) => part.reasons);
  return reasons.find(({ about, rule }) => about === wanted || rule === wanted)?.text;
}

it('each stored rule has a different sentence, with the thresholds of the analysis', () => {
  expect(textOf('start', { start: 'readings' })).toMatch(/^only the phone's motion readings/);
  expect(textOf('dwell', { ended_by: 'dwell' })).toBe(
    'for 5 min all locations lay within 100 m of each other: the user rested',
  );
  expect(textOf('next trip', { parted_by: 'too long' })).toContain('longer than 40 min');
  expect(textOf('strays', { left_out: { strays: 2 } })).toMatch(/^2 of .*: outliers, /);
  expect(textOf('settled', {}, { settled_ts: null })).toMatch(/^the trip has ended; .* 45 min /);
  expect(textOf('settled', {}, { settled_ts: null, trip: { ...first!.trip!, draft: true } })).toMatch(/^draft/);
  const sections = [{ ...first!.trip!.sections[0]!, distance: 400, duration: 80 }];
  const text = textOf('mode', {}, { trip: { ...first!.trip!, sections } });
  expect(text).toMatch(/ walking: .*; on average 18 km\/h, which excludes no mode over so short a distance$/);
  const dropped = { trip: null, kind: 'dropped', dropped: 'too short' } as const;
  expect(textOf('too short', {}, dropped)).toBe('the phone recorded less than 100 m of the trip');
  expect(textOf('nothing received', {})).toBe('no later data were processed yet: none came, or they are pending');
});

it('untracked time is a separate part, and the next trip follows it', () => {
  const [start_ts, end_ts] = [first!.start_ts - 900, first!.start_ts - 300];
  const [start_loc, end_loc] = [first!.trip!.end_loc, first!.trip!.start_loc];
  const evidence = { ...first!.trip!.evidence!, parted_by: 'too long' };
  const link = { ...first!, trip: { ...first!.trip!, evidence }, untracked: { start_ts, end_ts, start_loc, end_loc } };
  const records = [link, { ...second!, chain_ts: link.end_ts + 7200, start_ts: link.end_ts + 7200 }];
  records[1]!.trip = { ...first!.trip!, start_ts: link.end_ts + 7200, end_ts: link.end_ts + 7800 };
  const parts = partsOf(records);
  expect(parts.find(({ kind }) => kind === 'moved unseen')).toMatchObject({
    ...{ from: start_ts, to: end_ts, title: '10 min' },
    reasons: [{ rule: 'untracked', values: { unseen_s: 600 } }],
  });
  const next = parts.flatMap(({ reasons }) => reasons).find(({ about }) => about === 'next trip');
  expect(next).toMatchObject({ rule: 'too long', values: { stop_s: 7200 } });
});
