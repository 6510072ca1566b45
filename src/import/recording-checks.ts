// Adds an end of the trip to recordings of other programs, and checks the unit of their speeds.
//
//     ts        0      10     20 s
//     distance     100    100 m           -> 10 m/s
//     speed     36     36     36          -> 36 / 10 = 3.6: probably km/h, not m/s
import { otherEntry } from '../intake/apps/other-entry.ts';
import type { Entry, Origin } from '../model/entry.ts';
import { distance } from '../model/geo/distance.ts';
import { keys } from '../model/keys.ts';
import { states, transitions } from '../model/payloads.ts';
import type { Found } from './import-format.ts';

/** Ends the trip at the latest location, so that the analysis does not wait for more. */
export async function* withEnd(found: AsyncIterable<Found>): AsyncGenerator<Found> {
  let last: Entry | null = null;
  for await (const one of found) {
    yield one;
    const entry = 'entry' in one ? (one.entry as Entry) : null; // recordings yield parsed entries, not JSON texts
    if (entry?.metadata.key === keys.location && timeOf(entry) > (last === null ? -Infinity : timeOf(last)))
      last = entry;
  }
  if (last !== null) yield { owner: null, entry: endAt(last) };
}

/** A location without a time is rejected, so it cannot be the last. */
const timeOf = ({ data }: Entry): number => (typeof data.ts === 'number' ? data.ts : -Infinity);

function endAt({ metadata: { time_zone, origin }, data }: Entry): Entry {
  const fields = { curr_state: states.WAITING_FOR_TRIP_START, transition: transitions.END_TRIP_TRACKING };
  const end = otherEntry(keys.transition, Number(data.ts), fields, origin as unknown as Origin);
  return time_zone === undefined ? end : { ...end, metadata: { ...end.metadata, time_zone } };
}

/** 1 m/s is `factor` in this unit. */
const units = [
  { name: 'km/h', column: 'speed_kmh', factor: 3.6 },
  { name: 'mph', column: 'speed_mph', factor: 3600 / 1609.344 },
  { name: 'knots', column: 'speed_knots', factor: 3600 / 1852 },
];

const fewest = 20; // pairs of successive locations that a decision needs
const most = 5000; // pairs that are compared, at most
const longest = 120; // s between two locations; over a longer time the path bends
const slowest = 2; // m/s; slower movement is mostly noise
const tolerance = 0.12; // a unit fits if the median ratio is 0.88 to 1.12 times the `factor` of the unit

type SpeedLocation = Record<'ts' | 'latitude' | 'longitude' | 'sensed_speed', number>;

/** Warns at the end if the speeds are probably not in m/s. */
export async function* withSpeedCheck(found: AsyncIterable<Found>): AsyncGenerator<Found> {
  const ratios: number[] = [];
  let before: SpeedLocation | null = null;
  for await (const one of found) {
    yield one;
    const { metadata, data } = 'entry' in one ? (one.entry as Entry) : {};
    if (metadata?.key !== keys.location || ratios.length >= most) continue;
    const location = data as unknown as SpeedLocation;
    const seconds = before === null ? 0 : location.ts - before.ts;
    if (before !== null && seconds > 0 && seconds <= longest) {
      const moved = distance(before, location) / seconds;
      const stated = (before.sensed_speed + location.sensed_speed) / 2;
      if (moved >= slowest && stated > 0) ratios.push(stated / moved);
    }
    before = location;
  }
  if (ratios.length < fewest) return;
  const middle = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)]!;
  const unit = units.find(({ factor }) => Math.abs(middle / factor - 1) < tolerance);
  if (unit === undefined) return;
  const larger = `values ${middle.toFixed(1)} times as large as distance over time, probably ${unit.name}`;
  const todo = `import the file for a new user, with --columns ${unit.column}=NAME for the column of speeds, and erase this import`;
  yield { warning: `expected speeds in m/s, found ${larger}: ${todo}`, kind: 'speeds' };
}
