import { quantile } from '../model/geo/quantile.ts';
import { type ModeClass, modeClass } from '../model/modes.ts';
import type { Truth } from './cases.ts';
import { clipped, coveredBy, coverOf, type Interval, intersectionOverUnion, lengthOf, overlap } from './intervals.ts';

const coarse: Partial<Record<ModeClass, string>> = {
  walk: 'foot',
  bike: 'cycle',
  scooter: 'cycle',
  car: 'motor',
  bus: 'motor',
  rail: 'motor',
  motor: 'motor',
};

export interface FoundTrip extends Interval {
  distance: number; // m
  sections: (ModeSpan & { confidence?: number })[]; // 0 to 1; `tools/train` compares it with the truth
}

type ModeSpan = Interval & { mode: ModeClass };
type FoundClass = ModeClass | 'none'; // none: no section was found

export type CaseScore = ReturnType<typeof scoreCase>;

const leastShared = 0.5; // a pair with a lower intersection over union does not match
const longWait = 300; // s; a wait at least this long cuts a trip into pieces for `f1_split`

/** Ignores trips outside the window of the truth, and true trips that the phone did not record. */
export function scoreCase(truth: Truth, found: readonly FoundTrip[]) {
  const window = { start: truth.range.start_ts, end: truth.range.end_ts };
  const trueTrips = truth.trips.map((trip) => ({
    start: trip.start_ts,
    end: trip.end_ts,
    counts: trip.observable !== false,
    reference: trip.reference_distance_m,
    sections: trip.sections.map((s) => ({ start: s.start_ts, end: s.end_ts, mode: modeClass(s.mode) })),
  }));
  const scored = trueTrips.filter(({ counts }) => counts);
  const unseen = coverOf(trueTrips.filter(({ counts }) => !counts));
  const inWindow = found
    .filter(({ start, end }) => end > window.start && start < window.end)
    .sort((a, b) => a.start - b.start);
  const isExtra = (trip: Interval): boolean => !(lengthOf(trip) > 0 && coveredBy(trip, unseen) >= 0.5 * lengthOf(trip));

  const pairs = matchTrips(scored, inWindow);
  const used = new Set(pairs.values());
  const split = { truth: scored.flatMap(piecesOfTruth), found: inWindow.flatMap(piecesOfFound) };
  const splitUsed = new Set(matchTrips(split.truth, split.found).values());
  const score = {
    matched: pairs.size, // pairs of a true and a found trip
    extra: inWindow.filter((trip) => !used.has(trip) && isExtra(trip)).length, // found trips without a true trip
    missed: scored.length - pairs.size, // true trips without a found trip
    // The next three figures count pieces of trips, which are cut at long waits.
    splitTrue: split.truth.length,
    splitMatched: splitUsed.size,
    splitExtra: split.found.filter((piece) => !splitUsed.has(piece) && isExtra(piece)).length,
    startErrors: [] as number[], // s; found time minus true time
    endErrors: [] as number[],
    distanceErrors: [] as number[], // error divided by the true distance
    motion: 0, // s of true motion
    covered: 0, // s of true motion within found trips
    seconds: new Map<ModeClass, Map<FoundClass, number>>(), // s by true class and found class
    falseSeconds: 0, // s of found motion outside of true trips
    stillSeconds: 0, // s outside of true trips
  };
  for (const [one, trip] of pairs) {
    score.startErrors.push(trip.start - one.start);
    score.endErrors.push(trip.end - one.end);
    if (one.reference) score.distanceErrors.push((trip.distance - one.reference) / one.reference);
  }
  const trueSections = scored.flatMap(({ sections }) => sections);
  addMotion(score, trueSections, inWindow);
  addStillness(score, trueTrips, inWindow, window);
  return score;
}

/** Matches each trip at most once, and the pairs with the largest intersection over union first. */
function matchTrips<A extends Interval, B extends Interval>(trues: readonly A[], found: readonly B[]): Map<A, B> {
  const pairs = trues
    .flatMap((one) => found.map((trip) => ({ one, trip, shared: intersectionOverUnion(one, trip) })))
    .filter(({ shared }) => shared >= leastShared)
    .sort((a, b) => b.shared - a.shared);
  const matched = new Map<A, B>();
  const taken = new Set<B>();
  for (const { one, trip } of pairs) {
    if (matched.has(one) || taken.has(trip)) continue;
    matched.set(one, trip);
    taken.add(trip);
  }
  return matched;
}

function piecesOfTruth(trip: Interval & { sections: ModeSpan[] }): Interval[] {
  const pieces: Interval[] = [];
  let { start } = trip;
  for (const section of trip.sections) {
    if (section.mode !== 'still' || lengthOf(section) < longWait) continue;
    pieces.push({ start, end: section.start });
    start = section.end;
  }
  return [...pieces, { start, end: trip.end }];
}

/** Splits a found trip where it has no moving section for `longWait`. */
function piecesOfFound(trip: FoundTrip): Interval[] {
  const moving = trip.sections.filter(({ mode }) => mode !== 'still').sort((a, b) => a.start - b.start);
  const [first, ...others] = moving;
  if (first === undefined) return [trip];
  const pieces: Interval[] = [];
  let { start } = trip;
  let { end } = first;
  for (const section of others) {
    if (section.start - end >= longWait) {
      pieces.push({ start, end });
      start = section.start;
    }
    end = Math.max(end, section.end);
  }
  return [...pieces, { start, end: trip.end }];
}

/** A trip without sections counts as one section. */
const sectionsOf = (found: readonly FoundTrip[]): ModeSpan[] =>
  found.flatMap(({ start, end, sections }) => (sections.length > 0 ? sections : [{ start, end, mode: 'other' }]));

