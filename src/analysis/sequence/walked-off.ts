// Step "walked off": who gets out of a vehicle walks, even where locations are too unsure to show it.
import { firstAtOrAfter } from '../in-time.ts';
import type { Motion } from '../observations.ts';
import { cellSeconds, readingKind, readingKindOf } from './features.ts';
import { cellStates } from './model.ts';
import type { Run } from './runs.ts';
import { sureConfidence } from './said.ts';

/** When rest after a ride begins with a walk; by hand. */
export interface WalkedOffOptions {
  /** s after the ride in which readings count: later ones may be of somebody who has arrived and walks about */
  soon: number;
  /** Confidence from which a reading is sure. */
  sure: number;
}

/** The values in use. */
const walkedOffDefaults: WalkedOffOptions = { soon: 120, sure: sureConfidence };

/** The runs of an Android phone, on foot from the end of a ride to the last sure reading of it before one of rest. */
export function walkedOff(
  runs: readonly Run[],
  motions: readonly Motion[],
  options = walkedOffDefaults,
): readonly Run[] {
  return runs.flatMap((run, i) => {
    const ride = runs[i - 1];
    if (run.state !== cellStates.still || ride?.state !== cellStates.motor || ride.end !== run.start) return [run];
    const walked = walkedUntil(run, motions, options);
    if (walked === null) return [run];
    const walk = { ...run, state: cellStates.walk, end: walked };
    return walked < run.end ? [walk, { ...run, start: walked }] : [walk];
  });
}

function walkedUntil({ start, end }: Run, motions: readonly Motion[], { soon, sure }: WalkedOffOptions): number | null {
  let last: number | null = null;
  for (let i = firstAtOrAfter(motions, start); i < motions.length; i += 1) {
    const { ts, type, confidence } = motions[i]!;
    if (ts > Math.min(start + soon, end)) break;
    if (confidence < sure) continue;
    const kind = readingKind(type);
    if (kind === readingKindOf.still) break;
    if (kind === readingKindOf.walk) last = ts;
  }
  return last === null ? null : Math.min(last + cellSeconds / 2, end);
}
