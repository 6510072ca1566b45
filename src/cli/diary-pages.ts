import { join } from 'node:path';
import { usageError } from '../model/mobility-error.ts';
import type { UserRecord } from '../model/user.ts';
import { makeFolder, writeNewFile } from '../util/file-access.ts';
import type { ShownDay } from '../web/pages/day-items.ts';
import { dayFile, daysFile, fileOfDay, indexFile } from '../web/pages/diary-file.ts';
import { type DayRow, dayRow, type NeighbourLink } from '../web/pages/overview.ts';
import { shownDays } from '../web/pages/shown-days.ts';
import { textsFor } from '../web/pages/texts/texts.ts';
import type { CommandContext } from './context.ts';
import { counted, writeResult } from './output.ts';

/** Writes days as one page; returns the number of their trips. */
export async function writeDiaryPage(
  context: CommandContext,
  user: UserRecord,
  file: string,
  range: { from: string; to: string },
): Promise<number> {
  const reader = { t: textsFor(), now: context.now() };
  const days: ShownDay[] = [];
  for await (const day of shownDays(await context.store(), user, range, reader)) days.push(day);
  const [only, ...others] = days;
  const isOne = only !== undefined && others.length === 0;
  const { user_email: name } = user;
  const text = isOne ? dayFile(name, only, reader.t, [null, null]) : daysFile(name, days, reader.t);
  const trips = days.reduce((sum, { began }) => sum + began.length, 0);
  await writeResult(context.output, file, text, counted(trips, 'trip'));
  return trips;
}

/** Writes a page for every day with trips, and the index. Throws `MOBILITY_USAGE` if the folder cannot be written. */
export async function writeDiaryPages(context: CommandContext, user: UserRecord, folder: string): Promise<void> {
  if (folder === '-') throw usageError('expected a folder as --html with --all-days, found -');
  const reader = { t: textsFor(), now: context.now() };
  const { t } = reader;
  const progress = context.output.progress('writing pages');
  const signal = context.interruptible();
  const rows: DayRow[] = [];
  const stepTo = (day?: string): NeighbourLink | null =>
    day === undefined ? null : { href: fileOfDay(day), words: t.day(day) };
  const write = async (shown: ShownDay, next?: string): Promise<void> => {
    signal.throwIfAborted();
    const { day } = shown.observed;
    const beside: [NeighbourLink | null, NeighbourLink | null] = [stepTo(rows.at(-1)?.day), stepTo(next)];
    const text = dayFile(user.user_email, shown, t, beside, { href: 'index.html', words: t.me.allDays });
    await writeNewFile(join(folder, fileOfDay(day)), text);
    rows.push(dayRow(shown, fileOfDay(day), t));
    progress.update(`${counted(rows.length, 'page')}: ${day}`);
  };
  makeFolder(folder);
  let last: ShownDay | null = null;
  for await (const shown of shownDays(await context.store(), user, {}, reader, false)) {
    if (shown.began.length === 0) continue;
    if (last !== null) await write(last, shown.observed.day);
    last = shown;
  }
  if (last !== null) await write(last);
  await writeNewFile(join(folder, 'index.html'), indexFile(user.user_email, rows, t));
  context.output.note(`${counted(rows.length, 'page')} written to ${folder}, and index.html`);
}
