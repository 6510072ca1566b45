// Routes without a token.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../model/json.ts';
import { isStudyName } from '../../model/study.ts';
import { configFileName, labelsFileName } from '../../model/study-config.ts';
import type { Store } from '../../store/store.ts';
import { shared } from '../cached-result.ts';
import { Problem, retryAfterSeconds, unavailable } from '../problem.ts';
import { objectOf } from '../schemas.ts';
import type { OpenRoute } from './route.ts';

const ending = configFileName('');
const labels = labelsFileName('');

export const openRoutes: readonly OpenRoute[] = [
  // For apps that ask this server for configurations. The published e-mission app asks GitHub.
  {
    path: '/configs/:file',
    summary: "Returns a study's configuration for today's app, or its lists of labels",
    answers: { type: 'object' },
    parameters: {
      file: `the name by which people join a study, then \`${ending}\`; or the study's own name, then \`${labels}\``,
    },
    /** The configuration is public: `mobility study config` writes no secrets into it. */
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

const freshFor = 1_000; // ms for which calls share the result of one check
const patience = 10_000; // ms that a check of the store may take
const mebibyte = 1024 * 1024;

/** The returned function rejects if the disk has too little space, or the store does not work. */
export function readinessCheck(store: Pick<Store, 'ping' | 'disk'>, leastDiskMiB: number): () => Promise<void> {
  return shared(freshFor, () => Promise.race([check(store, leastDiskMiB), refuseLate()]));
}

async function check(store: Pick<Store, 'ping' | 'disk'>, limit: number): Promise<void> {
  await store.ping();
  const { free } = limit === 0 ? { free: null } : await store.disk();
  if (free === null || free >= limit * mebibyte) return;
  const found = Math.floor(free / mebibyte);
  throw new Problem(503, `expected at least ${limit} free MiB on the disk of the store, found ${found}`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    members: { check: 'disk_free_mib', limit, found },
  });
}

async function refuseLate(): Promise<never> {
  await sleep(patience, undefined, { ref: false });
  throw unavailable('the store does not answer', 'MOBILITY_STORE_BUSY');
}
