// Reads the labelled trips around a time range, which suggestions are derived from.
import { day, type TimeRange } from '../../model/time.ts';
import { correctedTrips } from '../corrections/corrected-trips.ts';
import { matchInputs, spansAround } from './load-labels.ts';
import { type LabelStore, readLastLabels } from './read-inputs.ts';
import { withoutSplit } from './split-labels.ts';
import { type LabelledTraits, type LabelSet, suggestedLabels, type TripTraits, toTraits } from './suggest.ts';

/** Labelled trips this long before and after a trip are used (by hand: habits change). */
const reach = { before: 90 * day, after: 30 * day };

/** Only the newest labelled trips and the newest labels are used, at most these numbers (by hand). */
const mostHabits = 100;
const mostLabels = 400;

/** Makes a reader of habits for consecutive time ranges. It does not read trips of the previous range again. */
export function habitsReader(store: LabelStore, userId: string) {
  let known = new Map<number, TripTraits>();
  return async function habitsAround({ from, to }: TimeRange): Promise<LabelledTraits[]> {
    const range = { from: from - reach.before, to: to + reach.after };
    const inputs = await readLastLabels(store, userId, range, mostLabels);
    if (inputs.length === 0) return [];
    const spans = await spansAround(store, userId, inputs);
    const labels = matchInputs(await withoutSplit(store, userId, inputs), spans);
    const labelled = spans
      .flatMap(({ chain_ts, start_ts }) => {
        const given = labelsIn(labels.ofTrip(start_ts).user_input);
        return given === null ? [] : [{ chain_ts, given }];
      })
      .slice(-mostHabits);
    const missing = labelled.flatMap(({ chain_ts }) => (known.has(chain_ts) ? [] : [chain_ts]));
    const read = missing.length === 0 ? [] : await correctedTrips(store).outlines(userId, missing);
    const traits = new Map([...known, ...read.map((trip) => [trip.chain_ts, toTraits(trip)] as const)]);
    const habits = labelled.flatMap(({ chain_ts, given }) => {
      const trait = traits.get(chain_ts);
      return trait === undefined ? [] : [{ chain_ts, ...trait, labels: given }];
    });
    known = new Map(habits.map(({ chain_ts, labels: _, ...trait }) => [chain_ts, trait]));
    return habits;
  };
}

export function labelsIn(given: Readonly<Record<string, unknown>>): LabelSet | null {
  const labels = suggestedLabels.flatMap((name) => {
    const label = given[name];
    return typeof label === 'string' ? [[name, label] as const] : [];
  });
  return labels.length === 0 ? null : Object.fromEntries(labels);
}
