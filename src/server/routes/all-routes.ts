// All routes except pages, `/openapi.json` and `/metrics`.
import { customLabelRoutes } from './custom-labels.ts';
import { datastreamRoutes } from './datastreams.ts';
import { otherAppRoutes } from './other-apps.ts';
import { profileRoutes } from './profile.ts';
import { resultRoutes } from './result.ts';
import type { Route } from './route.ts';
import { timelineRoutes } from './timeline.ts';
import { usercacheRoutes } from './usercache-routes.ts';

export const routes: readonly Route[] = [
  ...usercacheRoutes,
  ...timelineRoutes,
  ...profileRoutes,
  ...customLabelRoutes,
  ...resultRoutes,
  ...datastreamRoutes,
  ...otherAppRoutes,
];

export { openRoutes } from './open-routes.ts';
