import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { readPlaces } from '../diary/places.ts';
import { type DayBounds, type DayStore, everyWholeDay } from '../diary/read-days.ts';
import { studyLabels } from '../model/study-labels.ts';
import type { Trip } from '../model/trip.ts';
import type { UserRecord } from '../model/user.ts';
import { namedPlaces, type ShownDay } from './pages/day-items.ts';
import type { Texts } from './pages/texts/texts.ts';

/** `isOwn`: the reader is this user. `beyond`: also yields days before the first or after the last data. */
export async function* shownDays(
  store: DayStore,
  user: UserRecord,
  bounds: DayBounds,
  { t, now, isOwn = false }: { t: Texts; now: number; isOwn?: boolean },
  beyond = true,
): AsyncGenerator<ShownDay, undefined> {
  const { complete_until: completeUntil, observed: known } = await store.pipeline.get(user.uuid);
  const locatedUntil = known?.seen.at_ts;
  const record = user.study === undefined ? null : await store.studies?.byName(user.study);
  const lists = studyLabels(record?.config, t.language);
  const own = new Map([...(lists?.modes ?? []), ...(lists?.purposes ?? [])].map(({ value, words }) => [value, words]));
  const labelWords = (label: string): string | undefined => own.get(label);
  const placeAt = namedPlaces(await readPlaces(store, user.uuid), t, isOwn);
  const chain = correctedTrips(store);
  const drafts = await chain.drafts(user.uuid);
  const previous = async (before: number): Promise<Trip | null> =>
    (drafts.findLast(({ chain_ts }) => chain_ts < before) ?? (await chain.previous(user.uuid, before)))?.trip ?? null;
  const next = async (after: number): Promise<Trip | null> =>
    ((await chain.next(user.uuid, after)) ?? drafts.find(({ chain_ts }) => chain_ts > after))?.trip ?? null;
  for await (const { observed, records, labels, flagged } of everyWholeDay(store, user, bounds, now, beyond)) {
    const began = records.flatMap(({ trip }) => (trip === null ? [] : [labels.stated(trip)]));
    const [earlier, later] = await Promise.all([
      previous(records[0]?.chain_ts ?? observed.to),
      next(records.at(-1)?.chain_ts ?? observed.to),
    ]);
    const reaches = earlier !== null && earlier.end_ts > observed.from;
    const before = reaches ? await previous(earlier.start_ts) : earlier;
    const trips = reaches ? [labels.stated(earlier), ...began] : began;
    const read = { completeUntil, locatedUntil, placeAt, now, labelWords };
    yield { observed, trips, began, before, after: later, labels, flagged, ...read };
  }
}
