// Settings of V8 for this process: when it collects garbage and when it compiles.
import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heap grow to three times the size of the live objects before the next full collection; by default V8 lets it
 * grow by 10 to 300 per cent. A full collection takes time in proportion to the live objects and drops compiled code,
 * and a put of 10,000 entries or a run leaves much garbage. More than 200 per cent takes memory and saves no CPU of a
 * run. The flag concerns the whole process: programs call this function, libraries do not.
 */
export function growFreely(): void {
  setUnlessGiven('--heap-growing-percent', 200);
}

/**
 * Makes V8 optimise functions later. For a process that ends after some users: optimising takes a third of the CPU of a
 * run of 25 people, which is more than it saves. V8 from 12 on has no such flag, and prints an error for it.
 */
export function forShortRun(): void {
  if (Number.parseInt(process.versions.v8, 10) < firstWithoutBudget) setUnlessGiven('--interrupt-budget', 1_056_768); // bytes of bytecode; V8: 67,584
}

/** The V8 of Node 22 counts calls instead. */
const firstWithoutBudget = 12;

/** A flag that the operator has set takes precedence. */
function setUnlessGiven(flag: string, value: number): void {
  if (process.execArgv.some((given) => given.replaceAll('_', '-').startsWith(flag))) return;
  setFlagsFromString(`${flag}=${value}`);
}
