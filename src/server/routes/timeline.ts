// The diary of a day, and the time up to which it is final. Phones show later trips as draft.
import { readTripsOfDay } from '../../diary/build-trip-documents.ts';
import { correctedTrips } from '../../diary/corrections/corrected-trips.ts';
import { withLabels } from '../../diary/labels/add-labels.ts';
import { isDay } from '../../model/time.ts';
import { badRequest } from '../problem.ts';
import { arrayOf, objectOf, values } from '../schemas.ts';
import type { Route } from './route.ts';

const trip = objectOf({
  type: { const: 'FeatureCollection' },
  features: {
    type: 'array',
    items: { type: 'object' },
    description: 'places, stops and sections (`transit`: line and stops, see docs/transit.md); see docs/phones.md',
  },
  properties: { type: 'object' },
});

export const timelineRoutes: readonly Route[] = [
  {
    path: '/timeline/getTrips/:date',
    summary: 'Returns the diary of one local day',
    answers: objectOf({ timeline: arrayOf(trip) }),
    fetches: true,
    answer: async ({ caller, params, store }) => {
      const { date } = params;
      if (!isDay(date)) {
        const found = JSON.stringify(date!.slice(0, 40));
        throw badRequest(`expected a day of the calendar as YYYY-MM-DD at the end of the path, found ${found}`);
      }
      const trips = await readTripsOfDay(store, caller.uuid, date);
      return { timeline: await withLabels(store, caller.uuid, trips, { suggests: true, isBounded: true }) };
    },
  },
  {
    path: '/pipeline/get_complete_ts',
    summary: 'Returns the time up to which the diary is final',
    answers: objectOf({ complete_ts: values.timeOrNull }),
    answer: async ({ caller, store }) => ({ complete_ts: (await store.pipeline.get(caller.uuid)).complete_until }),
  },
  {
    path: '/pipeline/get_range_ts',
    summary: 'Returns the start of the first trip and the end of the last trip',
    answers: objectOf({ start_ts: values.timeOrNull, end_ts: values.timeOrNull }),
    answer: async ({ caller, store }) => {
      const { start_ts, end_ts } = await correctedTrips(store).summary(caller.uuid);
      return { start_ts, end_ts };
    },
  },
];
