// Reads the trips of an export in order, exact or coarse, with their labels and flags.

import { everyLinkAndDraft } from '../diary/corrections/corrected-trips.ts';
import { type Flagged, type FlagInputs, flagTrip } from '../diary/flags.ts';
import { type Labels, readLabels } from '../diary/labels/load-labels.ts';
import { readFlagInputs } from '../diary/read-flag-inputs.ts';
import type { TimeRange } from '../model/time.ts';
import type { Silence, Stop, Trip, TripRecord } from '../model/trip.ts';
import { coarseTrip, type ShownTrip, stayCells } from './coarse.ts';
import type { Row } from './columns.ts';
import type { Days } from './entry-rows.ts';
import type { Source } from './row-source.ts';

/**
 * A trip of the export. `follows`, `isFollowed`: there is no stay between it and the trip before, or the trip after.
 */
export type KeptTrip = Omit<TripRecord, 'trip'> & {
  trip: ShownTrip;
  follows: boolean;
  isFollowed: boolean;
  stops: Stop[];
  /** The rule that set the start. */
  startRule: string | null;
};

/** Number of trips whose labels are read at one time. */
export const labelsAtOnce = 50;

/** Rows of trips with their labels and, if requested, their flags and the time of their first location. */
export async function* labelled(
  source: Source,
  rows: (record: KeptTrip, labels: Labels, flagged: readonly Flagged[], located: number | null) => Row[],
  isFlagged = true,
): AsyncGenerator<Row> {
  for await (const { record, labels } of labelledTrips(source)) {
    const { start_ts: from, end_ts: to, trip } = record;
    let located: number | null = null;
    const flagsBy = (clues: FlagInputs): Flagged[] => {
      located = clues.locations.find((ts) => ts >= from) ?? null;
      return flagTrip(labels.stated(trip), clues, labels);
    };
    const flagged = isFlagged ? await flagsIn(source, { from, to }, flagsBy) : [];
    yield* rows(record, labels, flagged, located);
  }
}

/** Trips that begin on the requested days, with their labels. */
export async function* labelledTrips(source: Source): AsyncGenerator<{ record: KeptTrip; labels: Labels }> {
  let batch: KeptTrip[] = [];
  for await (const record of tripsOf(source)) {
    batch.push(record);
    if (batch.length < labelsAtOnce) continue;
    yield* await readBatch();
    batch = [];
  }
  yield* await readBatch();

  async function readBatch(): Promise<{ record: KeptTrip; labels: Labels }[]> {
    const [first, last] = [batch[0], batch.at(-1)];
    if (!first || !last) return [];
    const labels = await readLabels(source.store, source.person.uuid, { from: first.start_ts, to: last.end_ts });
    return batch.map((record) => ({ record, labels }));
  }
}

/** The flags of a time range. A coarse export has no flags. */
export async function flagsIn(
  { store, person, coarse }: Source,
  range: TimeRange,
  flagsBy: (clues: FlagInputs) => Flagged[],
): Promise<Flagged[]> {
  return coarse === undefined ? flagsBy(await readFlagInputs(store, person.uuid, range)) : [];
}

/** Trips that begin on the requested days. */
async function* tripsOf(source: Source): AsyncGenerator<KeptTrip> {
  for await (const record of everyTrip(source)) if (isAmong(record.day, source.days)) yield record;
}

export async function* everyTrip(source: Source): AsyncGenerator<KeptTrip> {
  if (source.coarse === undefined) return yield* everyExactTrip(source);
  const cells = await stayCells(tripsIn(everyExactTrip(source)), source.coarse);
  let end = Number.NEGATIVE_INFINITY;
  for await (const { untracked, ...record } of everyExactTrip(source)) {
    const trip = coarseTrip(record.trip, cells, end);
    // Untracked time begins with the hidden arrival at the place.
    yield { ...record, trip, untracked: untracked && { ...untracked, start_ts: end } };
    end = trip.end_ts;
  }
}

/** s; if less time is between two trips, there is no place between them */
const leastStay = 1;

type ExactTrip = Omit<KeptTrip, 'trip'> & { trip: Trip };

/** Each trip with the gaps since the trip before it. */
async function* everyExactTrip({ store, person }: Source): AsyncGenerator<ExactTrip> {
  let silences: Silence[] = [];
  let held: ExactTrip | null = null;
  for await (const record of everyLinkAndDraft(store, person.uuid)) {
    silences.push(...(record.silences ?? []));
    const { trip, untracked } = record;
    if (trip === null) continue;
    const follows: boolean = held !== null && untracked === null && trip.start_ts - held.trip.end_ts < leastStay;
    if (held !== null) yield { ...held, isFollowed: follows };
    const { stops, evidence } = trip;
    held = { ...record, trip, silences, follows, isFollowed: false, stops, startRule: evidence?.start ?? null };
    silences = [];
  }
  if (held !== null) yield held;
}

async function* tripsIn(records: AsyncIterable<{ trip: Trip }>): AsyncGenerator<Trip> {
  for await (const { trip } of records) yield trip;
}

export const isAmong = (day: string, { from, to }: Days): boolean =>
  (from === undefined || day >= from) && (to === undefined || day <= to);
