// What is suggested about the trips of a stretch of time, from the trips that their user labelled.
import type { TimeRange } from '../../model/time.ts';
import type { Labels } from './load-labels.ts';
import { habitsReader, labelsIn } from './read-habits.ts';
import type { LabelStore } from './read-inputs.ts';
import {
  isAsked,
  type LabelledWay,
  type Suggestion,
  type SuggestionSettings,
  suggest,
  type WaySource,
  wayOf,
} from './suggest.ts';
import type { Said } from './user-labels.ts';

/** Suggestions for trips. */
export interface Suggestions {
  readonly settings: SuggestionSettings;
  /** What the user is likely to say about the trip beside what they said, the most probable first. */
  of(trip: WaySource, said: Said): Suggestion[];
}

/** A trip about which labels are suggested. */
export type TimedWay = WaySource & { end_ts: number };

/**
 * Reads what suggestions about some trips need, for one stretch of time after the other. Nothing is read where the user
 * said all about these trips.
 */
export function suggestionsReader(store: LabelStore, userId: string, settings: SuggestionSettings) {
  const habitsAround = habitsReader(store, userId);
  return async function suggestionsFor(trips: readonly TimedWay[], labels: Labels): Promise<Suggestions> {
    const open = trips.filter(({ start_ts }) => isAsked(labelsIn(labels.ofTrip(start_ts).user_input) ?? {}));
    const habits: LabelledWay[] = open.length === 0 ? [] : await habitsAround(rangeOf(open));
    return {
      settings,
      of: (trip, { user_input }) =>
        habits.length === 0 ? [] : suggest(wayOf(trip), labelsIn(user_input) ?? {}, habits),
    };
  };
}

function rangeOf(trips: readonly TimedWay[]): TimeRange {
  const range = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
  for (const { start_ts, end_ts } of trips) {
    range.from = Math.min(range.from, start_ts);
    range.to = Math.max(range.to, end_ts);
  }
  return range;
}
