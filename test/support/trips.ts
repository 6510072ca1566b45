// A small trip with everything in it, for tests of what is made from trips.
import type { TripRecord } from '../../src/model/trip.ts';
import { linksOf } from '../analysis/kit.ts';
import { motions, moving } from './phone.ts';

export const userId = '6f1f2f0e-9d3b-4f0e-8a4c-3f6f0d8f2b11';

/**
 * Two trips of one day: to work on foot and by bus, with a stop between; and after hours there, home by bus. Altitudes,
 * a waiting time and a place that both share are in them.
 */
export function workday(): TripRecord[] {
  const altitude = 40;
  const stay = (from: number, to: number, east: number) => moving({ from, to, east }, { altitude });
  const locations = [
    ...moving({ from: 0, to: 600, speed: 1.2 }, { altitude }),
    ...moving({ from: 690, to: 1500, east: 760, speed: 10 }, { altitude }),
    ...stay(1530, 2100, 8860),
    ...moving({ from: 20_000, to: 20_886, east: 8860, speed: -10 }, { altitude }),
    ...stay(20_910, 21_500, 0),
  ];
  const readings = [
    ...motions(5, 605, 'WALKING'),
    ...motions(635, 1505, 'IN_VEHICLE'),
    ...motions(20_000, 20_880, 'IN_VEHICLE'),
  ];
  return linksOf({ userId, locations, motions: readings });
}
