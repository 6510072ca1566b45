// Routes for everybody: whether the server and its store work, and what this is.
import type { OpenRoute } from './route.ts';

export const healthRoutes: readonly OpenRoute[] = [
  {
    path: '/',
    answer: async () => ({ service: 'mobility', documentation: 'docs/api.md' }),
  },
  {
    path: '/healthz',
    answer: async ({ store }) => {
      await store.ping();
      return { status: 'ok' };
    },
  },
];
