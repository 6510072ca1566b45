// Transit feeds: the contents of an index, and the lines that it finds for legs.
import { expect, it } from 'vitest';
import { readFeed } from '../../src/import/add-feed.ts';
import { buildIndex } from '../../src/transit/build-index.ts';
import { formatIndex, kindOfType, parseIndex } from '../../src/transit/feed-index.ts';
import { type LocalTime, matchRide, noEvidence, type TransitRide } from '../../src/transit/match-ride.ts';
import { coarseCell, feedsOfDay, TransitNetwork } from '../../src/transit/network.ts';
import { spot } from '../support/phone.ts';
import { words } from '../support/words.ts';
import { indexOf, tablesOf, townFeed } from './town.ts';

const noon: LocalTime = () => ({ day: '2024-03-08', hour: 12, weekday: 4 });
const network = async (): Promise<TransitNetwork> => new TransitNetwork([await indexOf('a')]);

it('an index has the stops, patterns, times and hours of the feed, and can be read from its text', async () => {
  const index = await indexOf('a');
  expect(index).toMatchObject({ agencies: ['Town Transit'], first_day: '2024-01-01', last_day: '2024-12-31' });
  expect(index.routes.map(({ short_name, kind }) => `${short_name} ${kind}`)).toEqual(['1 bus', '2 tram']);
  const [pattern] = index.patterns;
  expect(pattern!.seconds.slice(0, 3)).toEqual([0, 80, 160]);
  expect(pattern!.trips).toBeCloseTo(96, 0);
  expect([5, 6, 12, 22, 23].filter((hour) => (pattern!.hours[0] & (1 << hour)) !== 0)).toEqual([6, 12, 22]);
  expect(formatIndex(parseIndex(formatIndex(index)))).toBe(formatIndex(index));
});

/** A ride along the street of line 1 at about a speed, m/s, with a location each 10 s. */
function eastwards(speed: number, { from = 0, to = 4000, north = 20 } = {}): TransitRide {
  const seconds = Math.ceil(Math.abs(to - from) / speed / 10) * 10;
  const track = Array.from({ length: seconds / 10 + 1 }, (_, i) => ({
    ...spot(from + ((to - from) * 10 * i) / seconds, north),
    ts: 1_700_000_000 + 10 * i,
  }));
  return { start: { ...track[0]!, gap: 0 }, end: { ...track.at(-1)!, gap: 0 }, seconds, track, halts: null };
}

it('a leg along a line is found as its line, in its direction and at its hours only', async () => {
  const town = await network();
  const bus = matchRide(eastwards(5), town, noon);
  expect(bus.bus).toBeGreaterThan(3);
  expect(bus.lines[0]).toMatchObject({ short_name: '1', from_stop: 'East 0', to_stop: 'East 10', feed_age_days: 0 });
  expect(bus.lines[0]!.probability).toBeGreaterThan(0.9);
  const across = matchRide(eastwards(12, { north: 700 }), town, noon);
  const back = matchRide(eastwards(5, { from: 4000, to: 0 }), town, noon);
  expect(Math.max(across.bus, back.bus)).toBeLessThanOrEqual(0);
  expect(matchRide(eastwards(12), town, noon).bus).toBeLessThan(bus.bus - 2);
  const night: LocalTime = () => ({ day: '2024-03-08', hour: 3, weekday: 4 });
  expect(matchRide(eastwards(5), town, night).bus).toBeLessThan(0.5);
  expect(matchRide(eastwards(5, { from: 60_000, to: 64_000 }), town, noon)).toEqual(noEvidence);
});

it('several routes of one name are one line, with the sum of their probabilities', async () => {
  const { routes, trips, frequencies, stop_times } = townFeed();
  const again = (rows: string, from: string, to: string): string => {
    const copies = rows.split('\n').filter((row) => row.startsWith(from));
    return [rows.trim(), ...copies.map((row) => row.replace(from, to))].join('\n');
  };
  const changes = {
    routes: again(routes!, '1,T,', 'winter,T,'),
    trips: again(trips!, '1,all,one', 'winter,all,later'),
    frequencies: again(frequencies!, 'one,', 'later,'),
    stop_times: again(stop_times!, 'one,', 'later,'),
  };
  const { lines } = matchRide(eastwards(5), new TransitNetwork([await indexOf('a', changes)]), noon);
  expect(lines.map(({ short_name }) => short_name)).toEqual(['1']);
  expect(lines[0]!.probability).toBeGreaterThan(0.9);
});

