// The analysis of everything that a phone recorded, for tests of its parts.
import { expect } from 'vitest';
import { type AnalyseInput, analyse } from '../../src/analysis/analyse.ts';
import type { Location } from '../../src/analysis/clean/observations.ts';
import type { Trip, TripRecord } from '../../src/model/trip.ts';
import { chainProblems } from '../support/chain.ts';
import { moving } from '../support/phone.ts';

export const minute = 60; // s
export const hour = 60 * minute;

/** The outcome for such data of one user; what is not named is empty. */
export function analysed(input: Partial<AnalyseInput>): ReturnType<typeof analyse> {
  const none = { locations: [], motions: [], events: [], carry: null, loadedUntil: Number.POSITIVE_INFINITY };
  return analyse({ userId: 'u', ...none, ...input });
}

/** The chain of trips, which is sound and without a failure. */
export function linksOf(input: Partial<AnalyseInput>): TripRecord[] {
  const { records, failed } = analysed(input);
  expect(failed).toEqual([]);
  expect(chainProblems(records)).toEqual([]);
  return records;
}

export const tripsOf = (input: Partial<AnalyseInput>): Trip[] => linksOf(input).flatMap(({ trip }) => trip ?? []);

export const modesOf = (trip: Trip | undefined): string[] => trip!.sections.map((s) => s.sensed_mode.split('.')[1]!);

/** East from `east` for `seconds` from `from` on, then ten minutes of rest. */
export const rideAndRest = (from: number, east: number, seconds: number, speed = 10): Location[] => [
  ...moving({ from, to: from + seconds, east, speed }),
  ...moving({ from: from + seconds + 30, to: from + seconds + 600, east: east + seconds * speed }),
];
