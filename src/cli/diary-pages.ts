// All days of a user as HTML pages with links to their neighbours, and an index.
import { join } from 'node:path';
import { readObservedDays } from '../diary/observed-time.ts';
import { readPlaces } from '../diary/places.ts';
import { type Labels, noLabels, readLabels } from '../labels/labels-of.ts';
import { saidTexts } from '../labels/said-text.ts';
import { MobilityError } from '../model/errors.ts';
import { addDays, localDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import type { UserRecord } from '../model/user.ts';
import { diaryPage, type PageDay } from '../pages/day-page.ts';
import { diaryIndex, fileOfDay, type IndexDay, indexDay } from '../pages/diary-index.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { makeFolder, writeNewFile } from './files.ts';
import { counted } from './output.ts';

/** Days whose trips are in memory at the same time. */
export const daysAtOnce = 31;

/** What the user said about the trips of these records. */
export async function labelsOf(store: Store, userId: string, records: readonly TripRecord[]): Promise<Labels> {
  if (records.length === 0) return noLabels;
  return readLabels(store, userId, { from: records[0]!.start_ts, to: records.at(-1)!.end_ts });
}

/** The same in words, by id of the trip. */
export async function labelTexts(
  store: Store,
  userId: string,
  records: readonly TripRecord[],
): Promise<Map<string, string>> {
  const labels = await labelsOf(store, userId, records);
  const texts = new Map<string, string>();
  for (const { trip, start_ts } of records) {
    const text = Object.values(saidTexts(labels.ofTrip(start_ts))).join(', ');
    if (trip !== null && text !== '') texts.set(trip.id, text);
  }
  return texts;
}

/** Writes a page for every day with trips, and the index. Throws `MOBILITY_USAGE` if the folder cannot be written. */
export async function writeDiaryPages(context: CommandContext, user: UserRecord, folder: string): Promise<void> {
  if (folder === '-') throw new MobilityError('MOBILITY_USAGE', 'expected a folder as --html with --all-days, found -');
  const store = await context.store();
  const { complete_until: completeUntil } = await store.pipeline.get(user.uuid);
  const places = await readPlaces(store, user.uuid);
  const progress = context.output.progress('writing pages');
  const signal = context.interruptible();
  const index: IndexDay[] = [];
  const write = async ({ labels, ...day }: TripDay, next: string | undefined): Promise<void> => {
    signal.throwIfAborted();
    const before = index.at(-1)?.day;
    const beside = [
      { href: 'index.html', words: 'All days' },
      ...(before === undefined ? [] : [{ href: fileOfDay(before), words: `← ${before}` }]),
      ...(next === undefined ? [] : [{ href: fileOfDay(next), words: `${next} →` }]),
    ];
    const text = diaryPage({ name: user.user_email, days: [day], completeUntil, labels, places, beside });
    await writeNewFile(join(folder, fileOfDay(day.day)), text);
    const trips = day.records.flatMap(({ trip }) => (trip === null ? [] : [trip]));
    index.push(indexDay(day.day, trips));
    progress.update(`${counted(index.length, 'page')}: ${day.day}`);
  };
  try {
    makeFolder(folder);
    let last: TripDay | null = null;
    for await (const day of daysWithTrips(store, user.uuid)) {
      if (last !== null) await write(last, day.day);
      last = day;
    }
    if (last !== null) await write(last, undefined);
    await writeNewFile(join(folder, 'index.html'), diaryIndex(user.user_email, index));
  } finally {
    progress.done();
  }
  context.output.note(`${counted(index.length, 'page')} written to ${folder}, and index.html`);
}

type TripDay = PageDay & { labels: Map<string, string> };

/** Days with trips, in order. */
async function* daysWithTrips(store: Store, userId: string): AsyncGenerator<TripDay> {
  const { start_ts, end_ts } = await store.trips.summary(userId);
  if (start_ts === null || end_ts === null) return;
  const last = addDays(localDay(end_ts, 'UTC'), 1);
  for (let from = addDays(localDay(start_ts, 'UTC'), -1); from <= last; from = addDays(from, daysAtOnce)) {
    const records = await store.trips.byDay(userId, { from, to: addDays(from, daysAtOnce - 1) });
    const labels = await labelTexts(store, userId, records);
    for (const observed of await readObservedDays(store, userId, { from, to: addDays(from, daysAtOnce - 1) })) {
      const { day } = observed;
      const ofDay = records.filter((record) => record.day === day);
      if (ofDay.length > 0) yield { day, records: ofDay, observed, labels };
    }
  }
}
