import { day, type TimeRange } from '../../model/time.ts';
import { rangeOfTrips } from '../../model/trip-fields.ts';
import { correctedTrips } from '../corrections/corrected-trips.ts';
import { type Labels, matchInputs, spansAround } from './load-labels.ts';
import { type LabelStore, readLastLabels } from './read-inputs.ts';
import { withoutSplit } from './split-labels.ts';
import {
  isAsked,
  type LabelledTraits,
  type LabelSet,
  type Suggestion,
  suggest,
  suggestedLabels,
  type TraitSource,
  type TripTraits,
  toTraits,
} from './suggest.ts';
import type { UserInput } from './user-labels.ts';

/** Returns label sets that complete the given labels, the most probable first. */
export type Suggestions = (trip: TraitSource, input: UserInput) => Suggestion[];

export type TimedTraitSource = TraitSource & { end_ts: number };

/** Makes a reader for consecutive ranges of trips. It reads nothing if all trips have labels. */
export function suggestionsReader(store: LabelStore, userId: string) {
  const habitsAround = habitsReader(store, userId);
  return async function suggestionsFor(trips: readonly TimedTraitSource[], labels: Labels): Promise<Suggestions> {
    const open = trips.filter(({ start_ts }) => isAsked(labelsIn(labels.ofTrip(start_ts).user_input) ?? {}));
    const habits: LabelledTraits[] = open.length === 0 ? [] : await habitsAround(rangeOfTrips(open));
    return (trip, { user_input }) =>
      habits.length === 0 ? [] : suggest(toTraits(trip), labelsIn(user_input) ?? {}, habits);
  };
}

const reach = { before: 90 * day, after: 30 * day }; // s; other trips are not used (by hand: habits change)
const mostHabits = 100; // labelled trips; only the newest are used (by hand)
const mostLabels = 400; // labels; only the newest are read (by hand)

/** Makes a reader of labelled trips, which does not read trips of the previous range again. */
function habitsReader(store: LabelStore, userId: string) {
  let known = new Map<number, TripTraits>();
  return async function habitsAround({ from, to }: TimeRange): Promise<LabelledTraits[]> {
    const range = { from: from - reach.before, to: to + reach.after };
    const inputs = await readLastLabels(store, userId, range, mostLabels);
    if (inputs.length === 0) return [];
    const spans = await spansAround(store, userId, inputs);
    const labels = matchInputs(await withoutSplit(store, userId, inputs), spans);
    const labelled = spans
      .map(({ chain_ts, start_ts }) => ({ chain_ts, given: labelsIn(labels.ofTrip(start_ts).user_input) }))
      .filter(({ given }) => given !== null)
      .slice(-mostHabits);
    const missing = labelled.flatMap(({ chain_ts }) => (known.has(chain_ts) ? [] : [chain_ts]));
    const read = missing.length === 0 ? [] : await correctedTrips(store).briefsAt(userId, missing);
    const traits = new Map([...known, ...read.map(({ chain_ts, trip }) => [chain_ts, toTraits(trip!)] as const)]);
    const found = labelled.filter(({ chain_ts }) => traits.has(chain_ts));
    known = new Map(found.map(({ chain_ts }) => [chain_ts, traits.get(chain_ts)!]));
    return found.map(({ chain_ts, given }) => ({ ...known.get(chain_ts)!, labels: given! }));
  };
}

function labelsIn(given: Readonly<Record<string, unknown>>): LabelSet | null {
  const labels = suggestedLabels.flatMap((name) => {
    const label = given[name];
    return typeof label === 'string' ? [[name, label] as const] : [];
  });
  return labels.length === 0 ? null : Object.fromEntries(labels);
}
