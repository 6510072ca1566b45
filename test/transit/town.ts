// A town with a bus line and a tram, as GTFS tables.
import { buildIndex, type GtfsTables } from '../../src/transit/build-index.ts';
import type { FeedIndex } from '../../src/transit/feed-index.ts';
import { spot } from '../support/phone.ts';

/** Text files of a feed; each replaces the file of the town with its name. */
export type GtfsTexts = Readonly<Record<string, string>>;

/** Line 1 goes east along the street north = 0, line 2 north along east = 0; stops each 400 m. */
export function townFeed(changes: GtfsTexts = {}): GtfsTexts {
  const stops = ['stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station'];
  const times = ['trip_id,arrival_time,departure_time,stop_id,stop_sequence'];
  for (let at = 0; at <= 10; at += 1) {
    const [east, north] = [spot(400 * at, 0), spot(0, 400 * at)];
    stops.push(
      `e${at},East ${at},${east.latitude},${east.longitude},0,`,
      `n${at},North ${at},${north.latitude},${north.longitude},0,`,
    );
    // 400 m in 80 s: 18 km/h.
    const clock = new Date((6 * 3600 + 80 * at) * 1000).toISOString().slice(11, 19);
    times.push(`one,${clock},${clock},e${at},${at + 1}`, `two,${clock},${clock},n${at},${at + 1}`);
  }
  return {
    agency: 'agency_id,agency_name,agency_url,agency_timezone\nT,Town Transit,http://example.org,Europe/Berlin\n',
    routes: 'route_id,agency_id,route_short_name,route_long_name,route_type\n1,T,1,Eastern,3\n2,T,2,Northern,0\n',
    trips: 'route_id,service_id,trip_id\n1,all,one\n2,all,two\n',
    frequencies: 'trip_id,start_time,end_time,headway_secs\none,06:00:00,22:00:00,600\ntwo,06:00:00,22:00:00,600\n',
    calendar:
      'service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nall,1,1,1,1,1,1,1,20240101,20241231\n',
    stops: stops.join('\n'),
    stop_times: times.join('\n'),
    ...changes,
  };
}

export function tablesOf(texts: GtfsTexts): GtfsTables {
  return {
    async *rows(table) {
      const [header, ...lines] = (texts[table] ?? '').trim().split('\n');
      for (const line of lines) {
        const cells = line.split(',');
        yield Object.fromEntries(header!.split(',').map((name, at) => [name, cells[at] ?? '']));
      }
    },
  };
}

export const indexOf = async (id: string, changes: GtfsTexts = {}): Promise<FeedIndex> =>
  (await buildIndex(id, tablesOf(townFeed(changes)))).index;
