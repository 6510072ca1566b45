// All days of a user as HTML pages with links to their neighbours, and an index.
import { join } from 'node:path';
import { type Day, dayFigures, everyDay } from '../diary/days.ts';
import { readPlaces } from '../diary/places.ts';
import { MobilityError } from '../model/errors.ts';
import type { UserRecord } from '../model/user.ts';
import { diaryPage } from '../pages/day-page.ts';
import { diaryIndex, fileOfDay, type IndexDay, indexDay } from '../pages/diary-index.ts';
import type { CommandContext } from './context.ts';
import { makeFolder, writeNewFile } from './files.ts';
import { counted } from './output.ts';

/** Writes a page for every day with trips, and the index. Throws `MOBILITY_USAGE` if the folder cannot be written. */
export async function writeDiaryPages(context: CommandContext, user: UserRecord, folder: string): Promise<void> {
  if (folder === '-') throw new MobilityError('MOBILITY_USAGE', 'expected a folder as --html with --all-days, found -');
  const store = await context.store();
  const { complete_until: completeUntil } = await store.pipeline.get(user.uuid);
  const places = await readPlaces(store, user.uuid);
  const progress = context.output.progress('writing pages');
  const signal = context.interruptible();
  const index: IndexDay[] = [];
  const write = async (day: Day, next: string | undefined): Promise<void> => {
    signal.throwIfAborted();
    const before = index.at(-1)?.day;
    const beside = [
      { href: 'index.html', words: 'All days' },
      ...(before === undefined ? [] : [{ href: fileOfDay(before), words: `← ${before}` }]),
      ...(next === undefined ? [] : [{ href: fileOfDay(next), words: `${next} →` }]),
    ];
    const text = diaryPage({ name: user.user_email, days: [day], completeUntil, places, beside });
    await writeNewFile(join(folder, fileOfDay(day.day)), text);
    const trips = day.records.flatMap(({ trip }) => (trip === null ? [] : [trip]));
    index.push(indexDay(day.day, trips));
    progress.update(`${counted(index.length, 'page')}: ${day.day}`);
  };
  try {
    makeFolder(folder);
    let last: Day | null = null;
    for await (const day of everyDay(store, user, {}, context.now())) {
      if (dayFigures(day).trips === 0) continue;
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
