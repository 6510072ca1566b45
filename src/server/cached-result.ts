// Results that many ask for: made once for all who ask within a time.

const failureFor = 1_000; // ms for which a failure is the result

/** Returns a function whose result is made by `make` and stays for `freshFor` ms; a failure stays for a second. */
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
