import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { ProgressReporter } from './test/support/progress-reporter.ts';
import { SkippedReporter } from './test/support/skipped-reporter.ts';
import { StuckReporter } from './test/support/stuck-reporter.ts';

/** A file for the outcome as JSON, beside what is printed. */
const report = process.env.MOBILITY_TEST_REPORT;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed.ts', 'test/support/temp-folders.ts'],
    // To end what hangs, no claim about speed: the machine may be busy. What runs then is printed by name.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    reporters: [
      'default',
      new SkippedReporter(),
      new StuckReporter(),
      new ProgressReporter(),
      ...(report ? [['json', { outputFile: report }] satisfies ['json', object]] : []),
    ],
  },
});
