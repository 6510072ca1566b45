// One seed for all chance in the tests: `MOBILITY_TEST_SEED` repeats a run, as far as the machine's timing does.
// `MOBILITY_TEST_TRIES` sets how often a property is tried, unless the test sets it.
const { MOBILITY_TEST_SEED: seed, MOBILITY_TEST_TRIES: runs } = process.env;
if (seed !== undefined || runs !== undefined) {
  const { configureGlobal, readConfigureGlobal } = await import('fast-check');
  configureGlobal({
    ...readConfigureGlobal(),
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(runs !== undefined && { numRuns: Number(runs) }),
  });
}