it('the order in which feeds were added changes nothing', async () => {
  const city = { agency: townFeed().agency!.replace('Town', 'City') };
  const feeds = [await indexOf('a'), await indexOf('b'), await indexOf('c', city)];
  const orders = [feeds, feeds.toReversed()];
  const results = orders.map((order) => matchRide(eastwards(5), new TransitNetwork(order), noon));
  expect(results[0]).toEqual(results[1]);
  expect(results[0]!.lines.map(({ feed }) => feed)).toEqual(['b', 'c']);
});

it('of several feeds of an agency only the one nearest by date counts', async () => {
  const dates = (first: string, last: string) => ({ feed_info: `feed_start_date,feed_end_date\n${first},${last}\n` });
  const old = await indexOf('a', dates('20190101', '20190331'));
  const present = await indexOf('b', dates('20240101', '20240331'));
  const used = (day: string) => [...feedsOfDay([old, present], () => day).keys()].map(({ id }) => id).join();
  expect(['2019-02-01', '2020-01-01', '2024-02-01', '2030-01-01'].map(used)).toEqual(['a', 'a', 'b', 'b']);
});

it('accepts features of real feeds: stations, gaps in times, times after midnight, dates instead of a calendar', async () => {
  const changes = {
    stops:
      'stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\nS,Central,45,7,1,\np,Platform 1,,,0,S\nq,End,45.01,7,0,\nm,Middle,45.005,7,0,\n',
    stop_times:
      'trip_id,arrival_time,departure_time,stop_id,stop_sequence\none,25:10:00,25:10:00,q,30\none,24:50:00,24:50:00,p,10\none,,,m,20\ntwo,08:00:00,08:00:00,p,1\n',
    frequencies: '',
    calendar: '',
    calendar_dates: 'service_id,date,exception_type\nall,20240308,1\nall,20240309,1\n',
  };
  const { index, notes } = await buildIndex('x', tablesOf(townFeed(changes)));
  expect(index.stops.map(({ name }) => name)).toEqual(['Central', 'Middle', 'End']);
  expect(index.patterns).toMatchObject([{ seconds: [0, 600, 1200], trips: 1 }]);
  // The night after Friday the 8th and after Saturday the 9th: Saturday and Sunday at 0 and 1 o'clock.
  expect(index.patterns[0]!.hours).toEqual([0, 3, 3]);
  expect(notes).toMatchObject({ trips_left_out: 1, no_shape: 1 });
});

it.each([
  ['no agency', { agency: '' }, /agency\.txt/],
  ['no zone', { agency: 'agency_id,agency_name,agency_timezone\nT,Town,Nowhere\n' }, /time zone/],
  ['an offset as zone', { agency: 'agency_id,agency_name,agency_timezone\nT,Town,+01:00\n' }, /time zone/],
  ['no stops', { stops: 'stop_id,stop_name\n' }, /stops with coordinates/],
  ['a stop outside the earth', { stops: 'stop_id,stop_name,stop_lat,stop_lon\na,A,95,7\n' }, /latitudes up to 90/],
  ['no trips', { trips: 'route_id,service_id,trip_id\n' }, /trips in trips\.txt/],
  ['only lifts', { routes: 'route_id,route_type\n1,6\n' }, /trains, buses or ferries/],
  ['no days', { calendar: '' }, /days of service/],
])('refuses a feed with %s, with the reason', async (_, changes, message) => {
  await expect(buildIndex('x', tablesOf(townFeed(changes)))).rejects.toThrow(message);
});

it.each([
  ['/no/such/feed.zip', /no such file/],
  [import.meta.dirname, /expected a file .* found a folder/],
  [import.meta.filename, /expected a ZIP archive/],
])('names what is wrong with %s', async (path, message) => {
  const expected = expect.stringMatching(message);
  await expect(readFeed(path, 0)).rejects.toMatchObject({ code: 'MOBILITY_USAGE', message: expected });
});

it('extended route types have the kind of their family', () => {
  const types = [0, 1, 2, 3, 4, 11, 106, 401, 702, 900, 1000, 6, 1700];
  const kinds = words('tram subway rail bus ferry bus rail subway bus tram ferry null null');
  expect(types.map((type) => String(kindOfType(type)))).toEqual(kinds);
});

it('cells of half a degree count down from zero to the south and west', () => {
  expect([spot(0, 0), { latitude: -0.1, longitude: -122.3 }].map(coarseCell)).toEqual(['105:26', '-1:-245']);
});
