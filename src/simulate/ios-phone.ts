// An iPhone records locations every 50 m of a trip, ends it late, then adds the log of its motions.
import type { Entry } from '../model/entry.ts';
import type { JsonObject } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { formatTime } from '../model/time.ts';
import { type Notebook, openNotebook, writeSettings } from './notebook.ts';
import { type DayPlan, type PlannedLeg, type PlannedStay, stepAt, whereAt } from './plan-day.ts';
import { type Random, seededRandom } from './random.ts';
import { type Reading, receiver, rounded } from './receiver.ts';
import type { TravelMode } from './ride.ts';
import { span } from './town.ts';

const filterDistance = 50; // m between locations
const fence = 100; // m; radius of the geofence around the end of the last trip
const quiet = 600; // s without a location, after which a trip can end

/** Returns the entries by `write_ts`, then the motion activities, whose `write_ts` is their start. */
export const senseIos = (plan: DayPlan, seed: string | number): Entry[] =>
  new Iphone(plan, seededRandom('ios', seed, plan.day)).sense();

class Iphone {
  readonly #plan: DayPlan;
  readonly #random: Random;
  readonly #receive: (ts: number) => Reading;
  readonly #notes: Notebook;
  #centre: Reading;
  /** The last location of the present trip. null: the phone waits for a trip. */
  #last: Reading | null = null;
  #patience = quiet; // s after the last location until the phone notices the end of this trip
  #battery = 0.97;
  #nextPush: number;
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor(plan: DayPlan, random: Random) {
    this.#plan = plan;
    this.#random = random;
    this.#receive = receiver(plan, random);
    this.#notes = openNotebook('ios', plan.zone);
    this.#centre = this.#receive(plan.from);
    this.#nextPush = plan.from + random.between(300, 3600);
  }

