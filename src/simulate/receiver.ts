import type { Position } from '../model/trip.ts';
import { type DayPlan, whereAt } from './plan-day.ts';
import type { Random } from './random.ts';
import type { TravelMode } from './ride.ts';
import { type Point, positionAround } from './town.ts';

export interface Reading {
  ts: number;
  point: Point; // the position in the plane, for the phone's own decisions
  position: Position;
  altitude: number; // m
  accuracy: number; // m; radius that contains the true position with 68 % probability
  speed: number | null; // m/s; null: unknown to the receiver
  bearing: number | null; // degrees clockwise from north; null: unknown to the receiver
  mode: TravelMode | null;
}

const rememberedFor = 45; // s; time constant: errors of readings that are close in time are similar

/** Returns true positions with an error. Successive calls must not go back in time. */
export function receiver(plan: DayPlan, random: Random): (ts: number) => Reading {
  const height = random.between(20, 400);
  let error: Point = { x: 0, y: 0 };
  let last = Number.NEGATIVE_INFINITY;
  return (ts) => {
    const truth = whereAt(plan, ts);
    const accuracy = statedAccuracy(truth.mode, random);
    const kept = Math.exp(-Math.max(0, ts - last) / rememberedFor);
    const fresh = Math.min(accuracy, 18) * 0.55 * Math.sqrt(1 - kept * kept);
    error = { x: error.x * kept + random.normal(fresh), y: error.y * kept + random.normal(fresh) };
    last = ts;
    const point = { x: truth.x + error.x, y: truth.y + error.y };
    const [longitude, latitude] = positionAround(point, plan.origin);
    const moving = truth.speed > 0.7;
    return {
      ts,
      point,
      position: [rounded(longitude, 7), rounded(latitude, 7)],
      altitude: rounded(height + 6 * Math.sin(truth.x / 900) + random.normal(2), 1),
      accuracy,
      speed: moving ? rounded(Math.max(0, truth.speed + random.normal(0.25)), 2) : null,
      bearing: moving ? rounded((truth.bearing + random.normal(5) + 360) % 360, 1) : null,
      mode: truth.mode,
    };
  };
}

/** Returns a radius in m. It is larger indoors, and rarely hundreds of metres (network position). */
function statedAccuracy(mode: TravelMode | null, random: Random): number {
  if (random.chance(0.008)) return rounded(random.between(210, 900), 1);
  if (mode === null) return rounded(random.between(14, 42), 1);
  return rounded(mode === 'bus' || mode === 'train' ? random.between(6, 18) : random.between(3.5, 11), 1);
}

export function rounded(value: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}
