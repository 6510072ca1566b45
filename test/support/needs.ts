// What tests need of the machine: a program, a right, a file. Tests without it are skipped, and counted at the end.

/** Whether it is here. Throws if MOBILITY_REQUIRE_ALL=1 demands it; `what`: what was expected, and how to get it. */
export function isHere(what: string, found: boolean): boolean {
  if (!found && process.env.MOBILITY_REQUIRE_ALL === '1')
    throw new Error(`MOBILITY_REQUIRE_ALL is set: expected ${what}, found none`);
  return found;
}
