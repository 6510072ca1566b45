// The four states of movement, and the state that a type of motion reading names.
import { motionTypes } from '../model/payloads.ts';

/** The states, in the order of the models' classes. */
export const stateNames = ['still', 'walk', 'cycle', 'motor'] as const;

export const cellStates = { still: 0, walk: 1, cycle: 2, motor: 3 } as const;

export const noState = 4; // for motion readings that match no state, such as `UNKNOWN`

const { IN_VEHICLE, BICYCLING, ON_FOOT, STILL, WALKING, RUNNING, STOPPED_WHILE_IN_VEHICLE, AIR_OR_HSR } = motionTypes;

const codes: readonly (readonly number[])[] = [
  [STILL],
  [WALKING, RUNNING, ON_FOOT],
  [BICYCLING],
  [IN_VEHICLE, STOPPED_WHILE_IN_VEHICLE, AIR_OR_HSR],
];

export function readingState(type: number): number {
  const state = codes.findIndex((some) => some.includes(type));
  return state < 0 ? noState : state;
}

export const isMoving = (state: number): boolean => state !== cellStates.still && state !== noState;
