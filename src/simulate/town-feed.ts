// Makes a GTFS feed for simulated people: each has a line of buses or trains, every 10 minutes.
import { zipStream } from '../export/zip-stream.ts';
import { addDays } from '../model/time.ts';
import { planDay } from './plan-day.ts';
import { positionAround, towns } from './town.ts';

/** The ZIP archive of a feed that is valid for a year from the day `from`. */
export function townFeed(seeds: readonly string[], from: string): AsyncGenerator<Uint8Array> {
  const town = towns[0]!;
  const days = 'monday,tuesday,wednesday,thursday,friday,saturday,sunday';
  const tables = new Map<string, string[]>();
  const put = (table: string, columns: string, row: string): void => {
    tables.set(table, [...(tables.get(table) ?? [columns]), row]);
  };
  const dates = [from, addDays(from, 365)].map((day) => day.replaceAll('-', ''));
  put('agency', 'agency_id,agency_name,agency_url,agency_timezone', `T,${town.name} Transit,,${town.zone}`);
  put('calendar', `service_id,${days},start_date,end_date`, `all,1,1,1,1,1,1,1,${dates.join()}`);
  for (const [i, seed] of seeds.entries()) {
    // One of three consecutive days is always a working day.
    const steps = [0, 1, 2].flatMap((later) => planDay({ day: addDays(from, later), seed, town }).steps);
    const leg = steps.find((step) => step.kind === 'leg' && (step.mode === 'bus' || step.mode === 'train'));
    if (leg?.kind !== 'leg') continue;
    const line = i + 1;
    const minutes = Math.round((leg.to - leg.from) / 60);
    put('routes', 'route_id,route_short_name,route_type', `${line},${line},${leg.mode === 'bus' ? 3 : 2}`);
    put('trips', 'route_id,service_id,trip_id', `${line},all,${line}`);
    put('frequencies', 'trip_id,start_time,end_time,headway_secs', `${line},05:00:00,24:00:00,600`);
    for (const [at, point] of [leg.track[0]!, leg.track.at(-1)!].entries()) {
      const [longitude, latitude] = positionAround(point, town.origin);
      const time = `05:${String(at * minutes).padStart(2, '0')}:00`;
      const stop = `${line}-${at}`;
      const name = `Stop ${2 * i + at + 1}`;
      put('stops', 'stop_id,stop_name,stop_lat,stop_lon', `${stop},${name},${latitude},${longitude}`);
      const columns = 'trip_id,arrival_time,departure_time,stop_id,stop_sequence';
      put('stop_times', columns, `${line},${time},${time},${stop},${at}`);
    }
  }
  return zipStream(async (file) => {
    for (const [table, rows] of tables)
      await file(`${table}.txt`, async (writer) => void (await writer.write(`${rows.join('\n')}\n`)));
  });
}
