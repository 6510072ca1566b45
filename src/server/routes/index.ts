// Every route of the server. What is not in these two lists does not answer.
import { configRoutes } from './configs.ts';
import { customLabelRoutes } from './custom-labels.ts';
import { datastreamRoutes } from './datastreams.ts';
import { healthRoutes } from './health.ts';
import { otherAppRoutes } from './other-apps.ts';
import { pipelineRoutes } from './pipeline.ts';
import { profileRoutes } from './profile.ts';
import { resultRoutes } from './result.ts';
import type { OpenRoute, Route } from './route.ts';
import { timelineRoutes } from './timeline.ts';
import { usercacheRoutes } from './usercache.ts';

/** Routes for callers, each a POST. */
export const routes: readonly Route[] = [
  ...usercacheRoutes,
  ...timelineRoutes,
  ...profileRoutes,
  ...customLabelRoutes,
  ...resultRoutes,
  ...datastreamRoutes,
  ...pipelineRoutes,
  ...otherAppRoutes,
];

/** Open routes, each a GET without a token. Their answers contain nothing about users. */
export const openRoutes: readonly OpenRoute[] = [...configRoutes, ...healthRoutes];
