import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { inputKeyNames, inputOf } from '../diary/labels/input-keys.ts';
import { spansAround } from '../diary/labels/load-labels.ts';
import { findSpan } from '../diary/labels/match-inputs.ts';
import { interpretEntry } from '../intake/converters/convert.ts';
import { dataTime, type Entry } from '../model/entry.ts';
import { isTimeZone, justAfter } from '../model/time.ts';
import type { Store } from '../store/store.ts';
import { readInParts } from '../util/parts-of.ts';
import { numberOrNull, type Row, textOrNull } from './columns.ts';
import { entryRows } from './entry-rows.ts';
import { labelsAtOnce, type Source } from './exported-trips.ts';
import { timesRow } from './instants.ts';

type TripIds = Map<number, string | null>;

export async function* entryTableRows({ store, person, days, keys }: Source): AsyncGenerator<Row> {
  for await (const entry of entryRows(store, person.uuid, days, keys)) {
    const { metadata, data } = interpretEntry(entry);
    yield {
      key: metadata.key,
      written_at: metadata.write_ts,
      occurred_at: dataTime(data),
      time_zone: isTimeZone(metadata.time_zone) ? metadata.time_zone : null,
      platform: textOrNull(metadata.platform),
      data,
    };
  }
}

/** `tripIds`: known ids of trips by `chain_ts`. Adds the ids that it reads. */
export async function* labelRows({ store, person, days }: Source, tripIds: TripIds): AsyncGenerator<Row> {
  const pushed = entryRows(store, person.uuid, days, inputKeyNames);
  for await (const entries of readInParts(pushed, labelsAtOnce)) {
    const interpreted = entries.map((entry) => interpretEntry(entry));
    yield* await rowsOfLabels(store, person.uuid, interpreted, tripIds);
  }
}

async function rowsOfLabels(store: Store, userId: string, entries: readonly Entry[], ids: TripIds): Promise<Row[]> {
  const inputs = entries.map(inputOf).map((input) => (input?.of.about === 'trip' ? input : null));
  const ofTrips = inputs.filter((input) => input !== null);
  if (ofTrips.length === 0) return entries.map((entry) => labelRow(entry, null));
  const spans = await spansAround(store, userId, ofTrips);
  const times = spans.map(({ start_ts, end_ts, chain_ts }) => ({ start: start_ts, end: end_ts, chain_ts }));
  const rows: Row[] = [];
  for (const [i, entry] of entries.entries()) {
    const input = inputs[i] ?? null;
    const span = input && findSpan(input, times);
    if (span !== null && !ids.has(span.chain_ts)) {
      const range = { from: span.chain_ts, to: justAfter(span.chain_ts), limit: 1 };
      const [record] = await correctedTrips(store).chain(userId, range);
      ids.set(span.chain_ts, record?.trip?.id ?? null);
    }
    rows.push(labelRow(entry, span && ids.get(span.chain_ts)!));
  }
  return rows;
}

function labelRow({ metadata, data }: Entry, tripId: string | null): Row {
  const zone = isTimeZone(metadata.time_zone) ? metadata.time_zone : 'UTC';
  return {
    trip_id: tripId,
    key: metadata.key,
    label: textOrNull(data.label),
    ...timesRow(numberOrNull(data.start_ts), numberOrNull(data.end_ts), zone),
    written_at: metadata.write_ts,
    data,
  };
}
