// Every page of the server. What is not in this list is no page.
import { homeRoutes } from './home.ts';
import { joinRoutes } from './join.ts';
import { correctionRoutes } from './me-corrections.ts';
import { dayRoutes } from './me-days.ts';
import { dataRoutes } from './my-data.ts';
import { importRoutes } from './my-imports.ts';
import { operatorRoutes } from './operator.ts';
import { signInRoutes } from './sign-in.ts';
import { exportRoutes } from './study-export.ts';
import { figureRoutes } from './study-figures.ts';
import { studyRoutes } from './study-pages.ts';
import { tileRoutes } from './tiles.ts';
import type { WebRoute } from './web.ts';

/** The pages, and what their forms do. */
export const webRoutes: readonly WebRoute[] = [
  ...homeRoutes,
  ...joinRoutes,
  ...signInRoutes,
  ...dayRoutes,
  ...correctionRoutes,
  ...dataRoutes,
  ...importRoutes,
  ...studyRoutes,
  ...figureRoutes,
  ...exportRoutes,
  ...operatorRoutes,
  ...tileRoutes,
];

/** A character that needs no percent-encoding, decoded: routes are found by it. */
const plain = (code: string): string => {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : code;
};

/** A path as logs may hold it: without the person, the day and the month that a page shows, and without its tiles. */
export const nameless = (path: string): string =>
  path
    .replace(/%[2-7][\da-f]/gi, plain)
    .replace(/^(\/study\/[^/]+\/(?:p|tiles)|\/me\/(?:day|month|tiles))\/.+/s, '$1/:hidden');
