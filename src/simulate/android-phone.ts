// An Android phone records a location every 30 s of a trip, and ends it five minutes after arrival.
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { formatForPeople } from '../model/time.ts';
import { type Notebook, openNotebook, writeSettings } from './notebook.ts';
import { type DayPlan, stepAt, whereAt } from './plan-day.ts';
import { type Random, seededRandom } from './random.ts';
import { type Reading, receiver, rounded } from './receiver.ts';
import type { TravelMode } from './ride.ts';
import { span } from './town.ts';

const interval = 30; // s between locations
const fence = 100; // m; radius of the geofence around the end of the last trip
const quiet = 300; // s; a trip ends when the phone has been within `fence` for this long
const bootedBefore = 260_000; // s from the start of the phone to the start of the day

export const senseAndroid = (plan: DayPlan, seed: string | number): Entry[] => new AndroidPhone(plan, seed).sense();

class AndroidPhone {
  readonly #plan: DayPlan;
  readonly #random: Random;
  readonly #receive: (ts: number) => Reading;
  readonly #notes: Notebook;
  #centre: Reading;
  /** The locations of the present trip. null: the phone waits for a trip. */
  #trip: Reading[] | null = null;
  /** The code of walking in motion readings. Older phones know only ON_FOOT. */
  readonly #afoot: number;
  #battery = 96;
  #nextSync: number;
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor(plan: DayPlan, seed: string | number) {
    const random = seededRandom('android', seed, plan.day);
    this.#plan = plan;
    this.#random = random;
    this.#receive = receiver(plan, random);
    this.#notes = openNotebook('android', plan.zone);
    this.#centre = this.#receive(plan.from);
    this.#nextSync = plan.from + random.between(300, 3600);
    this.#afoot = seededRandom('platform', seed).chance(0.3) ? onFoot : walking;
  }

