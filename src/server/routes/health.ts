// Open routes: the name of the service, whether the process runs, and whether the store works.
import type { OpenRoute } from './route.ts';

/** The routes that need no caller: the root and health. */
export const healthRoutes: readonly OpenRoute[] = [
  {
    path: '/',
    answer: async () => ({ service: 'mobility', documentation: 'docs/api.md' }),
  },
  {
    path: '/healthz',
    summary: 'Answers 200 if the process runs. It does not use the store.',
    answer: async () => ({ status: 'ok' }),
  },
  {
    path: '/readyz',
    summary: 'Answers 200 if the store can be written and read, its disk has space, and not too much waits.',
    answer: async ({ readiness }) => {
      await readiness.check();
      return { status: 'ready' };
    },
  },
];
