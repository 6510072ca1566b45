/** Returns the logarithm of the sum of numbers whose logarithms are given, without overflow. */
export function logSum(values: readonly number[]): number {
  const most = Math.max(...values);
  if (most === Number.NEGATIVE_INFINITY) return most;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - most);
  return most + Math.log(sum);
}
