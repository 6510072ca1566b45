// Open routes: whether the process runs, and whether the store works.
import { objectOf } from '../schemas.ts';
import type { OpenRoute } from './route.ts';

/** The routes of health. */
export const healthRoutes: readonly OpenRoute[] = [
  {
    path: '/healthz',
    summary: 'Answers 200 if the process runs. It does not use the store.',
    answers: objectOf({ status: { const: 'ok' } }),
    answer: async () => ({ status: 'ok' }),
  },
  {
    path: '/readyz',
    summary: 'Answers 200 if the store can be written and read, and its disk has space.',
    answers: objectOf({ status: { const: 'ready' } }),
    answer: async ({ checkReady }) => {
      await checkReady();
      return { status: 'ready' };
    },
  },
];
