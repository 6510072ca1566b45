// Loads suggestions for the trips of a time range, from the user's labelled trips.
import type { TimeRange } from '../../model/time.ts';
import type { Labels } from './load-labels.ts';
import { habitsReader, labelsIn } from './read-habits.ts';
import type { LabelStore } from './read-inputs.ts';
import {
  isAsked,
  type LabelledTraits,
  type Suggestion,
  type SuggestionSettings,
  suggest,
  type TraitSource,
  toTraits,
} from './suggest.ts';
import type { UserInput } from './user-labels.ts';

export interface Suggestions {
  readonly settings: SuggestionSettings;
  /** Likely label sets that complete the given labels, most probable first. */
  of(trip: TraitSource, input: UserInput): Suggestion[];
}

export type TimedTraitSource = TraitSource & { end_ts: number };

/** Makes a reader of suggestions for consecutive time ranges. It reads nothing if all trips have their labels. */
export function suggestionsReader(store: LabelStore, userId: string, settings: SuggestionSettings) {
  const habitsAround = habitsReader(store, userId);
  return async function suggestionsFor(trips: readonly TimedTraitSource[], labels: Labels): Promise<Suggestions> {
    const open = trips.filter(({ start_ts }) => isAsked(labelsIn(labels.ofTrip(start_ts).user_input) ?? {}));
    const habits: LabelledTraits[] = open.length === 0 ? [] : await habitsAround(rangeOf(open));
    return {
      settings,
      of: (trip, { user_input }) =>
        habits.length === 0 ? [] : suggest(toTraits(trip), labelsIn(user_input) ?? {}, habits),
    };
  };
}

function rangeOf(trips: readonly TimedTraitSource[]): TimeRange {
  const range = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
  for (const { start_ts, end_ts } of trips) {
    range.from = Math.min(range.from, start_ts);
    range.to = Math.max(range.to, end_ts);
  }
  return range;
}
