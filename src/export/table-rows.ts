// Makes the rows of each table for one person, with at most one part of the trips in memory.

import { flagNames } from '../diary/flags.ts';
import { inputTexts } from '../diary/labels/label-text.ts';
import type { Kind, Row } from './columns.ts';
import { dayRows } from './day-rows.ts';
import { labelled } from './exported-trips.ts';
import { entryTableRows, labelRows } from './label-rows.ts';
import { locationRows, placeRows } from './place-rows.ts';
import type { Person } from './privacy.ts';
import { answerRows, fixRows, peopleRows, stopRows } from './research-rows.ts';
import type { Source } from './row-source.ts';
import { pointRows, sectionRow, tripRows } from './trip-rows.ts';

/** Rows of one kind for one person, in order of time. */
export async function* rowsOf(kind: Kind, source: Source): AsyncGenerator<Row> {
  const who = personRow(source.person);
  // A coarse export leaves out columns from which a position could be computed more exactly than its cell.
  const exact = {
    ...(kind === 'places' ? { observed_s: null } : { estimated_m: null }),
    flags: null,
    from_stop: null,
    to_stop: null,
    start_rule: null,
    start_inferred_s: null,
    access_m: null,
    egress_m: null,
  };
  const hidden = source.coarse !== undefined && kind !== 'points' && kind !== 'locations' ? exact : {};
  for await (const row of makers[kind](source)) yield { ...who, ...row, ...hidden };
}

const makers: Record<Kind, (source: Source) => AsyncGenerator<Row>> = {
  trips: tripRows,
  sections: (source) =>
    labelled(source, (record, labels, flagged) => {
      const { mode_confirm: mode_confirmed = null } = inputTexts(labels.ofTrip(record.start_ts));
      const { sections: stated } = labels.stated(record.trip);
      return record.trip.sections.map((section, i) => {
        const flags = flagNames(flagged.filter(({ id }) => id === section.id)).join(' ');
        return { ...sectionRow(record, section, stated[i]!, i), mode_confirmed, flags };
      });
    }),
  points: (source) =>
    labelled(source, ({ trip }, labels) => labels.stated(trip).sections.flatMap((one) => pointRows(trip, one)), false),
  places: placeRows,
  locations: locationRows,
  stops: (source) =>
    labelled(source, ({ trip, stops }, labels) => stopRows({ ...trip, stops }, labels.stated(trip)), false),
  fixes: fixRows,
  people: peopleRows,
  days: dayRows,
  entries: entryTableRows,
  labels: labelRows,
  answers: answerRows,
};

const personRow = ({ id, name, subgroup }: Person): Row => ({ user_id: id, user_name: name, subgroup });
