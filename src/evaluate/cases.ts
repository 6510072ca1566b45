import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  cleanEvents,
  cleanLocations,
  cleanMotions,
  type Location,
  type Motion,
  type PhoneEvent,
  restOfPings,
  toEvent,
  toLocation,
  toMotion,
  toPing,
} from '../analysis/clean/observations.ts';
import { convert } from '../intake/converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { zoneAt } from '../model/geo/zone.ts';
import { keys } from '../model/keys.ts';
import { errorText, usageError } from '../model/mobility-error.ts';
import { sourceOf } from '../model/sources.ts';
import type { CarriedEvidence } from './carried-transit.ts';

/** The trips as the participants logged them. Times are seconds since the epoch. */
export interface Truth {
  platform: string;
  regime: string; // sampling settings of the phone
  timeline: string; // name of the itinerary
  range: { start_ts: number; end_ts: number };
  transit?: CarriedEvidence[]; // absent: there were no feeds
  trips: {
    start_ts: number;
    end_ts: number;
    reference_distance_m: number | null; // m; null: unknown
    observable?: boolean; // false: the phone recorded almost nothing of the trip
    sections: { mode: string; start_ts: number; end_ts: number }[];
  }[];
}

export interface RecordedCase {
  name: string;
  truth: Truth;
  locations: Location[];
  motions: Motion[];
  events: PhoneEvent[];
}

export function caseNames(folder: string): string[] {
  let files: string[];
  try {
    files = readdirSync(folder);
  } catch (cause) {
    throw usageError(`cannot read the folder ${folder}: ${errorText(cause)}`, { cause });
  }
  const names = files.filter((file) => file.endsWith('.truth.json')).map((file) => file.slice(0, -11));
  const whole = names.filter((name) => files.includes(`${name}.put.json.gz`)).sort();
  if (whole.length > 0) return whole;
  throw usageError(`expected <case>.truth.json beside <case>.put.json.gz in ${folder}, found none`);
}

export function readCase(folder: string, name: string): RecordedCase {
  try {
    const put = JSON.parse(gunzipSync(readFileSync(join(folder, `${name}.put.json.gz`))).toString('utf8'));
    const truth = JSON.parse(readFileSync(join(folder, `${name}.truth.json`), 'utf8')) as Truth;
    return { name, truth, ...observationsOf(put.phone_to_server as Entry[]) };
  } catch (cause) {
    throw usageError(`cannot read the case ${name} in ${folder}: ${errorText(cause)}`, { cause });
  }
}

/** Uses the last of several entries with one identity. Skips entries that cannot be converted. */
export function observationsOf(pushed: readonly Entry[]): Pick<RecordedCase, 'locations' | 'motions' | 'events'> {
  const byIdentity = new Map<string, Entry>();
  for (const entry of pushed) byIdentity.set(`${entry.metadata.key} ${entry.metadata.write_ts}`, entry);
  const entries = [...byIdentity.values()].flatMap((entry) => {
    try {
      return [convert(entry)];
    } catch {
      return [];
    }
  });
  const of = (...wanted: string[]): Entry[] => entries.filter(({ metadata }) => wanted.includes(metadata.key));
  const filtered = of(keys.filteredLocation);
  const located = filtered.length > 0 ? filtered : of(keys.location);
  const observed = located.flatMap((entry) => toLocation(entry, sourceOf(entry)) ?? []);
  const locations = cleanLocations(observed, zoneAt);
  const motions = cleanMotions(of(keys.activity, keys.motionActivity).flatMap((entry) => toMotion(entry) ?? []));
  const pings = located.flatMap((entry) => toPing(entry) ?? []);
  const rests = restOfPings(pings, { locations, motions, loadedUntil: Infinity });
  return {
    locations,
    motions: cleanMotions([...motions, ...rests]),
    events: cleanEvents(of(keys.transition).flatMap((entry) => toEvent(entry) ?? [])),
  };
}
