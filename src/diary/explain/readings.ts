// Reads the entries of the phone around a day as names, without coordinates and without analysis.
import { interpretEntry } from '../../intake/converters/convert.ts';
import { dataTime, type Entry } from '../../model/entry.ts';
import { keys } from '../../model/keys.ts';
import { motionTypes, transitions } from '../../model/payloads.ts';
import type { TimeRange } from '../../model/time.ts';
import { everyEntry } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import type { PhoneReading } from './explain-day.ts';

/** Reads locations, motion readings and events of a time range, ascending. `locations`: the key of the locations. */
export async function readReadings(
  { timeseries }: Pick<Store, 'timeseries'>,
  userId: string,
  { from, to }: TimeRange,
  locations: string,
): Promise<PhoneReading[]> {
  const wanted = [locations, keys.motionActivity, keys.activity, keys.transition];
  const readings: PhoneReading[] = [];
  for await (const entry of everyEntry(timeseries, userId, { keys: wanted, time: 'ts', from, to, limit: 5000 })) {
    const reading = readingIn(interpretEntry(entry));
    if (reading !== null) readings.push(reading);
  }
  return readings;
}

function readingIn({ metadata: { key }, data }: Entry): PhoneReading | null {
  const ts = dataTime(data);
  if (ts === null) return null;
  if (key === keys.transition) return { ts, kind: 'phone', word: nameOf(transitions, data.transition) };
  if (key === keys.motionActivity || key === keys.activity) {
    return { ts, kind: 'motion', word: nameOf(motionTypes, data.type) };
  }
  return { ts, kind: 'location', word: 'location' };
}

/** `exited geofence` for the code of `EXITED_GEOFENCE`. */
function nameOf(codes: Record<string, number>, code: unknown): string {
  const [name = 'unknown code'] = Object.entries(codes).find(([, one]) => one === code) ?? [];
  return name.toLowerCase().replaceAll('_', ' ');
}
