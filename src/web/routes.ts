// Every page of the server. What is not in this list is no page.
import { homeRoutes } from './home.ts';
import { joinRoutes } from './join.ts';
import { dayRoutes } from './me-days.ts';
import { dataRoutes } from './my-data.ts';
import { signInRoutes } from './sign-in.ts';
import type { WebRoute } from './web.ts';

/** The pages, and what their forms do. */
export const webRoutes: readonly WebRoute[] = [
  ...homeRoutes,
  ...joinRoutes,
  ...signInRoutes,
  ...dayRoutes,
  ...dataRoutes,
];
