import { setFlagsFromString } from 'node:v8';

const flag = '--heap-growing-percent';

/**
 * Lets the heap grow to three times the size of the live objects before the next full collection; by default V8 lets it
 * grow by 10 to 300 per cent. A full collection takes time in proportion to the live objects and drops compiled code,
 * and a put of 10,000 entries or a run leaves much garbage. More than 200 per cent takes memory and saves no CPU of a
 * run. The flag concerns the whole process: programs call this function, libraries do not. A flag that the operator has
 * set takes precedence.
 */
export function growFreely(): void {
  if (process.execArgv.some((given) => given.replaceAll('_', '-').startsWith(flag))) return;
  setFlagsFromString(`${flag}=200`);
}