  /** Leaves out entries after the last trip: the phone keeps them until the next trip ends. */
  sense(): Entry[] {
    const { from, to } = this.#plan;
    this.#start(from + 2);
    for (let ts = from + 60; ts < to; ) {
      if (ts >= this.#nextSync) this.#sync(ts);
      ts = this.#trip === null ? this.#wait(ts) : this.#track(ts, this.#trip);
    }
    return this.#notes.entries().filter((entry) => entry.metadata.write_ts <= this.#lastEnd);
  }

  #start(at: number): void {
    writeSettings(this.#notes, at, {
      accuracy: 100,
      filter_distance: -1,
      filter_time: 30_000,
      trip_end_stationary_mins: 5,
      android_geofence_responsiveness: 5000,
    });
    this.#transition('waiting_for_trip_start', 'initialize', at + 1);
  }

  #wait(ts: number): number {
    if (span(whereAt(this.#plan, ts), this.#centre.point) <= fence) {
      const step = stepAt(this.#plan, ts);
      return Math.max(ts + 5, step.kind === 'stay' ? Math.min(step.to, this.#nextSync) : 0);
    }
    const noticed = ts + this.#random.between(5, 40);
    this.#transition('waiting_for_trip_start', 'exited_geofence', noticed);
    this.#trip = [];
    return noticed + this.#random.between(1, 4);
  }

  #track(ts: number, trip: Reading[]): number {
    const reading = this.#receive(rounded(ts, 3));
    const written = ts + this.#random.between(0.05, 1.5);
    this.#location(keys.location, reading, written);
    if (reading.accuracy < 200) {
      this.#location(keys.filteredLocation, reading, written + 0.004);
      trip.push(reading);
    }
    this.#motion(reading, written + this.#random.between(0.1, 6));
    if (arrived(trip, ts)) {
      this.#lastEnd = rounded(ts + this.#random.between(8, 20), 3);
      this.#transition('ongoing_trip', 'stopped_moving', this.#lastEnd);
      this.#trip = null;
      this.#centre = reading;
    }
    return ts + interval + Math.max(-0.2, 0.7 + this.#random.normal(0.5)) + (this.#random.chance(0.02) ? interval : 0);
  }

  #location(key: string, reading: Reading, written: number): void {
    const [longitude, latitude] = reading.position;
    this.#notes.write('sensor-data', key, written, {
      latitude,
      longitude,
      altitude: reading.altitude,
      accuracy: reading.accuracy,
      bearing: reading.bearing ?? 0,
      sensed_speed: reading.speed ?? 0,
      ts: reading.ts,
      fmt_time: formatForPeople(reading.ts, this.#plan.zone, 'MMM D, YYYY h:mm:ss A'),
      elapsedRealtimeNanos: Math.round((reading.ts - this.#plan.from + bootedBefore) * 1000) * 1_000_000,
      filter: 'time',
    });
  }

  #motion(reading: Reading, written: number): void {
    const { type, confidence } = recognised(reading, this.#afoot, this.#random);
    this.#notes.write('sensor-data', keys.motionActivity, written, {
      ts: rounded(written - 0.02, 3),
      type,
      confidence,
    });
  }

  #transition(state: string, transition: string, ts: number): void {
    this.#notes.write('message', keys.transition, ts, {
      currState: `local.state.${state}`,
      transition: `local.transition.${transition}`,
      ts: rounded(ts, 3),
    });
    this.#readBattery(ts + 0.05);
  }

  #readBattery(ts: number): void {
    this.#battery = Math.max(8, this.#battery - this.#random.between(0.3, 1.6));
    const warmth = Math.round(this.#random.between(262, 318));
    this.#notes.write('sensor-data', keys.battery, ts, {
      battery_level_pct: Math.round(this.#battery),
      battery_status: 3,
      android_health: 'GOOD',
      android_plugged: 'UNKNOWN',
      android_technology: 'Li-ion',
      android_temperature: warmth,
      android_voltage: warmth, // real phones repeat the temperature here
      ts: rounded(ts, 3),
    });
  }

  #sync(ts: number): void {
    const event = (key: string, name: string, at: number, reading: number): void =>
      this.#notes.write('message', key, at, {
        name,
        ts: rounded(at, 3),
        reading,
        client_app_version: '1.0.0',
        client_os_version: '6.0.1',
      });
    event('stats/client_nav_event', 'sync_launched', ts, -1);
    this.#readBattery(ts + 0.3);
    event('stats/client_time', 'pull_duration', ts + 2, rounded(this.#random.between(0.2, 1.8), 3));
    event('stats/client_time', 'sync_duration', ts + 2.1, rounded(this.#random.between(0.6, 4), 3));
    this.#nextSync = ts + 3600 + this.#random.between(-120, 900);
  }
}

/** True if the last ten locations, and all locations of five minutes, are near the newest. */
function arrived(trip: readonly Reading[], ts: number): boolean {
  const newest = trip.at(-1);
  if (newest === undefined || trip.length < 10 || ts - trip[0]!.ts < quiet) return false;
  const recent = trip.filter((reading, i) => i >= trip.length - 10 || reading.ts > ts - quiet);
  return recent.every((reading) => span(reading.point, newest.point) < fence);
}

const typeOf: Record<Exclude<TravelMode, 'walk'>, number> = { bike: 1, bus: 0, train: 0, car: 0 };
const [onFoot, still, unknown, tilting, walking] = [2, 3, 4, 5, 7];

function recognised({ mode, speed }: Reading, afoot: number, random: Random): { type: number; confidence: number } {
  if (random.chance(0.05)) return { type: tilting, confidence: 100 };
  if (random.chance(0.04)) return { type: unknown, confidence: Math.round(random.between(30, 45)) };
  if (mode === null || (speed === null && random.chance(0.7))) return { type: still, confidence: 100 };
  const type = mode === 'walk' ? afoot : typeOf[mode];
  return { type, confidence: Math.round(random.between(72, 100)) };
}
