// Step "boarded": who rode and then waited goes on in a vehicle; states that take it for a bicycle are changed.
import type { Cells } from './decode.ts';
import { cellStates } from './model.ts';
import { movingShares } from './modes.ts';
import type { Run } from './runs.ts';

/** Set by hand on the training days, but what is marked physical. */
export interface BoardedOptions {
  /** s; a shorter ride before the wait does not count */
  ride: number;
  /** s of standing that make a wait: who parks or unlocks a bicycle takes less (physical), who stays takes more */
  leastWait: number;
  longestWait: number;
  /** s; after a shorter stop without a walk the same vehicle goes on */
  sameRide: number;
  /** ln-odds of a vehicle against a bicycle after such a wait: one of twenty has a bicycle there */
  vehicle: number;
}

/** The values in use. */
const boardedDefaults: BoardedOptions = {
  ride: 150,
  leastWait: 180,
  longestWait: 900,
  sameRide: 180,
  vehicle: 3,
};

/** The cells, with a vehicle in place of a bicycle where the wait before it outweighs how it moved. */
export function boardedAfterWaits(cells: Cells, runs: readonly Run[], options = boardedDefaults): Cells {
  let changed: Cells | null = null;
  let came: number = cellStates.still; // the last vehicle or bicycle since the user stayed, and what followed it
  let stood = 0;
  let walked = 0;
  let boarded = false; // that was taken for a bicycle
  for (const run of runs) {
    const seconds = run.end - run.start;
    if (run.state === cellStates.still) stood += seconds;
    else if (run.state === cellStates.walk) walked += seconds;
    else {
      const waited = came === cellStates.motor && stood >= options.leastWait && stood <= options.longestWait;
      const goesOn: boolean = boarded && walked === 0 && stood <= options.sameRide;
      boarded = run.state === cellStates.cycle && (waited || goesOn) && isVehicle(run, cells, options);
      if (boarded) {
        changed ??= { ...cells, state: cells.state.slice(), probability: cells.probability.slice() };
        board(run, changed, options);
      }
      if (boarded || run.state === cellStates.cycle || seconds >= options.ride) {
        came = boarded ? cellStates.motor : run.state;
        stood = 0;
        walked = 0;
      }
    }
  }
  return changed ?? cells;
}

function isVehicle(run: Run, cells: Cells, { vehicle }: BoardedOptions): boolean {
  const [, cycle, motor] = movingShares(run, cells);
  return motor * Math.exp(vehicle) > cycle;
}

/** Makes the cells of a run those of a vehicle, with probabilities that know of the wait. */
function board({ start, end }: Run, { ts, state, probability }: Cells, { vehicle }: BoardedOptions): void {
  const weight = Math.exp(vehicle);
  for (let i = 0; i < ts.length; i += 1) {
    if (ts[i]! < start || ts[i]! > end) continue;
    state[i] = cellStates.motor;
    const sum = 1 + (weight - 1) * probability[4 * i + cellStates.motor]!;
    for (let s = 0; s < 4; s += 1) probability[4 * i + s]! *= (s === cellStates.motor ? weight : 1) / sum;
  }
}
