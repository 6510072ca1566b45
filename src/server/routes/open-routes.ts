// Routes without a token: whether the process runs, whether the store works, and configurations of studies.

import type { JsonObject } from '../../model/json.ts';
import { isStudyName } from '../../model/study.ts';
import { configFileName, labelsFileName } from '../../model/study-config.ts';
import { Problem } from '../problem.ts';
import { objectOf } from '../schemas.ts';
import type { OpenRoute } from './route.ts';

const ending = configFileName('');
const labels = labelsFileName('');

/** Each is a GET. The answers contain nothing about users. */
export const openRoutes: readonly OpenRoute[] = [
  // For apps that ask this server for configurations. The published e-mission app asks GitHub.
  {
    path: '/configs/:file',
    summary: "Returns a study's configuration for today's app, or its lists of labels",
    answers: { type: 'object' },
    parameters: {
      file: `the name by which people join a study, then \`${ending}\`; or the study's own name, then \`${labels}\``,
    },
    /** Answers with the public file that `mobility study config` writes. It contains no secret. */
    answer: async ({ studies }, { file = '' }) => {
      const own = file.endsWith(labels) ? file.slice(0, -labels.length) : '';
      const lists = isStudyName(own) ? (await studies.byName(own))?.config?.label_lists : undefined;
      if (lists !== undefined) return lists as JsonObject;
      const name = file.endsWith(ending) ? file.slice(0, -ending.length) : '';
      const config = isStudyName(name) ? ((await studies.byJoinName(name))?.config ?? null) : null;
      if (config === null)
        throw new Problem(404, `expected a study with a configuration, and \`${ending}\` after its name`);
      return config;
    },
  },
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
