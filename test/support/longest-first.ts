// The order of test files: those that take longest begin first, so that no core is idle at the end of a run.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long for what they start, not for their size, which orders the others in a fresh checkout. */
const long = [
  'test/process/store/mongodb.test.ts',
  'test/faults/store/model.test.ts',
  'test/store/mongodb-faults.test.ts',
  'test/faults/servers/cut-connections.test.ts',
  'test/faults/disk.test.ts',
  'test/process/readers/readers.test.ts',
  'test/faults/killed-server.test.ts',
];

/** Sorts test files by the list above, the others as Vitest does. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = long.findIndex((name) => moduleId.endsWith(name));
      return place === -1 ? long.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
