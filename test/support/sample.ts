// How much of what is repeated runs: `npm test` a part, `npm run test:faults` and `.ci/run` all (`--mode full`).

/** True where every repetition runs. */
export const isFull = process.env.MOBILITY_TEST_FULL === '1';

/** A number of repetitions: `all`, or a third of them. */
export const share = (all: number): number => (isFull ? all : Math.ceil(all / 3));

/** The cases of a table: all, or `count` of them, spread evenly. */
export function sampled<T>(cases: readonly T[], count: number): T[] {
  if (isFull || cases.length <= count) return [...cases];
  return Array.from({ length: count }, (_, i) => cases[Math.floor((i * cases.length) / count)]!);
}
