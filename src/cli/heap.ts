// How far the heap of this process grows between two full collections of garbage.
import { setFlagsFromString } from 'node:v8';

const flag = '--heap-growing-percent';

/**
 * Per cent by which the heap outgrows what is alive before all of it is looked at again. V8 itself takes 10 to 300,
 * mostly little.
 */
const growth = 300;

/**
 * Lets the heap grow to four times what is alive before the next full collection, unless the operator names another
 * growth. Full collections cost by what is alive, and drop compiled code that no call runs just then; a put of 10,000
 * entries and a run leave so much garbage that V8's own rule has one for every few of them. Of the whole process, so
 * for programs to call, not for libraries.
 */
export function growFreely(): void {
  if (!process.execArgv.some((given) => given.replaceAll('_', '-').startsWith(flag))) {
    setFlagsFromString(`${flag}=${growth}`);
  }
}
