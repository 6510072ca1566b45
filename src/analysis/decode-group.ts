// Decodes a candidate group: from its locations and readings to a track, cells, segments, and legs with probabilities.
//
//   track      o  o  o o o  o  o   o    o   o   o  o  o        smoothed locations             clean/track.ts
//   cells      |--|--|--|--|--|--|--|--|--|--|--|--|--|        15 s, 46 features              states/features.ts
//   states     s  s  w  w  s  m  m  m  m  m  m  w  w           trees, then Viterbi            states/viterbi.ts
//   legs             |walk-|  |------motor------|walk|         joined segments                states/segments.ts
//   evidence                  17 features; feeds: bus 3.6      of the motor leg               modes/leg-evidence.ts
//   marginals                 BUS .7, CAR .2, TRAIN .1         linear-chain CRF               modes/mode-crf.ts
//   section                   BUS, confidence .7               lowered if not confirmed       modes/section-mode.ts
import type { CandidateGroup } from './clean/candidates.ts';
import { Track } from './clean/track.ts';
import type { Models } from './models.ts';
import { collectEvidence } from './modes/leg-evidence.ts';
import { forwardBackward } from './modes/mode-crf.ts';
import type { TransitSource } from './modes/transit-evidence.ts';
import { lookAround, type Stretch } from './segmenter.ts';
import { within } from './sorted-times.ts';
import { sleepsIn, toSegments } from './states/segments.ts';
import { decodeCells } from './states/viterbi.ts';

export interface Knowledge {
  models: Models;
  transit: TransitSource | null;
}

/** `outliers`: times of the locations that were removed. */
export type CleanedStretch = Stretch & { outliers: readonly number[] };

export type DecodedGroup = ReturnType<typeof decodeGroup>;

/** s; states are also decoded this long before and after a group (by hand), longer for iPhones, which report late */
const decodeMargin = { before: { time: 420, distance: 1200 }, after: 300 };

export function decodeGroup(group: CandidateGroup, stretch: CleanedStretch, knowledge: Knowledge) {
  const { locations, motions, events, outliers } = stretch;
  const { models } = knowledge;
  const { sampling, from, to } = group;
  const near = within(locations, from - lookAround, to + lookAround).filter((l) => l.sampling === sampling);
  const readings = within(motions, from - lookAround, to + lookAround);
  const track = new Track(near);
  const sleeps = sampling === 'time' ? sleepsIn(within(events, from - lookAround, to + lookAround)) : [];
  const [model, crf] = readings.length > 0 ? [models.full, models.crf] : [models.sparse, models.crfSparse];
  const [begin, end] = [from - decodeMargin.before[sampling], to + decodeMargin.after];
  const cells = decodeCells({ track, motions: readings, sampling, from: begin, to: end }, model);
  const segments = toSegments(cells, track, sleeps);
  const legs = collectEvidence({ segments, track, cells }, begin, end);
  const transit = knowledge.transit?.(legs, track) ?? []; // by leg; empty without feeds
  const probabilities = forwardBackward(legs, crf, { transit });
  return {
    group,
    locations,
    outliers,
    motions: readings,
    events,
    track,
    cells,
    segments,
    legs,
    probabilities,
    transit,
    crf,
    model: model.id,
  };
}