function addMotion(score: CaseScore, sections: readonly ModeSpan[], found: readonly FoundTrip[]): void {
  const labelled = withoutOverlaps(sectionsOf(found));
  const inTrips = coverOf(found);
  for (const section of sections) {
    if (section.mode === 'still') continue;
    score.motion += lengthOf(section);
    score.covered += coveredBy(section, inTrips);
    const row = score.seconds.get(section.mode) ?? new Map<FoundClass, number>();
    score.seconds.set(section.mode, row);
    let rest = lengthOf(section);
    for (const label of labelled) {
      const both = overlap(section, label);
      if (both === 0) continue;
      row.set(label.mode, (row.get(label.mode) ?? 0) + both);
      rest -= both;
    }
    row.set('none', (row.get('none') ?? 0) + Math.max(0, rest));
  }
}

/** Where two sections overlap, uses the section that starts later. */
function withoutOverlaps(sections: readonly ModeSpan[]): ModeSpan[] {
  const cuts = [...new Set(sections.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  return cuts.slice(0, -1).flatMap((start, i) => {
    const end = cuts[i + 1]!;
    const inside = sections.filter((section) => section.start <= start && section.end >= end);
    const holder = inside.sort((a, b) => a.start - b.start).at(-1);
    return holder === undefined ? [] : [{ start, end, mode: holder.mode }];
  });
}

function addStillness(score: CaseScore, trueTrips: Interval[], found: readonly FoundTrip[], window: Interval): void {
  const within = (intervals: readonly Interval[]): Interval[] =>
    coverOf(intervals.map((one) => clipped(one, window)).filter((one) => one !== null));
  const travelled = within(trueTrips);
  const moving = within(sectionsOf(found).filter(({ mode }) => mode !== 'still'));
  score.falseSeconds = moving.reduce((sum, part) => sum + lengthOf(part) - coveredBy(part, travelled), 0);
  score.stillSeconds = lengthOf(window) - travelled.reduce((sum, part) => sum + lengthOf(part), 0);
}

export type Summary = ReturnType<typeof summarise>;

const fineClasses: readonly ModeClass[] = ['walk', 'bike', 'car', 'bus', 'rail'];

/** Returns figures of all cases together. A figure is null if there was nothing to measure. */
export function summarise(scores: readonly CaseScore[]) {
  const total = (of: (score: CaseScore) => number): number => scores.reduce((sum, score) => sum + of(score), 0);
  const all = (of: (score: CaseScore) => number[]): number[] => scores.flatMap(of).map(Math.abs);
  const [matched, extra, missed] = [total((s) => s.matched), total((s) => s.extra), total((s) => s.missed)];
  const split = total((s) => s.splitMatched + s.splitExtra + s.splitTrue);
  const [motion, covered] = [total((s) => s.motion), total((s) => s.covered)];
  const [falsely, still] = [total((s) => s.falseSeconds), total((s) => s.stillSeconds)];
  const distances = all((s) => s.distanceErrors).map((error) => error * 100);
  const seconds = (truth: ModeClass, found: FoundClass): number => total((s) => s.seconds.get(truth)?.get(found) ?? 0);
  const agreeing = (agree: (truth: ModeClass, found: FoundClass) => boolean): number =>
    total((s) =>
      [...s.seconds].reduce(
        (sum, [truth, row]) => sum + [...row].reduce((part, [found, t]) => part + (agree(truth, found) ? t : 0), 0),
        0,
      ),
    );
  const right = agreeing((truth, found) => truth === found || (truth === 'scooter' && found === 'bike'));
  const rightCoarse = agreeing(
    (truth, found) => found !== 'none' && coarse[truth] !== undefined && coarse[truth] === coarse[found],
  );
  const trueClasses = (Object.keys(coarse) as ModeClass[]).filter((one) => one !== 'motor');
  const f1s = fineClasses.flatMap((one) => {
    const support = total((s) => [...(s.seconds.get(one)?.values() ?? [])].reduce((sum, t) => sum + t, 0));
    if (support === 0) return [];
    const others = trueClasses.filter((truth) => truth !== one && !(one === 'bike' && truth === 'scooter'));
    const confused = others.reduce((sum, truth) => sum + seconds(truth, one), 0);
    return [(2 * seconds(one, one)) / (support + seconds(one, one) + confused)];
  });
  const sumOfF1 = f1s.reduce((sum, f1) => sum + f1, 0);
  const share = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);
  const figure = (values: number[], q: number): number | null => (values.length === 0 ? null : quantile(values, q));
  const errors = (of: (score: CaseScore) => number[]) => [figure(all(of), 0.5), figure(all(of), 0.9)] as const;
  return {
    cases: scores.length,
    trips: matched + missed,
    f1: matched + extra + missed === 0 ? 1 : (2 * matched) / (2 * matched + extra + missed),
    f1_split: split === 0 ? 1 : (2 * total((s) => s.splitMatched)) / split, // F1 of pieces of trips between long waits
    start: errors((s) => s.startErrors), // s; median and 90th percentile of the absolute error
    end: errors((s) => s.endErrors),
    travel: share(covered, motion), // share of the true motion that found trips cover
    mode: share(right, motion), // share of the true motion with the right mode
    coarse: share(rightCoarse, motion), // the same for three modes: foot, cycle and motor
    macro_f1: share(sumOfF1, f1s.length), // mean of the F1 (by time) of each mode
    false_s_per_hour: share(falsely, still / 3600),
    distance: figure(distances, 0.5), // % of the true distance; median of the absolute error
  };
}
