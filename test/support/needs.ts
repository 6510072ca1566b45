// What tests need of the machine: a program, a right, a file. Tests without it are skipped, and counted at the end.

/**
 * Returns whether it is here. Throws instead of false if `MOBILITY_REQUIRE_ALL=1` demands everything; `what` names what
 * was expected, and how to get it.
 */
export function isHere(what: string, found: boolean): boolean {
  if (!found && process.env.MOBILITY_REQUIRE_ALL === '1')
    throw new Error(`MOBILITY_REQUIRE_ALL is set: expected ${what}, found none`);
  return found;
}
