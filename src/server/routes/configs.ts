// The configuration of a study, where an app that is built to ask here finds it. The published app asks GitHub.

import { isStudyName } from '../../model/study.ts';
import { configFileName } from '../../model/study-config.ts';
import { Problem } from '../problem.ts';
import type { OpenRoute } from './route.ts';

const ending = configFileName('');

/** The route under `/configs`. */
export const configRoutes: readonly OpenRoute[] = [
  {
    path: '/configs/:file',
    summary: "Returns a study's configuration for today's app",
    answers: { type: 'object' },
    parameters: { file: `the name by which people join a study, and \`${ending}\`` },
    /** The file that `mobility study config` writes, to be published: there is no secret in it. */
    answer: async ({ studies }, { file = '' }) => {
      const name = file.endsWith(ending) ? file.slice(0, -ending.length) : '';
      const config = isStudyName(name) ? ((await studies.byJoinName(name))?.config ?? null) : null;
      if (config === null)
        throw new Problem(404, `expected a study with a configuration, and \`${ending}\` after its name`);
      return config;
    },
  },
];
