// Invented people with habits: their places, modes, purposes and labels. For tests of suggestions.
import type { LabelledTraits, LabelSet } from '../../src/diary/labels/suggest.ts';
import type { Position } from '../../src/model/trip.ts';
import { type Random, seededRandom } from '../../src/simulate/random.ts';

const modes = ['walk', 'bike', 'bus', 'drove_alone', 'shared_ride', 'train'] as const;
const purposes = ['home', 'work', 'shopping', 'meal', 'exercise', 'pick_drop'] as const;

/** What the phone makes of a mode, most of the time. */
const sensed: Record<string, string> = {
  walk: 'WALKING',
  bike: 'BICYCLING',
  bus: 'BUS',
  drove_alone: 'CAR',
  shared_ride: 'CAR',
  train: 'TRAIN',
};

const day = 86_400; // s
const monday = Date.UTC(2024, 0, 1) / 1000;

/** A choice among names with the weight of each. */
type Choice = { name: string; weight: number }[];

/** Weights of which few are large when `spread` is small: people of habit. */
function choice(random: Random, names: readonly string[], spread: number): Choice {
  return names.map((name) => ({ name, weight: gamma(random, spread) }));
}

/** A gamma variate of a shape below or above 1 (Marsaglia and Tsang). */
function gamma(random: Random, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * random.between(1e-12, 1) ** (1 / shape);
  const [d, c] = [shape - 1 / 3, 1 / Math.sqrt(9 * shape - 3)];
  for (;;) {
    const x = random.normal(1);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(random.between(1e-12, 1)) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

function draw(random: Random, choices: Choice): string {
  let left = random.next() * choices.reduce((sum, { weight }) => sum + weight, 0);
  for (const { name, weight } of choices) {
    left -= weight;
    if (left <= 0) return name;
  }
  return choices.at(-1)!.name;
}

/**
 * The labelled trips of one made-up person, ascending. People differ in how fixed their habits are, in what these hang
 * on (time of day, kind of day), in how much they label, in changes of habits, and in how well phones detect modes.
 */
export function inventedLife(seed: string | number, days = 60): LabelledTraits[] {
  const random = seededRandom('habits', seed);
  const spread = 10 ** random.between(-2, -0.2);
  const dependsOn = random.pick(['nothing', 'kind of day', 'time of day', 'nothing'] as const);
  const sensing = random.between(0.7, 0.98);
  const diligence = random.between(0.3, 1);
  const wholeLabels = random.chance(0.7) ? 1 : random.between(0.4, 1);
  const changesOn = random.chance(0.3) ? random.between(15, days) : Number.POSITIVE_INFINITY;
  const places: Position[] = Array.from({ length: Math.floor(random.between(3, 8)) }, () => [
    random.between(9, 9.2),
    random.between(48.5, 48.6),
  ]);
  const habits = new Map<string, { mode: Choice; purpose: Choice }>();
  const habitOf = (parts: readonly (string | number)[]) => {
    const key = parts.join(' ');
    if (!habits.has(key)) {
      habits.set(key, { mode: choice(random, modes, spread), purpose: choice(random, purposes, spread / 2) });
    }
    return habits.get(key)!;
  };
  const near = ([lon, lat]: Position): Position => [lon + random.normal(0.0004), lat + random.normal(0.0003)];
  const trips: LabelledTraits[] = [];
  for (let date = 0; date < days; date += 1) {
    const weekend = date % 7 >= 5;
    let at = 0;
    let minute = 7 * 60 + 30 + random.normal(20);
    const stops = [
      ...(weekend ? [] : [1]),
      ...(random.chance(0.5) ? [1 + Math.floor(random.next() * (places.length - 1))] : []),
      0,
    ];
    for (const to of stops) {
      if (to === at) continue;
      const era = date >= changesOn ? 'after' : 'before';
      const when =
        dependsOn === 'kind of day' ? String(weekend) : dependsOn === 'time of day' ? String(minute > 720) : '';
      const habit = habitOf([era, when, at, to]);
      const mode = draw(random, habit.mode);
      const labels: LabelSet = {
        mode_confirm: mode,
        ...(random.chance(wholeLabels) && { purpose_confirm: draw(random, habit.purpose) }),
      };
      const reported = random.chance(sensing) ? sensed[mode]! : random.pick(Object.values(sensed));
      if (random.chance(diligence)) {
        const start_ts = monday + date * day + minute * 60;
        const ends = { start: near(places[at]!), end: near(places[to]!) };
        trips.push({ start_ts, ...ends, minute: Math.floor(minute) % 1440, weekend, mode: reported, labels });
      }
      at = to;
      minute += random.between(60, 400);
    }
  }
  return trips;
}
