// Makes the rows of tables for one person. Reads the trips and days once for all tables, in parts.
import { flagTrip } from '../diary/flags.ts';
import { inputTexts } from '../diary/labels/label-text.ts';
import { everyDay } from '../diary/read-days.ts';
import { startSlices } from '../util/slices.ts';
import type { Kind, Row } from './columns.ts';
import { collectDays } from './day-rows.ts';
import { isAmong } from './entry-rows.ts';
import { type KeptTrip, type Source, type TripBatch, tripBatches } from './exported-trips.ts';
import { entryTableRows, labelRows } from './label-rows.ts';
import { Stays } from './place-rows.ts';
import { answerRows, collectPerson, fixRows, stopRows } from './research-rows.ts';
import { type LabelledTrip, pointRows, sectionRows, type TripRows, tripRows } from './trip-rows.ts';

type TableRow = [kind: Kind, row: Row];

/** The rows of each table are in order of time. */
export async function* rowsOf(kinds: readonly Kind[], source: Source): AsyncGenerator<TableRow> {
  const { id, name, subgroup } = source.person;
  const who = { user_id: id, user_name: name, subgroup };
  const hiddenIn = (kind: Kind): Row =>
    source.coarse === undefined || kind === 'points' || kind === 'locations'
      ? {}
      : { ...exactColumns, [kind === 'places' ? 'observed_s' : 'estimated_m']: null };
  for await (const [kind, row] of plainRows(kinds, source)) yield [kind, { ...who, ...row, ...hiddenIn(kind) }];
}

const exactNames = ['flags', 'from_stop', 'to_stop', 'start_rule', 'start_inferred_s', 'access_m', 'egress_m'];
/** A coarse export leaves out these columns: they reveal more than the grid cell of a position. */
const exactColumns: Row = Object.fromEntries(exactNames.map((name) => [name, null]));

async function* plainRows(kinds: readonly Kind[], source: Source): AsyncGenerator<TableRow> {
  const { store, person, days: bounds, now } = source;
  const wants = (...some: Kind[]): boolean => some.some((kind) => kinds.includes(kind));
  const stays = wants('places', 'locations') ? new Stays(source) : null;
  const days = wants('days') ? await collectDays(source) : null;
  const own = wants('people') ? collectPerson(source) : null;
  const made: Partial<Record<Kind, TripRows>> = { sections: sectionRows, stops: stopRows, points: pointRows };
  if (wants('trips')) made.trips = await tripRows(source);
  const tripTables = kinds.flatMap((kind): [Kind, TripRows][] =>
    made[kind] === undefined ? [] : [[kind, made[kind]]],
  );
  const tripIds = new Map<number, string>();
  if (stays !== null || days !== null || tripTables.length > 0) {
    const slices = startSlices();
    const isWhole = stays !== null || days !== null || source.homes === true;
    for await (const batch of tripBatches(source, wants('trips', 'sections', 'places'), isWhole)) {
      for (const record of batch.records) {
        if (slices.isOver()) await slices.next();
        tripIds.set(record.chain_ts, record.trip.id);
        stays?.add(record, batch.flagInputs);
        if (!isAmong(record.day, bounds)) continue;
        const trip = labelled(record, batch);
        days?.addTrip(record.day, trip.stated);
        for (const [kind, rows] of tripTables) for (const row of rows(trip)) yield [kind, row];
      }
    }
  }
  for (const [kind, rows] of Object.entries((await stays?.end()) ?? {}))
    if (wants(kind as Kind)) for (const row of rows) yield [kind as Kind, row];
  if (days !== null || own !== null) {
    for await (const day of everyDay(store, person, bounds, now)) {
      days?.addDay(day);
      own?.addDay(day);
    }
  }
  for (const row of days?.rows() ?? []) yield ['days', row];
  if (own !== null) yield ['people', await own.row()];
  for (const kind of kinds) for await (const row of entryTables[kind]?.(source, tripIds) ?? []) yield [kind, row];
}

/** `tripIds`: for each known trip, its id by its `chain_ts`. */
const entryTables: Partial<Record<Kind, (source: Source, tripIds: Map<number, string>) => AsyncGenerator<Row>>> = {
  fixes: fixRows,
  entries: entryTableRows,
  labels: labelRows,
  answers: answerRows,
};

function labelled(record: KeptTrip, { labels, flagInputs }: TripBatch): LabelledTrip {
  const { start_ts: from, end_ts: to, trip } = record;
  const stated = labels.stated(trip);
  const inputs = flagInputs?.({ from, to });
  return {
    record,
    stated,
    confirmed: inputTexts(labels.ofTrip(from)),
    flagged: inputs === undefined ? [] : flagTrip(stated, inputs, labels),
    located: inputs?.locations.find((ts) => ts >= from && ts <= to) ?? null,
  };
}
