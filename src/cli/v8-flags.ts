// Settings of V8 for this process: when it collects garbage and when it compiles.
import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heap grow to three times what is alive before the next full collection. V8 itself takes 10 to 300 per cent
 * more. A full collection costs by what is alive and drops compiled code; a put of 10,000 entries and a run leave so
 * much garbage that there is one every few of them. More than 200 per cent takes memory and saves no CPU of a run. It
 * concerns the whole process: programs call it, libraries do not.
 */
export function growFreely(): void {
  setUnlessGiven('--heap-growing-percent', 200);
}

/**
 * Makes V8 optimise functions later. For a process that ends after some users: compiling takes a third of the CPU of a
 * run of 25 people, and the code does not live long enough to pay for it. Later versions of V8 have no such flag, and
 * print an error for a flag that they do not know.
 */
export function forShortRun(): void {
  if (Number.parseInt(process.versions.v8, 10) < firstWithoutBudget) setUnlessGiven('--interrupt-budget', 1_056_768); // bytes of bytecode; V8: 67,584
}

/** The V8 of Node 22 counts calls instead. */
const firstWithoutBudget = 12;

/** The operator's choice goes first. */
function setUnlessGiven(flag: string, value: number): void {
  if (process.execArgv.some((given) => given.replaceAll('_', '-').startsWith(flag))) return;
  setFlagsFromString(`${flag}=${value}`);
}
