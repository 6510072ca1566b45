// Matches user inputs with trips and stays at each read. Matches are not stored, so they depend
// neither on the order of arrival nor on runs of the pipeline.
import { labelModes } from '../../model/study-labels.ts';
import { day, justAfter, type TimeRange } from '../../model/time.ts';
import type { BriefTrip, TripSpan } from '../../model/trip.ts';
import { addToList } from '../../util/add-to-list.ts';
import { correctedTrips } from '../corrections/corrected-trips.ts';
import { inLabelledMode } from '../corrections/stated-mode.ts';
import type { Input } from './input-keys.ts';
import { findSpan, type Span } from './match-inputs.ts';
import { type LabelStore, longestInput, readInputs } from './read-inputs.ts';
import { withoutSplit } from './split-labels.ts';
import { combineInputs, type UserInput } from './user-labels.ts';

export interface Labels {
  ofTrip(startTs: number): UserInput;
  /** `enterTs`, `exitTs`: null if the stay has no start or no end. */
  ofStay(enterTs: number | null, exitTs: number | null): UserInput;
  /**
   * The trip with the modes of its labels, for pages, exports, month reports and flags. Documents, derived
   * entries, `mobility diary` and `explain` keep the modes, and show labels beside them or not at all.
   */
  stated<T extends Pick<BriefTrip, 'start_ts' | 'sections'>>(trip: T): T;
  readonly labelledTrips: number; // trips with a label or a survey
}

/** `isBounded`: reads only the newest 8 MiB of input. */
export async function readLabels(
  store: LabelStore,
  userId: string,
  range: TimeRange,
  options: { isBounded?: boolean } = {},
): Promise<Labels> {
  const inputs = await readInputs(store, userId, range, options);
  if (inputs.length === 0) return noLabels;
  const study = (await store.users?.byUuid(userId))?.study;
  const record = study === undefined ? null : await store.studies?.byName(study);
  const spans = await spansAround(store, userId, inputs);
  return matchInputs(await withoutSplit(store, userId, inputs), spans, labelModes(record?.config));
}

export async function spansAround(store: LabelStore, userId: string, inputs: readonly Input[]): Promise<TripSpan[]> {
  let from = Infinity;
  let to = -Infinity;
  for (const { start, end } of inputs) {
    from = Math.min(from, start ?? end! - day);
    to = Math.max(to, Math.min(end ?? start! + day, (start ?? end!) + longestInput));
  }
  const trips = correctedTrips(store);
  const before = await trips.previous(userId, from);
  // Add a day, because a trip may start before its first location.
  const spans = await trips.spans(userId, { from: before?.chain_ts ?? from, to: justAfter(to + day) });
  const after = await trips.next(userId, spans.at(-1)?.chain_ts ?? to);
  return after === null ? spans : [...spans, { ...after, written_ts: 0 }];
}

/** `modeOf` returns the mode that a label names; null: none. */
export function matchInputs(inputs: readonly Input[], trips: readonly TripSpan[], modeOf = labelModes(null)): Labels {
  const tripSpans = trips.map((trip): Span => ({ start: trip.start_ts, end: trip.end_ts }));
  const stays = staysBetween(tripSpans);
  const ofTrips = assign(inputs, 'trip', tripSpans);
  const ofStay = assign(inputs, 'place', stays);
  const byStart = new Map(tripSpans.map((span) => [span.start, ofTrips.get(span) ?? []]));
  const ofTrip = (startTs: number): UserInput => combineInputs(byStart.get(startTs) ?? []);
  return {
    get labelledTrips() {
      return [...ofTrips.values()].filter((own) => Object.keys(combineInputs(own).user_input).length > 0).length;
    },
    ofTrip,
    stated: (trip) => {
      const { mode_confirm: label } = ofTrip(trip.start_ts).user_input;
      if (typeof label !== 'string') return trip;
      const own = byStart.get(trip.start_ts)!;
      const given = own.findLast(({ of, entry }) => of.name === 'mode_confirm' && entry.data.label === label);
      return inLabelledMode(trip, modeOf(label), given);
    },
    ofStay: (enterTs, exitTs) => {
      const own = { start: enterTs ?? -Infinity, end: exitTs ?? Infinity };
      const stay = stays.find(({ start, end }) => own.start >= start && own.start <= end && own.end <= end);
      const found = stay === undefined ? [] : (ofStay.get(stay) ?? []);
      // After an unrecorded move, there are two places between two trips.
      return combineInputs(found.filter((input) => isWithin(input, own, stay!)));
    },
  };
}

export const noLabels = matchInputs([], []);

function isWithin({ start, end }: Input, own: Span, stay: Span): boolean {
  if (own.start === stay.start && own.end === stay.end) return true;
  const begins = start ?? end!;
  return own.start === stay.start ? begins < own.end : begins >= own.start;
}

function staysBetween(tripSpans: readonly Span[]): Span[] {
  const stays: Span[] = [];
  for (let i = 0; i <= tripSpans.length; i += 1) {
    const start = tripSpans[i - 1]?.end ?? -Infinity;
    stays.push({ start, end: Math.max(start, tripSpans[i]?.start ?? Infinity) });
  }
  return stays;
}

function assign(inputs: readonly Input[], about: 'trip' | 'place', spans: readonly Span[]): Map<Span, Input[]> {
  const found = new Map<Span, Input[]>();
  for (const input of inputs) {
    const span = input.of.about === about && findSpan(input, spans);
    if (span) addToList(found, span, input);
  }
  return found;
}
