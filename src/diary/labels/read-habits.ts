// The trips that a user labelled around a stretch of time: what suggestions are told from. Bounded, and read when
// asked.

import { day, type TimeRange } from '../../model/time.ts';
import { correctedTrips } from '../corrections/corrected-trips.ts';
import { matched, spansAround } from './load-labels.ts';
import { type LabelStore, readLastLabels } from './read-inputs.ts';
import { type LabelledWay, type LabelSet, suggestedLabels, type Way, wayOf } from './suggest.ts';

/** How long before and after a trip others are looked at: habits change. */
const reach = { before: 90 * day, after: 30 * day };

/** Of more labelled trips the last ones count, and of more labels, corrected ones among them, too. */
const mostHabits = 100;
const mostLabels = 400;

/** Reads habits for one stretch of time after the other; trips that it knows from the one before are not read again. */
export function habitsReader(store: LabelStore, userId: string) {
  let known = new Map<number, Way>();
  return async function habitsAround({ from, to }: TimeRange): Promise<LabelledWay[]> {
    const range = { from: from - reach.before, to: to + reach.after };
    const inputs = await readLastLabels(store, userId, range, mostLabels);
    if (inputs.length === 0) return [];
    const spans = await spansAround(store, userId, inputs);
    const labels = matched(inputs, spans);
    const labelled = spans
      .flatMap(({ chain_ts, start_ts }) => {
        const said = labelsIn(labels.ofTrip(start_ts).user_input);
        return said === null ? [] : [{ chain_ts, said }];
      })
      .slice(-mostHabits);
    const missing = labelled.flatMap(({ chain_ts }) => (known.has(chain_ts) ? [] : [chain_ts]));
    const read = missing.length === 0 ? [] : await correctedTrips(store).outlines(userId, missing);
    const ways = new Map([...known, ...read.map((trip) => [trip.chain_ts, wayOf(trip)] as const)]);
    const habits = labelled.flatMap(({ chain_ts, said }) => {
      const way = ways.get(chain_ts);
      return way === undefined ? [] : [{ chain_ts, ...way, labels: said }];
    });
    known = new Map(habits.map(({ chain_ts, labels: _, ...way }) => [chain_ts, way]));
    return habits;
  };
}

/** The labels among what was said; null: none. */
export function labelsIn(said: Readonly<Record<string, unknown>>): LabelSet | null {
  const labels = suggestedLabels.flatMap((name) => {
    const label = said[name];
    return typeof label === 'string' ? [[name, label] as const] : [];
  });
  return labels.length === 0 ? null : Object.fromEntries(labels);
}
