// Closing line of a test run: how many tests of the MongoDB backend were skipped, and why.
import type { Reporter, TestModule } from 'vitest/node';
import { skippedMark, whyNoServer } from './installed-server.ts';

/** Says loudly what was not tested; says nothing when nothing was skipped. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let skipped = 0;
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) if (test.fullName.includes(skippedMark)) skipped += 1;
    }
    if (skipped > 0) console.log(`\n!! SKIPPED: ${skipped} tests of the MongoDB backend: ${whyNoServer()}\n`);
  }
}
