// Stores links in brief as JSON without names of fields: a list has the values in a fixed order.
//
//     { trip: { id: "a", distance: 9, sections: [...] }, untracked: null }   ->   [["a", 9, [...]], null]
import {
  type BriefRecord,
  type BriefSection,
  type BriefTrip,
  briefSectionFields,
  briefTripFields,
} from '../../model/trip.ts';

type StoredTrip = Omit<BriefTrip, 'sections'> & { sections: unknown[][] };

/** Stored lists have this order, so never change it. */
const linkFields = ['trip', 'untracked', 'silences'] as const;

export function briefText(link: BriefRecord): string {
  const { trip } = link;
  const sections = trip?.sections.map((section) => valuesOf(section, briefSectionFields)) ?? [];
  const stored = trip && valuesOf<StoredTrip>({ ...trip, sections }, briefTripFields);
  return JSON.stringify(valuesOf({ ...link, trip: stored }, linkFields));
}

/** Reads a stored link; null: the text is an object, as older versions stored it. */
export function briefIn(columns: Omit<BriefRecord, (typeof linkFields)[number]>, text: string): BriefRecord | null {
  const values = JSON.parse(text) as unknown[] | object;
  if (!Array.isArray(values)) return null;
  const [stored = null, untracked = null, silences] = values as [unknown[]?, BriefRecord['untracked']?, never?];
  const trip = stored && withValues<StoredTrip>(stored, briefTripFields);
  const sections = trip?.sections.map((section) => withValues<BriefSection>(section, briefSectionFields)) ?? [];
  const brief = { ...columns, trip: trip && { ...trip, sections }, untracked };
  return silences === undefined ? brief : { ...brief, silences };
}

/** An absent field becomes null. Absent fields at the end of the list are left out. */
function valuesOf<T>(object: T, fields: readonly (keyof T)[]): unknown[] {
  const values = fields.map((field) => object[field] ?? null);
  while (values.length > 0 && values.at(-1) === null) values.pop();
  return values;
}

function withValues<T>(values: readonly unknown[], fields: readonly (keyof T)[]): T {
  const object: Partial<Record<keyof T, unknown>> = {};
  for (const [i, value] of values.entries()) if (value !== null) object[fields[i]!] = value;
  return object as T;
}
