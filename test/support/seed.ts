// One seed for all chance in the tests: `MOBILITY_TEST_SEED` repeats a run, as far as the machine's timing does.
const seed = process.env.MOBILITY_TEST_SEED;
if (seed !== undefined) {
  const { configureGlobal, readConfigureGlobal } = await import('fast-check');
  configureGlobal({ ...readConfigureGlobal(), seed: Number(seed) });
}
