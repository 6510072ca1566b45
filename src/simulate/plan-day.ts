// Plans what a simulated person really does on a day. Simulated phones then sense it.
import { firstIndex } from '../model/first-index.ts';
import { isDay, isTimeZone, localDateTime, startOfDay } from '../model/time.ts';
import type { Position } from '../model/trip.ts';
import { type Random, seededRandom } from './random.ts';
import { type Instant, motions, ride, type TravelMode } from './ride.ts';
import { away, type Point, span, streets, type Town, towns } from './town.ts';

/** Selects the person and the day. */
export interface DayOptions {
  day: string; // local day, `YYYY-MM-DD`
  seed: string | number; // decides home, work and habits of the person
  /** Home as `[longitude, latitude]`; needs `zone`, too. Default: a position in `town`. */
  home?: Position;
  zone?: string; // IANA zone of the phone; default: the town's zone
  town?: Town; // default: one of `towns`, chosen by the seed
}

/** A stay at one point. `to` is excluded. */
export interface PlannedStay {
  kind: 'stay';
  name: string;
  from: number;
  to: number;
  at: Point;
}

/** A movement between two stays, without pauses in between. */
export interface PlannedLeg {
  kind: 'leg';
  mode: TravelMode;
  from: number;
  to: number;
  distance: number; // m along the path
  track: readonly Instant[]; // one instant per second
}

/** A day without gaps, from its first to its last second. */
export interface DayPlan {
  day: string;
  zone: string;
  origin: Position; // the coordinates of the plane's point (0, 0)
  from: number;
  to: number;
  steps: readonly (PlannedStay | PlannedLeg)[];
}

/** Plans the day of the person `seed`: a commute on working days, otherwise a walk and a visit. */
export function planDay(options: DayOptions): DayPlan {
  const town = townOf(options);
  if (!isDay(options.day)) throw new TypeError(`expected a day YYYY-MM-DD, found ${JSON.stringify(options.day)}`);
  const from = startOfDay(options.day, town.zone);
  const person = personOf(options.seed, options.home !== undefined);
  const day = new DayBuilder(from, person.home, seededRandom('day', options.seed, options.day));
  if (localDateTime(from + 43_200, town.zone).weekday < 5) commute(day, person);
  else dayOff(day, person);
  const to = from + 86_400;
  return { day: options.day, zone: town.zone, origin: town.origin, from, to, steps: day.finish(to) };
}

export function stepAt(plan: DayPlan, ts: number): PlannedStay | PlannedLeg {
  const next = firstIndex(plan.steps.length, (i) => plan.steps[i]!.from > ts);
  return plan.steps[Math.max(0, next - 1)]!;
}

/** The speed is 0 during a stay. */
export function whereAt(plan: DayPlan, ts: number): Instant & { mode: TravelMode | null } {
  const step = stepAt(plan, ts);
  if (step.kind === 'stay') return { ...step.at, speed: 0, bearing: 0, mode: null };
  const instant = step.track[Math.min(step.track.length - 1, Math.max(0, Math.floor(ts - step.from)))]!;
  return { ...instant, mode: step.mode };
}

function townOf({ seed, home, zone, town = seededRandom('town', seed).pick(towns) }: DayOptions): Town {
  if (zone !== undefined && !isTimeZone(zone)) throw new TypeError(`expected an IANA time zone, found ${zone}`);
  if (home === undefined) return { ...town, zone: zone ?? town.zone };
  if (zone === undefined) throw new TypeError('expected the time zone of `home`, found none: give `zone` with `home`');
  return { name: 'home', zone, origin: home };
}

type Person = ReturnType<typeof personOf>;

function personOf(seed: string | number, atOrigin: boolean) {
  const random = seededRandom('person', seed);
  const home = atOrigin ? { x: 0, y: 0 } : away({ x: 0, y: 0 }, random.between(500, 2500), random.between(0, 6.28));
  const towards = random.between(0, 2 * Math.PI);
  const ridesBy: TravelMode = random.chance(0.65) ? 'bus' : 'train';
  const work = away(home, ridesBy === 'bus' ? random.between(4200, 6200) : random.between(7500, 10_500), towards);
  return {
    home,
    work,
    stopAtHome: away(home, random.between(420, 620), towards + random.between(-0.6, 0.6)),
    stopAtWork: away(work, random.between(250, 420), towards + Math.PI + random.between(-0.6, 0.6)),
    lunch: away(work, random.between(480, 700), towards + random.between(1.2, 2)),
    shop: away(home, random.between(1300, 1900), towards + random.between(-0.5, 0.5)),
    friend: away(home, random.between(2600, 4200), towards + random.between(2, 4)),
    park: away(home, random.between(750, 1100), towards + random.between(-2, -1)),
    ridesBy,
    returnsBy: (ridesBy === 'bus' && random.chance(0.6) ? 'bike' : 'car') as TravelMode,
  };
}

const hour = 3600;
const minute = 60;

function commute(day: DayBuilder, person: Person): void {
  const { random } = day;
  day.stayUntil('home', 7.4 * hour + random.between(0, 45 * minute));
  day.go('walk', person.stopAtHome);
  day.stayFor('stop', random.between(1.5 * minute, 3.5 * minute));
  day.go(person.ridesBy, person.stopAtWork);
  day.go('walk', person.work);
  day.stayUntil('work', 12 * hour + random.between(0, 35 * minute));
  day.go('walk', person.lunch);
  day.stayFor('lunch', random.between(28 * minute, 45 * minute));
  day.go('walk', person.work);
  day.stayUntil('work', 16.6 * hour + random.between(0, 50 * minute));
  day.go(person.returnsBy, person.shop);
  day.stayFor('shop', random.between(17 * minute, 28 * minute));
  day.go(person.returnsBy, person.home);
}

function dayOff(day: DayBuilder, person: Person): void {
  const { random } = day;
  day.stayUntil('home', 9.5 * hour + random.between(0, 1.5 * hour));
  day.go('walk', person.park);
  day.stayFor('park', random.between(25 * minute, 60 * minute));
  day.go('walk', person.home);
  day.stayUntil('home', 14 * hour + random.between(0, 1.5 * hour));
  day.go('car', person.friend);
  day.stayFor('friend', random.between(1.5 * hour, 3 * hour));
  day.go('car', person.home);
}

class DayBuilder {
  readonly random: Random;
  readonly #from: number;
  readonly #steps: (PlannedStay | PlannedLeg)[] = [];
  #now: number;
  #at: Point;

  constructor(from: number, at: Point, random: Random) {
    this.#from = from;
    this.#now = from;
    this.#at = at;
    this.random = random;
  }

  stayUntil(name: string, second: number): void {
    this.stayFor(name, this.#from + second - this.#now);
  }

  stayFor(name: string, seconds: number): void {
    const to = this.#now + Math.max(minute, Math.round(seconds));
    this.#steps.push({ kind: 'stay', name, from: this.#now, to, at: this.#at });
    this.#now = to;
  }

  go(mode: TravelMode, to: Point): void {
    const corners = streets(this.#at, to, motions[mode].block, this.random);
    const track = ride(corners, mode, this.random);
    const end = this.#now + track.length;
    const distance = corners.slice(1).reduce((sum, corner, i) => sum + span(corners[i]!, corner), 0);
    this.#steps.push({ kind: 'leg', mode, from: this.#now, to: end, distance, track });
    this.#now = end;
    this.#at = to;
  }

  finish(to: number): readonly (PlannedStay | PlannedLeg)[] {
    this.stayFor('home', to - this.#now);
    return this.#steps;
  }
}
