import { defineConfig } from 'vitest/config';
import { SkippedReporter } from './test/store/skipped-reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', new SkippedReporter()],
  },
});
