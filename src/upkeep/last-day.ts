import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { counted } from '../log/text.ts';
import { keys } from '../model/keys.ts';
import { addDays, type DayRange, localDay } from '../model/time.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';

const daysBack = 31; // the last trip is searched among trips that began so many days before its end

/** Returns the last local day on which a trip begins; if there is no trip, today in UTC. */
export async function findLastDay(store: Store, userId: string, now: number): Promise<DayRange> {
  const draft = (await correctedTrips(store).drafts(userId)).at(-1);
  if (draft !== undefined) return { from: draft.day, to: draft.day };
  const { end_ts } = await correctedTrips(store).summary(userId);
  const to = addDays(localDay(end_ts ?? now, 'UTC'), end_ts === null ? 0 : 1);
  const records = await correctedTrips(store).byDay(userId, { from: addDays(to, -daysBack), to });
  const day = records.at(-1)?.day ?? localDay(end_ts ?? now, 'UTC');
  return { from: day, to: day };
}

export async function explainEmptyDay(store: Store, { uuid, user_email }: UserRecord): Promise<string> {
  const pending = await store.usercache.count(uuid);
  if (pending > 0)
    return `${counted(pending, 'entry', 'entries')} pending: run \`mobility pipeline --user ${user_email}\``;
  const { count, start_ts, end_ts } = await correctedTrips(store).summary(uuid);
  const located = await findLastLocationDay(store, uuid);
  if (start_ts === null || end_ts === null) {
    if (located === null)
      return `${user_email} has no trips yet and no locations: see \`mobility doctor --user ${user_email}\``;
    return `${user_email} has locations up to ${located}, but no trip whose end is certain: wait for later data`;
  }
  const last = localDay(end_ts, 'UTC');
  const isDraft = located !== null && located > last;
  const draft = isDraft ? `; the locations up to ${located} are a draft: later data may change it` : '';
  return `${user_email} has ${counted(count, 'trip')} from ${localDay(start_ts, 'UTC')} to ${last}${draft}`;
}

async function findLastLocationDay(store: Store, userId: string): Promise<string | null> {
  const series = await store.timeseries.summary(userId);
  const times = series.flatMap(({ key, last_ts }) =>
    last_ts !== null && (key === keys.location || key === keys.filteredLocation) ? [last_ts] : [],
  );
  return times.length === 0 ? null : localDay(Math.max(...times), 'UTC');
}
