import { analyse } from '../analysis/analyse.ts';
import type { Models } from '../analysis/models.ts';
import { segmenterWith } from '../analysis/segment.ts';
import { modeClass } from '../model/modes.ts';
import { carriedTransit } from './carried-transit.ts';
import { caseNames, type RecordedCase, readCase, type Truth } from './cases.ts';
import { type CaseScore, type FoundTrip, scoreCase } from './score.ts';

export type ScoredCase = Pick<Truth, 'platform' | 'regime' | 'timeline'> & { name: string; score: CaseScore };

export function tripsFound(one: RecordedCase, models: Partial<Models> = {}): FoundTrip[] {
  const { truth, locations, motions, events } = one;
  const transit = truth.transit ? carriedTransit(truth.transit) : null;
  const input = { userId: 'case', locations, motions, events, carry: null, loadedUntil: Infinity };
  const { records } = analyse(input, segmenterWith(models, transit));
  const trips = records.flatMap(({ trip }) => trip ?? []);
  return trips.map((trip) => ({
    start: trip.start_ts,
    end: trip.end_ts,
    distance: trip.distance,
    sections: trip.sections.map((one) => ({
      start: one.start_ts,
      end: one.end_ts,
      mode: modeClass(one.sensed_mode),
      confidence: one.mode_confidence ?? 0,
    })),
  }));
}

/** Scores the cases of the folder; with `only`, the cases whose name contains one of its texts. */
export function* evaluate(
  folder: string,
  { models = {}, only = [] }: { models?: Partial<Models>; only?: readonly string[] } = {},
): Generator<ScoredCase> {
  for (const name of caseNames(folder)) {
    if (only.length > 0 && !only.some((text) => name.includes(text))) continue;
    const one = readCase(folder, name);
    const { platform, regime, timeline } = one.truth;
    yield { name, platform, regime, timeline, score: scoreCase(one.truth, tripsFound(one, models)) };
  }
}
