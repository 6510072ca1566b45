// Names the public transport line of a section, and changes TRAIN to TRAM or SUBWAY if its lines are of that kind.
//
//   mode of the leg       TRAIN .94, BUS .05
//   lines within reach    N (tram) .61, KT (tram) .30, 30 (bus) .02
//   section               TRAM .94, BUS .05; line N, alternatively KT
import type { TransitLine } from '../../model/trip.ts';
import { railKinds } from '../../transit/feed-index.ts';
import type { LineFound, TransitEvidence } from '../../transit/match-ride.ts';
import type { Mode } from '../segmenter.ts';

/**
 * The lowest probability of a ferry line for the mode FERRY. Also the share that trams must have in the probability of
 * all rail lines for the mode TRAM, and subways for SUBWAY (by hand).
 */
const sureKind = 0.8;
const leastNamed = 0.1; // a line with a lower probability is not named (by hand)
/** The lowest probability of an alternative, divided by the probability of the best line (by hand: e^-1.5). */
const alternativeRatio = 0.22;

export type ModeByLine = Mode & { transit?: TransitLine };

export function nameLine(mode: Mode, evidence: TransitEvidence | undefined): ModeByLine {
  const best = evidence?.lines[0];
  if (evidence === undefined || best === undefined) return mode;
  const isFerry = best.kind === 'ferry' && best.probability >= sureKind && Math.max(evidence.bus, evidence.train) <= 0;
  if (isFerry) return { ...asMode('FERRY', best.probability), transit: toLine(evidence.lines, ['ferry']) };
  const name = mode.sensed_mode.slice('PredictedModeTypes.'.length);
  if (name === 'BUS') return withLine(mode, evidence.lines, ['bus']);
  if (name !== 'TRAIN') return mode;
  return withLine(withKind(mode, evidence.lines), evidence.lines, railKinds);
}

export const asMode = (name: string, probability: number): Mode => ({
  sensed_mode: `PredictedModeTypes.${name}`,
  mode_confidence: roundProbability(probability),
  mode_probabilities: { [name]: roundProbability(probability) },
});

export const roundProbability = (probability: number): number => Math.round(probability * 1000) / 1000;

function withLine(mode: Mode, lines: readonly LineFound[], kinds: readonly string[]): ModeByLine {
  const line = toLine(lines, kinds);
  return line === undefined ? mode : { ...mode, transit: line };
}

function toLine(lines: readonly LineFound[], kinds: readonly string[]): TransitLine | undefined {
  const fitting = lines.filter(({ kind }) => kinds.includes(kind));
  const [best, ...others] = fitting;
  if (best === undefined || best.probability < leastNamed) return undefined;
  const near = others.filter(({ probability }) => probability >= alternativeRatio * best.probability);
  return {
    feed: best.feed,
    agency: best.agency,
    route_id: best.route_id,
    route_short_name: best.short_name,
    route_long_name: best.long_name,
    route_type: best.kind,
    from_stop: best.from_stop,
    to_stop: best.to_stop,
    probability: roundProbability(best.probability),
    alternatives: [...new Set(near.map(({ short_name, long_name }) => short_name || long_name))].slice(0, 5),
    ...(best.feed_age_days > 0 && { feed_age_days: Math.ceil(best.feed_age_days) }),
  };
}

/** Changes TRAIN to TRAM or SUBWAY if lines of that kind have nearly all the probability of all rail lines. */
function withKind(mode: Mode, lines: readonly LineFound[]): Mode {
  const rails = lines.filter(({ kind }) => railKinds.includes(kind));
  const all = rails.reduce((sum, { probability }) => sum + probability, 0);
  for (const [kind, name] of [
    ['tram', 'TRAM'],
    ['subway', 'SUBWAY'],
  ] as const) {
    const own = rails.reduce((sum, line) => sum + (line.kind === kind ? line.probability : 0), 0);
    if (all < leastNamed || own < sureKind * all) continue;
    const { TRAIN = 0, ...others } = mode.mode_probabilities;
    return { ...mode, sensed_mode: `PredictedModeTypes.${name}`, mode_probabilities: { ...others, [name]: TRAIN } };
  }
  return mode;
}
