// One day as text: places, ways, and what is unusual about days.
import { expect, it } from 'vitest';
import { type DiaryMarks, diaryText } from '../../src/cli/diary-text.ts';
import { observedDays } from '../../src/diary/observed-time.ts';
import { groupPlaces, staysBetweenTrips } from '../../src/diary/places.ts';
import type { Position, Section, Silence, Trip, TripRecord } from '../../src/model/trip.ts';
import { section as sectionAt, trip } from '../support/equator-trips.ts';

const same = (text: string): string => text;
const marks: DiaryMarks = { bold: same, dim: same, tint: same };
const day = '2024-03-12';
const home: Position = [-7.9, 38.57];
const work: Position = [-7.95, 38.6];
const noon = 1_710_244_800; // 2024-03-12T12:00Z

const section = (from: number, to: number, mode: string, distance: number): Section =>
  sectionAt(`s${from}`, { times: [from, to], easts: [0, distance], mode });

/** A walk of 1 km, or another trip by the fields that differ. */
function record(
  from: number,
  to: number,
  [start_loc, end_loc]: [Position, Position],
  { untracked = null, ...more }: Partial<Trip & Pick<TripRecord, 'untracked'>> = {},
): TripRecord {
  const walk = { times: [from, to], easts: [0, 1000], mode: 'WALKING' };
  const made = trip(`t${from}`, [walk], { day, settled_ts: to, untracked });
  return { ...made, trip: { ...made.trip!, start_loc, end_loc, ...more } };
}

const midnight = noon - 43_200;

/** The day as text, observed from midnight on but for these silences. */
async function text(records: TripRecord[], until: number | null = null, silences: Silence[] = [], looks = marks) {
  const seen = { phone: 'waits', at: null, reports: 0, stay: null, ts: noon + 86_400 } as const;
  const observed = { from: midnight, silences, seen };
  const [found] = observedDays({ links: records, observed, zone: 'UTC' }, day, day);
  const places = await groupPlaces('u', staysBetweenTrips(records.flatMap(({ trip }) => trip ?? [])));
  return diaryText({ name: 'ada', day, records, observed: found!, completeUntil: until, places }, looks);
}

it('time that was not observed is blank in the bar, and its reasons are printed below', async () => {
  const silences: Silence[] = [
    { from: midnight, to: midnight + 6 * 3600, reason: 'phone off' },
    { from: noon + 3600, to: noon + 7200, reason: 'silent' },
  ];
  const shown = await text([record(noon, noon + 600, [home, work])], null, silences);
  expect(shown).toMatch(/\n {2} {18}─{18}•─{2} {3}─{30}\n/);
  expect(shown).toContain('\n  observed 17 h, not observed 7 h:\n    6 h phone off\n    1 h silent\n');
  expect(await text([], null, silences)).toContain('ada  2024-03-12: no trips  UTC\n  observed 17 h, not observed 7 h');
});

it('a place that the user returns to keeps its letter, and a stay its length', async () => {
  const shown = await text([
    record(noon, noon + 600, [home, work]),
    record(noon + 4200, noon + 4800, [work, [home[0] + 0.0005, home[1]]]),
  ]);
  expect(shown).toContain('  12:00  ● A  38.5700, -7.9000\n');
  expect(shown).toContain('  12:10  ● B  38.6000, -7.9500  1 h here\n');
  expect(shown).toContain('  13:20  ● A  38.5700, -7.8995\n');
  expect(shown).toContain('  2 trips, 2.0 km, 20 min on the way\n  • walking 2.0 km\n');
});

it('a stay shows its unobserved part, and two trips without time between them have no place', async () => {
  const ride = (ts: number, from: Position, to: Position) => record(ts, ts + 600, [from, to]);
  const records = [ride(noon, home, work), ride(noon + 7800, work, home), ride(noon + 8400, home, work)];
  const shown = await text(records, null, [{ from: noon + 3600, to: noon + 7200, reason: 'silent' }]);
  expect(shown).toContain('  12:10  ● B  38.6000, -7.9500  2 h here, 1 h of it not observed\n');
  expect(shown).toMatch(/\n {2}14:20 {2}○ continued at once\n {9}│ 14:20-14:30/);
});

