import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { concernedTime } from '../diary/corrections/read-corrections.ts';
import type { CorrectionStanding, Stated } from '../model/correction.ts';
import { entryId } from '../model/ids.ts';
import { keys } from '../model/keys.ts';
import { addDays, justAfter, localDay, startOfDay } from '../model/time.ts';
import { isExcluded } from '../pipeline/excluded-entries.ts';
import { everyEntry } from '../store/paging.ts';
import type { Store } from '../store/store.ts';

export const correctionId = (userId: string, { write_ts }: Pick<Stated, 'write_ts'>): string =>
  entryId(userId, { key: keys.correction, write_ts });

/** `day`: the local day on which the time of the correction begins. */
type DatedCorrection = CorrectionStanding & { day: string };

/** Returns the oldest correction first. An exclusion that matches no entry is `without effect`. */
export async function readCorrectionEffects(store: Store, userId: string): Promise<DatedCorrection[]> {
  const days = new Map<number, string>();
  const effects: DatedCorrection[] = [];
  for (const { correction: one, effect, day: known } of await correctedTrips(store).corrections(userId)) {
    const from = one.kind === 'undo' ? one.write_ts : concernedTime(one).from;
    const zone = await readZoneOn(store, userId, localDay(from, 'UTC'));
    const day = (one.kind === 'undo' ? days.get(one.of) : known) ?? localDay(from, zone);
    days.set(one.write_ts, day);
    const isIdle = effect === 'applied' && one.kind === 'set_aside' && !(await excludesAny(store, userId, one));
    effects.push({ correction: one, effect: isIdle ? 'without effect' : effect, day });
  }
  return effects;
}

type Exclusion = Stated & { kind: 'set_aside' };

async function excludesAny({ timeseries }: Store, userId: string, one: Exclusion): Promise<boolean> {
  const range = { from: one.start_ts, to: justAfter(one.end_ts) };
  for await (const entry of everyEntry(timeseries, userId, { time: 'ts', ...range }))
    if (entry.metadata.key !== keys.correction && isExcluded(one, entry)) return true;
  return false;
}

/**
 * Returns the time zone in which the user ended the day: the end zone of the last trip up to then,
 * or else the start zone of the first trip after it; UTC if there is no trip.
 */
export async function readZoneOn(store: Store, userId: string, day: string): Promise<string> {
  const midnight = startOfDay(addDays(day, 1), 'UTC');
  const trips = correctedTrips(store);
  const before = await trips.previous(userId, midnight);
  return before?.trip?.end_zone ?? (await trips.next(userId, midnight))?.trip?.start_zone ?? 'UTC';
}
