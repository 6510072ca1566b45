import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { ProgressReporter } from './test/support/progress-reporter.ts';
import { SkippedReporter } from './test/support/skipped-reporter.ts';
import { StuckReporter } from './test/support/stuck-reporter.ts';

/** A file for the outcome as JSON, beside what is printed. */
const report = process.env.MOBILITY_TEST_REPORT;
const apart = ['test/process/**', 'test/faults/**'];
const noTests = ['**/node_modules/**'];

/** `--mode full` runs every case of each test, other modes a sample: see test/support/sample.ts. */
export default defineConfig(({ mode }) => {
  if (mode === 'full') process.env.MOBILITY_TEST_FULL = '1';
  return {
    test: {
      setupFiles: ['test/support/cpu-of-file.ts', 'test/support/seed.ts', 'test/support/clean-up.ts'],
      // Ends what hangs, and claims nothing about speed: the machine may be busy. The names of what runs then are
      // printed.
      testTimeout: mode === 'full' ? 600_000 : 300_000,
      hookTimeout: 300_000,
      pool: 'forks',
      maxWorkers: 2,
      sequence: { sequencer: LongestFirst },
      projects: [
        // In one process, which loads the sources once.
        {
          extends: true,
          test: { name: 'quick', include: ['test/**/*.test.ts'], exclude: [...apart, ...noTests], isolate: false },
        },
        // Files with a process of their own: they start programs or servers, or replace a module.
        { extends: true, test: { name: 'process', include: ['test/process/**/*.test.ts'] } },
        // Kills, full disks, damaged files and random lives.
        { extends: true, test: { name: 'faults', include: ['test/faults/**/*.test.ts'] } },
      ],
      reporters: [
        'default',
        new SkippedReporter(),
        new StuckReporter(),
        new ProgressReporter(),
        ...(report ? [['json', { outputFile: report }] satisfies ['json', object]] : []),
      ],
    },
  };
});
