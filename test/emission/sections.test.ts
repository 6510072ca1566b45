// Sections as the app and the evaluation read them.
import { expect, it } from 'vitest';
import { analyse } from '../../src/analysis/analyse.ts';
import type { Element } from '../../src/emission/elements.ts';
import { cleanedSections, inferredSections } from '../../src/emission/entries.ts';
import type { TransitLine } from '../../src/model/trip.ts';
import { moving } from '../support/phone.ts';

it('sections, also those in composite trips, have the transit line', () => {
  const locations = [...moving({ from: 0, to: 900, speed: 10 }), ...moving({ from: 930, to: 1500, east: 9000 })];
  const stretch = { locations, motions: [], events: [], carry: null, loadedUntil: Number.POSITIVE_INFINITY };
  const { trip } = analyse({ userId: 'u', ...stretch }).records[0]!;
  const transit = { agency: 'Town Transit', route_short_name: '1' } as TransitLine;
  const element = { kind: 'trip', trip: { ...trip!, sections: [{ ...trip!.sections[0]!, transit }] } };
  const context = { userId: 'u', writtenTs: 0, labels: { trips: new Map() }, suggestions: null };
  for (const make of [inferredSections, cleanedSections]) {
    const made = make(element as Element & { kind: 'trip' }, context as never);
    expect(made.map(({ data }) => data.transit)).toEqual([transit]);
  }
});
