// The order of test files: those that take longest begin first, so that no core is idle at the end of a run.
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import cpuSeconds from './cpu-seconds.json' with { type: 'json' };

/** Measured in full mode by cpu-of-file.ts; files that take less than two seconds are not listed. */
const measured = Object.entries(cpuSeconds);

/** Sorts test files by their CPU seconds, those that take few as Vitest does. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => measured.find(([name]) => moduleId.endsWith(name))?.[1] ?? 0;
    return (await super.sort(files)).sort((a, b) => seconds(b) - seconds(a));
  }
}