  sense(): Entry[] {
    const { from, to } = this.#plan;
    this.#start(from + 2);
    for (let ts = from + 60; ts < to; ) {
      if (ts >= this.#nextPush) this.#silentPush(ts);
      ts = this.#last === null ? this.#wait(ts) : this.#track(ts, this.#last);
    }
    const rows = this.#notes.entries().filter((entry) => entry.metadata.write_ts <= this.#lastEnd + 1);
    return rows.length === 0 ? rows : [...rows, ...motionLog(this.#plan, this.#lastEnd, this.#random)];
  }

  #start(at: number): void {
    writeSettings(this.#notes, at, {
      accuracy: -1,
      filter_distance: filterDistance,
      filter_time: -1,
      trip_end_stationary_mins: 10,
    });
    this.#readBattery(at + 1);
  }

  #wait(ts: number): number {
    if (span(whereAt(this.#plan, ts), this.#centre.point) <= fence) {
      const step = stepAt(this.#plan, ts);
      return Math.max(ts + 3, step.kind === 'stay' ? Math.min(step.to, this.#nextPush) : 0);
    }
    const noticed = ts + this.#random.between(4, 30);
    this.#transition('WAITING_FOR_TRIP_START', 'EXITED_GEOFENCE', noticed);
    this.#transition('WAITING_FOR_TRIP_START', 'TRIP_STARTED', noticed + this.#random.between(0.2, 2));
    this.#last = this.#receive(noticed + 2.5);
    this.#patience = quiet + this.#random.between(40, 240);
    this.#location(keys.location, this.#last); // no filtered copy: iPhones filter out a trip's first location
    return noticed + 3.5;
  }

  #track(ts: number, last: Reading): number {
    if (span(whereAt(this.#plan, ts), last.point) >= filterDistance) {
      const reading = this.#receive(ts + this.#random.between(0, 0.9));
      this.#location(keys.location, reading);
      if (reading.accuracy < 200) this.#location(keys.filteredLocation, reading);
      this.#last = reading;
    } else if (ts - last.ts > this.#patience) {
      this.#endTrip(ts, last);
    }
    return ts + 1;
  }

  #endTrip(ts: number, last: Reading): void {
    let at = ts;
    for (const transition of ['VISIT_STARTED', 'TRIP_END_DETECTED', 'END_TRIP_TRACKING', 'TRIP_ENDED']) {
      this.#transition('ONGOING_TRIP', transition, at);
      at += this.#random.between(0.1, 1.2);
    }
    this.#transition('WAITING_FOR_TRIP_START', 'DATA_PUSHED', at);
    this.#lastEnd = at;
    this.#last = null;
    this.#centre = last;
  }

  #location(key: string, reading: Reading): void {
    const [longitude, latitude] = reading.position;
    this.#notes.write('sensor-data', key, reading.ts + this.#random.between(0.02, 0.9), {
      latitude,
      longitude,
      altitude: reading.altitude,
      vaccuracy: this.#random.pick([4, 6, 10, 12]),
      accuracy: this.#stated(reading.accuracy),
      sensed_speed: reading.speed ?? -1,
      bearing: reading.bearing ?? -1,
      ts: rounded(reading.ts, 5),
      fmt_time: isoWithoutColon(reading.ts, this.#plan.zone),
      floor: 0,
      filter: 'distance',
    });
  }

  /** Returns the radius in m that an iPhone reports: one of only six values. */
  #stated(accuracy: number): number {
    return [5, 10, 30, 65, 165].find((radius) => accuracy <= radius) ?? 1414;
  }

  #transition(state: string, transition: string, ts: number): void {
    this.#notes.write('message', keys.transition, ts, {
      currState: `STATE_${state}`,
      transition: `T_${transition}`,
      ts: rounded(ts, 5),
    });
  }

  #readBattery(ts: number): void {
    this.#battery = Math.max(0.06, this.#battery - this.#random.between(0.005, 0.03));
    this.#notes.write('message', keys.battery, ts, {
      battery_level_ratio: rounded(this.#battery, 2),
      battery_status: 1,
      ts: rounded(ts, 5),
    });
  }

  #silentPush(ts: number): void {
    const state = this.#last === null ? 'WAITING_FOR_TRIP_START' : 'ONGOING_TRIP';
    this.#transition(state, 'RECEIVED_SILENT_PUSH', ts);
    this.#transition(state, 'NOP', ts + 0.4);
    this.#notes.write('message', 'stats/client_nav_event', ts + 0.5, {
      name: 'sync_launched',
      ts: rounded(ts + 0.5, 5),
      reading: -1,
      client_app_version: '1.0.0',
      client_os_version: '9.3.2',
    });
    this.#readBattery(ts + 0.6);
    this.#nextPush = ts + 3600 + this.#random.between(-60, 300);
  }
}

/** Returns a text such as `2016-05-17T12:20:03-0400`. */
function isoWithoutColon(ts: number, zone: string): string {
  return formatTime(Math.floor(ts), zone).replace(/:(\d\d)$/, '$1');
}

function motionLog(plan: DayPlan, until: number, random: Random): Entry[] {
  const notes = openNotebook('ios', plan.zone);
  for (const step of plan.steps) {
    const pause: [number, number] = step.kind === 'leg' ? [6, 28] : [240, 900];
    for (let ts = step.from + random.between(0.5, 4); ts < Math.min(step.to, until); ts += random.between(...pause)) {
      notes.write('sensor-data', keys.motionActivity, ts, activityOf(step, whereAt(plan, ts).speed, ts, random));
    }
  }
  return notes.entries();
}

const flagOf = (mode: TravelMode): string => {
  if (mode === 'walk') return 'walking';
  return mode === 'bike' ? 'cycling' : 'automotive';
};

function activityOf(step: PlannedStay | PlannedLeg, speed: number, ts: number, random: Random): JsonObject {
  const data: JsonObject = { ts: rounded(ts, 5) };
  for (const flag of ['stationary', 'walking', 'running', 'cycling', 'automotive', 'unknown']) data[flag] = false;
  const halts = step.kind === 'stay' || (speed === 0 && random.chance(0.7));
  if (halts) data.stationary = true;
  if (step.kind === 'leg' && (!halts || flagOf(step.mode) === 'automotive') && !random.chance(0.04)) {
    data[flagOf(step.mode)] = true;
  }
  data.confidence = random.pick(halts ? ['high', 'medium', 'low'] : ['high', 'high', 'high', 'medium']);
  return data;
}
