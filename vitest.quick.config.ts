// The tests for people at work, `npm run test:quick`: all but servers, child processes, kills and random lives.
import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** What takes long, or needs modules of its own: each of these runs in `npm test`. */
const left = [
  'test/bench/**',
  'test/faults/**',
  'test/servers*/**',
  'test/store/{mongodb*,differential,sqlite}.test.ts',
  'test/store/sqlite/**',
  'test/pipeline/{order,lease,synthetic-days,nothing-new}.test.ts',
  'test/analysis/stretches.test.ts',
  'test/upkeep/migrate/**',
  'test/log/{files,read,scrub}.test.ts',
  'test/cli/{process,store-servers,commands,migrate,logs,doctor,errors,correct}.test.ts',
  'test/corrections/**',
  'test/diary/observed-lives.test.ts',
  'test/server/{run-server,sockets,fuzz,leaked-link}.test.ts',
  'test/simulate/**',
  'test/import/{emission,import,round-trip,zip}.test.ts',
  'test/apps/**',
  'test/report/**',
  'test/{server/erased,server/read-json,pipeline/sources,pipeline/documents,export/tables,intake/take-entry}.test.ts',
  'test/readers/**',
  'test/{pages,web}/in-browser.test.ts',
  'test/web/language.test.ts',
  'test/{deploy,examples,package}.test.ts',
];

process.env.MOBILITY_TEST_TRIES ??= '20';
export default mergeConfig(base, defineConfig({ test: { exclude: [...left, '**/node_modules/**'], isolate: false } }));
