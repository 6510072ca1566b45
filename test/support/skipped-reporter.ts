// Closing lines of a test run: how many tests of each file were skipped, except those that `-t` left out.
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Reports what was not tested; prints nothing when nothing was skipped. */
export class SkippedReporter implements Reporter {
  #pattern: RegExp | undefined;

  onInit(vitest: Vitest): void {
    this.#pattern = vitest.config.testNamePattern;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) => {
      const skipped = [...module.children.allTests('skipped')];
      const { length } = skipped.filter(({ fullName }) => this.#pattern?.test(fullName) ?? true);
      return length === 0 ? [] : [`!! SKIPPED: ${length} tests of ${module.relativeModuleId}`];
    });
    if (lines.length > 0)
      console.log(`\n${lines.join('\n')}\n!! MOBILITY_REQUIRE_ALL=1 names a program or right that is missing\n`);
  }
}