it('the part of a path that no location shows is printed beside its length', async () => {
  const walk = { ...section(noon, noon + 600, 'WALKING', 1000), estimated: 240 };
  const shown = await text([record(noon, noon + 600, [home, work], { sections: [walk] })]);
  expect(shown).toMatch(/walking +1\.0 km +10 min +240 m estimated\n/);
  expect(shown).toContain('  1 trip, 1.0 km (240 m estimated), 10 min on the way\n');
});

it('waits of a minute or more are shown, shorter ones are not', async () => {
  const rides = [0, 2].map((at) => ({ times: [at, at + 1], easts: [at, at + 1] }));
  const [base] = trip('x', rides).trip!.stops;
  const stop = (enter_ts: number, exit_ts: number) => ({ ...base!, enter_ts, exit_ts, duration: exit_ts - enter_ts });
  const parts = [
    section(noon, noon + 300, 'WALKING', 400),
    section(noon + 500, noon + 900, 'IN_VEHICLE', 4000),
    section(noon + 930, noon + 1200, 'WALKING', 300),
  ];
  const stops = [stop(noon + 300, noon + 500), stop(noon + 900, noon + 930)];
  const shown = await text([record(noon, noon + 1200, [home, work], { sections: parts, stops })]);
  expect(shown.match(/waiting/g)).toHaveLength(1);
  expect(shown).toMatch(/│ +waiting +3 min\n/);
  expect(shown).toContain('  ■ vehicle 4.0 km  • walking 700 m\n');
});

it('untracked time is shown between two places', async () => {
  const untracked = { start_ts: noon + 700, end_ts: noon + 3600, start_loc: work, end_loc: home };
  const second = record(noon + 3600, noon + 4200, [home, work], { untracked });
  const shown = await text([record(noon, noon + 600, [home, work]), second]);
  expect(shown).toMatch(/12:10 {2}● B .*\n {2}12:11 {2}○ moved unseen for 48 min\n {2}13:00 {2}● A /);
  expect(shown).not.toContain('here');
  const sinceYesterday = { ...untracked, start_ts: midnight - 3600, end_ts: noon };
  expect(await text([record(noon, noon + 600, [home, work], { untracked: sinceYesterday })])).toContain(
    '  11 Mar 23:00  ○ moved unseen for 13 h\n',
  );
});

it('a trip over midnight fills the day to its end, and a day in two zones names both', async () => {
  const late = noon + 41_400; // 23:30
  const shown = await text([record(late, late + 7200, [home, work], { end_zone: 'Europe/Stockholm' })]);
  expect(shown).toContain('UTC, Europe/Stockholm');
  expect(shown).toMatch(/\n {2}─{70}••\n/);
});

it('each part of the bar has the character and colour of its mode; a wait has no mode', async () => {
  const from = noon - 14_400; // 08:00
  const modes = ['WALKING', 'BICYCLING', 'CAR', 'BUS', 'TRAIN', 'SUBWAY', 'AIR_OR_HSR'];
  const sections = modes.map((mode, i) => section(from + i * 2400, from + i * 2400 + 1200, mode, 1000 - i));
  const records = [record(from, sections.at(-1)!.end_ts, [home, work], { sections })];
  const shown = await text(records);
  expect(shown).toMatch(/\n {2}─{24}•┄▒┄█┄▓┄═┄═┄┃─{35}\n/);
  expect(shown).toContain('\n  • walking 1.0 km  ▒ bicycling 1.0 km  █ car 1.0 km  ▓ bus 1.0 km  ═ train 1.0 km');
  const tinted = await text(records, null, [], { ...marks, tint: (piece, colour) => `<${colour}${piece}>` });
  expect(tinted).toContain('<29•>┄<69▒>┄<202█>┄<163▓>┄<92═>┄<92═>┄<246┃>');
});

it('a day without any final part is marked as such', async () => {
  const trips = [record(noon, noon + 600, [home, work])];
  expect(await text(trips)).toMatch(/draft: later entries may change it$/);
  expect(await text(trips, noon + 600)).toMatch(/final up to 12 March 12:10; later parts are a draft$/);
});

it('trips too short to keep are not counted as trips', async () => {
  const dropped: TripRecord = { ...record(noon, noon + 60, [home, home]), kind: 'dropped', trip: null };
  expect(await text([dropped])).toMatch(/^ada {2}2024-03-12: no trips {2}UTC\n/);
});
