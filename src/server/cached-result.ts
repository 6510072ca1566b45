// Shares one result among all callers that ask within some time.

const failureFor = 1_000; // ms that a failure is kept as the result

/** Returns a function that calls `make` and returns the same result for `freshFor` ms, or for 1 s if it failed. */
export function shared<Result>(freshFor: number, make: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  let until = 0;
  return () => {
    if (result !== undefined && performance.now() < until) return result;
    until = performance.now() + freshFor;
    result = make();
    result.catch(() => {
      until = Math.min(until, performance.now() + failureFor);
    });
    return result;
  };
}
