// Routes for everybody: what this is, whether the process lives, and whether it can do its work.
import type { OpenRoute } from './route.ts';

/** The routes that need no caller: the root and health. */
export const healthRoutes: readonly OpenRoute[] = [
  {
    path: '/',
    answer: async () => ({ service: 'mobility', documentation: 'docs/api.md' }),
  },
  {
    path: '/healthz',
    summary: 'The process answers. Asks neither the store nor anything else.',
    answer: async () => ({ status: 'ok' }),
  },
  {
    path: '/readyz',
    summary: 'A small write and a small read of the store work: phones can push.',
    answer: async ({ readiness }) => {
      await readiness.check();
      return { status: 'ready' };
    },
  },
];
