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

/** Decodes a character that needs no percent-encoding, so that the path matches its route. */
const plain = (code: string): string => {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : code;
};

/** A path for the log, in which `:hidden` replaces the person, day, month or tile of a page. */
export const pathForLog = (path: string): string =>
  path
    .replace(/%[2-7][\da-f]/gi, plain)
    .replace(/^(\/study\/[^/]+\/(?:p|tiles)|\/me\/(?:day|month|tiles))\/.+/s, '$1/:hidden');
