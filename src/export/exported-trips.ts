// Reads the trips of an export in order, exact or coarse, with their labels and flags.
import { correctedTrips, everyLinkAndDraft } from '../diary/corrections/corrected-trips.ts';
import type { FlagInputs } from '../diary/flags.ts';
import { type Labels, noLabels, readLabels } from '../diary/labels/load-labels.ts';
import { flagInputsWithin } from '../diary/read-flag-inputs.ts';
import { justAfter, type TimeRange } from '../model/time.ts';
import type { Silence, Stop, Trip, TripRecord } from '../model/trip.ts';
import type { Store } from '../store/store.ts';
import { readInParts } from '../util/parts-of.ts';
import { coarseTrip, type ShownTrip, stayCells } from './coarse.ts';
import { type Days, isAmong } from './entry-rows.ts';
import type { Person } from './privacy.ts';

export interface Source {
  store: Store;
  person: Person;
  days: Days;
  keys?: readonly string[] | undefined; // keys of the entries to export, for the kind `entries`
  /** m; stays move to the middle of cells of this size; absent: exact places */
  coarse?: number | undefined;
  homes?: boolean; // true: the export may show the guessed home, as the start of tours
  now: number; // seconds since the epoch
}

/** `follows`: no stay lies before the trip. `isFollowed`: no stay lies after it. */
export type KeptTrip = Omit<TripRecord, 'trip'> & {
  trip: ShownTrip;
  follows: boolean;
  isFollowed: boolean;
  stops: Stop[];
  startRule: string | null;
};

export const labelsAtOnce = 50; // trips (or labels, for the table of labels) that are read at one time
export const besideStay = 300; // s before and after a stay, whose locations count for the flags of the stay

/** `labels`: the labels of the trips on the requested days. */
export interface TripBatch {
  records: readonly KeptTrip[];
  labels: Labels;
  /** The inputs of flags for a range within the trips; null in a coarse export. */
  flagInputs: ((range: TimeRange) => FlagInputs) | null;
}

/** `isWhole`: all trips; false: the trips of the requested days, and the trip before and after. */
export async function* tripBatches(source: Source, hasFlags: boolean, isWhole: boolean): AsyncGenerator<TripBatch> {
  let before: KeptTrip | undefined;
  const range = isWhole || source.coarse !== undefined ? {} : await rangeOf(source);
  for await (const records of readInParts(everyTrip(source, range), labelsAtOnce)) {
    yield await readBatch(source, records, hasFlags, before);
    before = records.at(-1);
  }
}

/** `before`: the trip before `records`, since the stay between them may be exported, too. */
async function readBatch(source: Source, records: readonly KeptTrip[], hasFlags: boolean, before?: KeptTrip) {
  const { store, days, coarse } = source;
  const { uuid } = source.person;
  const requested = records.filter(({ day }) => isAmong(day, days));
  const [first, last] = [requested[0], requested.at(-1)];
  const labels = first && last ? await readLabels(store, uuid, { from: first.start_ts, to: last.end_ts }) : noLabels;
  const isRequested = first !== undefined || (before !== undefined && isAmong(before.day, days));
  if (!hasFlags || coarse !== undefined || !isRequested) return { records, labels, flagInputs: null };
  const times = [...(before ? [before] : []), ...records].flatMap(({ start_ts, end_ts, trip, untracked }, i) => [
    ...(i === 0 && before ? [] : [start_ts, trip.start_place.enter_ts ?? start_ts, untracked?.start_ts ?? start_ts]),
    ...[end_ts, trip.end_place.enter_ts ?? end_ts],
  ]);
  const range = { from: Math.min(...times) - besideStay, to: Math.max(...times) + besideStay };
  return { records, labels, flagInputs: await flagInputsWithin(store, uuid, range) };
}

/** The `chain_ts` of the requested trips, of the trip before them, and of the trip after them. */
async function rangeOf({ store, person: { uuid }, days }: Source): Promise<{ from?: number; to?: number }> {
  const { from = '0000-01-01', to = '9999-12-31' } = days;
  const trips = correctedTrips(store);
  const starts = await trips.starts(uuid, { from, to });
  if (starts.length === 0) return {};
  const before = await trips.previous(uuid, starts[0]!.chain_ts);
  const after = await trips.next(uuid, starts.at(-1)!.chain_ts);
  // Drafts come last, but after a journey over the date line a draft may be of an earlier local day than `after`.
  const hasDraft = (await trips.drafts(uuid)).some(({ day }) => isAmong(day, days));
  return { ...(before && { from: before.chain_ts }), ...(after && !hasDraft && { to: justAfter(after.chain_ts) }) };
}

export async function* everyTrip(source: Source, range = {}): AsyncGenerator<KeptTrip> {
  if (source.coarse === undefined) return yield* everyExactTrip(source, range);
  const cells = await stayCells(everyExactTrip(source), source.coarse);
  let end = Number.NEGATIVE_INFINITY;
  for await (const { untracked, ...record } of everyExactTrip(source)) {
    const trip = coarseTrip(record.trip, cells, end);
    // Untracked time begins where the trip before ends: its true start would show the hidden path.
    yield { ...record, trip, untracked: untracked && { ...untracked, start_ts: end } };
    end = trip.end_ts;
  }
}

const leastStay = 1; // s; if less time is between two trips, there is no place between them

type ExactTrip = Omit<KeptTrip, 'trip'> & { trip: Trip };

async function* everyExactTrip({ store, person }: Source, range = {}): AsyncGenerator<ExactTrip> {
  let silences: Silence[] = [];
  let held: ExactTrip | null = null;
  for await (const record of everyLinkAndDraft(store, person.uuid, range)) {
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
