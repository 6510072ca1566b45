// What a user said about the trips and stays of a stretch of time: inputs are matched whenever somebody reads.

import { day, justAfter, type TimeRange } from '../../model/time.ts';
import type { TripSpan } from '../../store/store.ts';
import { correctedTrips } from '../corrections/corrected-trips.ts';
import type { Input } from './input-keys.ts';
import { type Span, spanOf } from './match-inputs.ts';
import { type LabelStore, longestInput, readInputs } from './read-inputs.ts';
import { nothingSaid, type Said, saidBy } from './user-labels.ts';

/** What was said, by trip and by stay. */
export interface Labels {
  /** About the trip that starts at this time. */
  ofTrip(startTs: number): Said;
  /** About the stay from one time to another; a missing one is open. */
  ofStay(enterTs: number | null, exitTs: number | null): Said;
  /** Trips about which a label or a survey says something. */
  readonly labelledTrips: number;
}

/** The labels of a user without any input. */
export const noLabels: Labels = { ofTrip: () => nothingSaid, ofStay: () => nothingSaid, labelledTrips: 0 };

/**
 * What was said about trips and stays that touch the range. Nothing of it is stored: no label depends on when it came,
 * on a run of the pipeline, or on its trip before it was derived again. `isBounded`: of the newest 8 MiB of inputs.
 */
export async function readLabels(
  store: LabelStore,
  userId: string,
  range: TimeRange,
  options: { isBounded?: boolean } = {},
): Promise<Labels> {
  const inputs = await readInputs(store, userId, range, options);
  return inputs.length === 0 ? noLabels : matched(inputs, await spansAround(store, userId, inputs));
}

/** The trips among which the inputs have to choose: all that they touch, and the next ones before and after. */
export async function spansAround(store: LabelStore, userId: string, inputs: readonly Input[]): Promise<TripSpan[]> {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const { start, end } of inputs) {
    from = Math.min(from, start ?? end! - day);
    to = Math.max(to, Math.min(end ?? start! + day, (start ?? end!) + longestInput));
  }
  const trips = correctedTrips(store);
  const before = await trips.previous(userId, from);
  // A trip starts, as shown, before its first location: hence the day.
  const spans = await trips.spans(userId, { from: before?.chain_ts ?? from, to: justAfter(to + day) });
  const after = await trips.next(userId, spans.at(-1)?.chain_ts ?? to);
  return after === null ? spans : [...spans, { ...after, written_ts: 0 }];
}

/** Gives each input to one trip, or to one stay between trips. Pure. */
export function matched(inputs: readonly Input[], trips: readonly TripSpan[]): Labels {
  const ways = trips.map((trip): Span => ({ start: trip.start_ts, end: trip.end_ts }));
  const stays = staysBetween(ways);
  const ofWay = assign(inputs, 'trip', ways);
  const ofStay = assign(inputs, 'place', stays);
  const byStart = new Map(ways.map((way) => [way.start, ofWay.get(way) ?? []]));
  return {
    get labelledTrips() {
      return [...ofWay.values()].filter((own) => Object.keys(saidBy(own).user_input).length > 0).length;
    },
    ofTrip: (startTs) => saidBy(byStart.get(startTs) ?? []),
    ofStay: (enterTs, exitTs) => {
      const own = { start: enterTs ?? Number.NEGATIVE_INFINITY, end: exitTs ?? Number.POSITIVE_INFINITY };
      const stay = stays.find(({ start, end }) => own.start >= start && own.start <= end && own.end <= end);
      const found = stay === undefined ? [] : (ofStay.get(stay) ?? []);
      // Between two trips lie two places where the way from one to the other was not tracked.
      return saidBy(found.filter((input) => isWithin(input, own, stay!)));
    },
  };
}

function isWithin({ start, end }: Input, own: Span, stay: Span): boolean {
  if (own.start === stay.start && own.end === stay.end) return true;
  const begins = start ?? end!;
  return own.start === stay.start ? begins < own.end : begins >= own.start;
}

/** The first stay has no start, the last no end. */
function staysBetween(ways: readonly Span[]): Span[] {
  const stays: Span[] = [];
  for (let i = 0; i <= ways.length; i += 1) {
    const start = ways[i - 1]?.end ?? Number.NEGATIVE_INFINITY;
    stays.push({ start, end: Math.max(start, ways[i]?.start ?? Number.POSITIVE_INFINITY) });
  }
  return stays;
}

function assign(inputs: readonly Input[], about: 'trip' | 'place', spans: readonly Span[]): Map<Span, Input[]> {
  const found = new Map<Span, Input[]>();
  for (const input of inputs) {
    const span = input.of.about === about ? spanOf(input, spans) : null;
    if (span === null) continue;
    const own = found.get(span);
    if (own === undefined) found.set(span, [input]);
    else own.push(input);
  }
  return found;
}
