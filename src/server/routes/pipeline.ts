// How far the pipeline has got with the caller: decides what the phone shows as draft and what as processed.
import { objectOf, values } from '../schemas.ts';
import type { Route } from './route.ts';

/** The routes under `/pipeline`. */
export const pipelineRoutes: readonly Route[] = [
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
      const { start_ts, end_ts } = await store.trips.summary(caller.uuid);
      return { start_ts, end_ts };
    },
  },
];
