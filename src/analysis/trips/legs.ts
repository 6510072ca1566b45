// Step "legs": the states of a journey -> its legs, each in one state, with the waits between them.

import { movingBetween, type Run } from '../states/state-runs.ts';
import { cellStates } from '../states/states.ts';

/** s, all set by hand */
const limits = {
  /** Legs of one state nearer together than this are one: a vehicle stops longer than feet do. */
  sameMotor: 180,
  same: 90,
  /** A shorter pause between legs of different states is no stop: it goes to the earlier one. */
  pause: 90,
};

/** A part of a journey in one state. */
export type Leg = Run;

/** Legs in order of time between two times; the first begins and the last ends there. Empty when nothing moves. */
export function legsOf(runs: readonly Run[], from: number, to: number): Leg[] {
  const legs: Leg[] = [];
  for (const run of movingBetween(runs, from, to)) {
    const before = legs.at(-1);
    const near = run.state === cellStates.motor ? limits.sameMotor : limits.same;
    if (before && before.state === run.state && run.start - before.end < near) before.end = run.end;
    else legs.push({ ...run });
  }
  legs.forEach((leg, i) => {
    const next = legs[i + 1];
    if (next && next.start - leg.end < limits.pause) leg.end = next.start;
  });
  if (legs.length > 0) {
    legs[0]!.start = from;
    legs.at(-1)!.end = to;
  }
  return legs;
}
