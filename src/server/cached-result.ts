const failureFor = 1_000; // ms that a failure is kept as the result

/** Keeps the result of `make` for `freshFor` ms, but a failure for at most a second. */
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
