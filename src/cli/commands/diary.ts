import { join } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { readTripsOfDays } from '../../diary/build-trip-documents.ts';
import { withLabels } from '../../diary/labels/add-labels.ts';
import { readPlaces } from '../../diary/places.ts';
import { dayFigures, readDays } from '../../diary/read-days.ts';
import type { TripFeatureCollection } from '../../diary/trip-features.ts';
import { toFlatGeoJson } from '../../export/trips-geojson.ts';
import { usageError } from '../../model/mobility-error.ts';
import { type DayRange, daysOfMonth, daysOfWeek } from '../../model/time.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import { explainEmptyDay, findLastDay } from '../../upkeep/last-day.ts';
import { makeFolder, writeNewFile } from '../../util/file-access.ts';
import type { ShownDay } from '../../web/pages/day-items.ts';
import { dayFile, daysFile, fileOfDay, indexFile } from '../../web/pages/diary-file.ts';
import { type DayRow, dayRow, type NeighbourLink } from '../../web/pages/overview.ts';
import { textsFor } from '../../web/pages/texts/texts.ts';
import { shownDays } from '../../web/shown-days.ts';
import { DocumentedCommand, daysArgument, type OptionsOf, resolveDays } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { diaryText } from '../diary-text.ts';
import { counted, writeResult } from '../output.ts';

export const command = (context: CommandContext) => flags(context).action(context.run(show));

const flags = (context: CommandContext) =>
  new DocumentedCommand('diary')
    .examples(`
  mobility diary --user ada@example.org --day 2024-03-12
  mobility diary --user ada@example.org --day 2024-03-12..2024-03-15 --geojson days.geojson
  mobility diary --user ada@example.org --day monday --week --html week.html
  mobility diary --user ada@example.org --all-days --html ada

With --json: the trips as phones read them. --week and --month mean the week or month of the first day in --day.`)
    .requiredOption('--user <name>', 'name or UUID of the user')
    .option('--day <days>', 'local day, or a range A..B; default: the last day with trips', daysArgument(context))
    .option('--ids', 'show the id of each trip, for `mobility label`')
    .option('--geojson <file>', 'write the days as GeoJSON (RFC 7946) for a map; - for standard output')
    .addOption(
      new Option(
        '--html <file>',
        'write an HTML page with a bar of the day, a map and a list; - for standard output',
      ).conflicts('geojson'),
    )
    .addOption(new Option('--week', 'with --html: the whole week, Monday to Sunday').conflicts('month'))
    .option('--month', 'with --html: the whole month')
    .addOption(
      new Option(
        '--all-days',
        'with --html: a page for every day with trips, into this folder, and an index',
      ).conflicts(['day', 'week', 'month']),
    );

async function show(context: CommandContext, options: OptionsOf<typeof flags>): Promise<void> {
  const { geojson, html, week, month, allDays } = options;
  if (html === undefined && (allDays || week || month))
    throw usageError(
      'expected --html with --week, --month or --all-days, found no --html: the terminal shows single days',
    );
  const user = await context.findUser(options.user);
  const store = await context.store();
  if (html !== undefined && allDays) return writeDiaryPages(context, user, html);
  const last = options.day
    ? await resolveDays(context, user, options.day)
    : await findLastDay(store, user.uuid, context.now());
  const days = month ? daysOfMonth(last.from.slice(0, 7)) : week ? daysOfWeek(last.from) : last;
  const trips =
    html !== undefined
      ? await writeDiaryPage(context, user, html, days)
      : geojson !== undefined
        ? await writeGeoJson(context, user, days, geojson)
        : await showDays(context, user, days, options.ids === true);
  if (trips === 0) context.output.note(await explainEmptyDay(store, user));
}

async function showDays(context: CommandContext, user: UserRecord, days: DayRange, ids: boolean): Promise<number> {
  const { output } = context;
  const store = await context.store();
  if (output.json) {
    const trips = await documentsOf(store, user, days);
    await output.result({ user_id: user.uuid, user_email: user.user_email, ...days, trips }, '');
    return trips.length;
  }
  const { complete_until: completeUntil } = await store.pipeline.get(user.uuid);
  const shown = await readDays(store, user, days, context.now());
  const places = await readPlaces(store, user.uuid);
  const texts = shown.map((day) => diaryText({ name: user.user_email, ...day, completeUntil, places, ids }, output));
  await output.line(texts.join('\n\n'));
  return shown.reduce((sum, day) => sum + dayFigures(day).trips, 0);
}

async function documentsOf(store: Store, { uuid }: UserRecord, days: DayRange): Promise<TripFeatureCollection[]> {
  return withLabels(store, uuid, [...(await readTripsOfDays(store, uuid, days, { drafts: true })).values()].flat());
}

async function writeGeoJson(context: CommandContext, user: UserRecord, days: DayRange, file: string): Promise<number> {
  const trips = await documentsOf(await context.store(), user, days);
  await writeResult(context.output, file, `${JSON.stringify(toFlatGeoJson(trips))}\n`, counted(trips.length, 'trip'));
  return trips.length;
}

async function writeDiaryPage(context: CommandContext, user: UserRecord, file: string, range: DayRange) {
  const reader = { t: textsFor(), now: context.now() };
  const days: ShownDay[] = [];
  for await (const day of shownDays(await context.store(), user, range, reader)) days.push(day);
  const { user_email: name } = user;
  const text = days.length === 1 ? dayFile(name, days[0]!, reader.t, [null, null]) : daysFile(name, days, reader.t);
  const trips = days.reduce((sum, { began }) => sum + began.length, 0);
  await writeResult(context.output, file, text, counted(trips, 'trip'));
  return trips;
}

async function writeDiaryPages(context: CommandContext, user: UserRecord, folder: string): Promise<void> {
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
