// Which worker the primary process replaces.
import { expect, it } from 'vitest';
import { createWorkerWatch } from '../../src/server/worker-watch.ts';

/** A worker that has used so many seconds of CPU. */
const workerOf = (used: number) => ({ used });
type Watched = ReturnType<typeof workerOf>;

/** Checks every second, `change` after each; the second at which a worker is found, and which. */
function watched(workers: readonly Watched[], seconds: number, each: (second: number) => void, step = 1000) {
  const watch = createWorkerWatch<Watched>(({ used }) => used);
  for (const worker of workers) watch.record(worker, 0);
  for (let now = 0; now <= seconds * 1000; now += step) {
    each(now / 1000);
    watch.record(workers[0]!, now);
    const found = watch.check(now);
    if (found !== undefined) return [now / 1000, workers.indexOf(found)];
  }
  return null;
}

it('a blocked worker has been silent for 30 s and used CPU time meanwhile', () => {
  const [well, busy, waiting] = [workerOf(0), workerOf(5), workerOf(5)];
  const work = (): void => {
    busy.used += 0.9;
  };
  expect(watched([well, waiting, busy], 300, work)).toEqual([30, 2]);
  expect(watched([well, waiting], 300, work)).toBe(null);
});

it('no worker counts as blocked while the primary is delayed, or if CPU time is unknown', () => {
  const busy = workerOf(5);
  const work = (): void => {
    busy.used += 5;
  };
  expect(watched([workerOf(0), busy], 300, work, 5000)).toBe(null);
  expect(watched([workerOf(0), workerOf(Number.NaN)], 300, work)).toBe(null);
});
