// Whatever two embedded stores hold of a user: after a move the target holds what the source does, and the source what
// it did.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/store/open.ts';
import { inFolder, times } from '../../faults/kit.ts';
import { expectEqualAfterMove, sides } from './any-sides.ts';

const numRuns = times('MOBILITY_TEST_MOVES', 40);

it('a user becomes as at the source, whatever the target had', { timeout: 30_000 + numRuns * 1_000 }, () =>
  inFolder(async (folder) => {
    const [from, to] = [await openStore(`${folder}/from`), await openStore(`${folder}/to`)];
    try {
      await fc.assert(
        fc.asyncProperty(sides, (both) => expectEqualAfterMove(from, to, both)),
        { numRuns },
      );
    } finally {
      await Promise.all([from.close(), to.close()]);
    }
    expect(numRuns).toBeGreaterThan(0);
  }),
);
