// `mobility diary`: one day of one user in the terminal, as GeoJSON, or days as a page.
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { withLabels } from '../../diary/add-labels.ts';
import { tripsOfDay } from '../../diary/build-trip-documents.ts';
import { toFlatGeoJson } from '../../export/geojson.ts';
import { type Labels, noLabels, readLabels } from '../../labels/labels-of.ts';
import { saidTexts } from '../../labels/said-text.ts';
import { MobilityError } from '../../model/errors.ts';
import { keys } from '../../model/keys.ts';
import { addDays, localDateTime, localDay, startOfDay } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import type { UserRecord } from '../../model/user.ts';
import { diaryPage, type PageDay } from '../../pages/day-page.ts';
import { diaryIndex, fileOfDay, type IndexDay, indexDay } from '../../pages/diary-index.ts';
import type { Store } from '../../store/store.ts';
import { dayArgument } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { diaryText } from '../diary-text.ts';
import { makeFolder, writeFileWhole } from '../files.ts';
import { counted } from '../output.ts';

interface Options {
  user: string;
  day?: string;
  ids?: true;
  geojson?: string;
  html?: string;
  week?: true;
  month?: true;
  allDays?: true;
}

/** Shows a day: times, places, modes, distances. */
export function diaryCommand(context: CommandContext): Command {
  return new Command('diary')
    .description('show one day of a user: times, places, modes and distances')
    .requiredOption('--user <name>', 'name or UUID of the user')
    .option('--day <day>', 'local day, YYYY-MM-DD; default: the last one with trips', dayArgument)
    .option('--ids', 'show the id of each trip, for `mobility label`')
    .option('--geojson <file>', 'write the day as GeoJSON (RFC 7946) for a map; - for standard output')
    .addOption(
      new Option('--html <file>', 'write an HTML page with bar, map and table; - for standard output').conflicts(
        'geojson',
      ),
    )
    .addOption(new Option('--week', 'with --html: the whole week, Monday to Sunday').conflicts('month'))
    .option('--month', 'with --html: the whole month')
    .addOption(
      new Option(
        '--all-days',
        'with --html: a page for every day with trips, into this folder, and an index',
      ).conflicts(['day', 'week', 'month']),
    )
    .addHelpText(
      'after',
      `
Examples:
  mobility diary --user ada@example.org --day 2024-03-12
  mobility diary --user ada@example.org --day 2024-03-12 --geojson day.geojson
  mobility diary --user ada@example.org --day 2024-03-12 --week --html week.html
  mobility diary --user ada@example.org --all-days --html ada

With --json: the trips as phones read them.`,
    )
    .action(context.run((options: Options) => show(context, options)));
}

async function show(context: CommandContext, options: Options): Promise<Outcome> {
  const { user: name, geojson, html } = options;
  if (html === undefined && options.allDays)
    throw new MobilityError('MOBILITY_USAGE', 'expected --html FOLDER with --all-days: it says where the pages go');
  if (html === undefined && (options.week || options.month))
    throw new MobilityError(
      'MOBILITY_USAGE',
      'expected --html FILE with --week or --month: the terminal shows one day',
    );
  const user = await context.findUser(name);
  const store = await context.store();
  if (html !== undefined && options.allDays) return writeFolder(context, user, html);
  const day = options.day ?? (await lastDay(store, user.uuid, context.now()));
  if (geojson !== undefined) return writeGeoJson(context, user, day, geojson);
  if (html !== undefined) return writePage(context, user, daysOf(day, options), html);
  if (context.output.json) {
    await context.output.result(await withLabels(store, user.uuid, await tripsOfDay(store, user.uuid, day)), '');
    return {};
  }
  const records = await store.trips.byDay(user.uuid, { from: day, to: day });
  const { complete_until } = await store.pipeline.get(user.uuid);
  const labels = await labelsOf(store, user.uuid, records);
  const shown = {
    ...{ name: user.user_email, day, records, labels },
    completeUntil: complete_until,
    ids: options.ids === true,
  };
  await context.output.line(diaryText(shown, context.output));
  if (records.length === 0) context.output.note(await hint(store, user));
  return {};
}

async function labelsOf(store: Store, userId: string, records: readonly TripRecord[]): Promise<Labels> {
  if (records.length === 0) return noLabels;
  return readLabels(store, userId, { from: records[0]!.start_ts, to: records.at(-1)!.end_ts });
}

async function writeGeoJson(context: CommandContext, user: UserRecord, day: string, file: string): Promise<Outcome> {
  const store = await context.store();
  const trips = await withLabels(store, user.uuid, await tripsOfDay(store, user.uuid, day));
  const text = `${JSON.stringify(toFlatGeoJson(trips))}\n`;
  if (file === '-') await context.output.write(text);
  else await writeFileWhole(file, (writer) => writer.write(text));
  context.output.note(`${counted(trips.length, 'trip')}${file === '-' ? '' : ` written to ${file}`}`);
  if (trips.length === 0) context.output.note(await hint(store, user));
  return {};
}

/** First and last day of what is asked for. */
function daysOf(day: string, { week, month }: Options): { from: string; to: string } {
  if (month) {
    const from = `${day.slice(0, 8)}01`;
    const next = addDays(from, 31);
    return { from, to: addDays(`${next.slice(0, 8)}01`, -1) };
  }
  if (!week) return { from: day, to: day };
  const { weekday } = localDateTime(startOfDay(day, 'UTC'), 'UTC');
  return { from: addDays(day, -weekday), to: addDays(day, 6 - weekday) };
}

async function writePage(
  context: CommandContext,
  user: UserRecord,
  { from, to }: { from: string; to: string },
  file: string,
): Promise<Outcome> {
  const store = await context.store();
  const records = await store.trips.byDay(user.uuid, { from, to });
  const { complete_until } = await store.pipeline.get(user.uuid);
  const days: PageDay[] = [];
  for (let day = from; day <= to; day = addDays(day, 1))
    days.push({ day, records: records.filter((record) => record.day === day) });
  const labels = await namedTrips(store, user.uuid, records);
  const text = diaryPage({ name: user.user_email, days, completeUntil: complete_until, labels });
  if (file === '-') await context.output.write(text);
  else await writeFileWhole(file, (writer) => writer.write(text));
  const trips = records.filter(({ trip }) => trip !== null).length;
  context.output.note(`${counted(trips, 'trip')}${file === '-' ? '' : ` written to ${file}`}`);
  if (trips === 0) context.output.note(await hint(store, user));
  return {};
}

/** What the participant named, in words, by id of the trip. */
async function namedTrips(store: Store, userId: string, records: readonly TripRecord[]): Promise<Map<string, string>> {
  const labels = await labelsOf(store, userId, records);
  const named = new Map<string, string>();
  for (const { trip, start_ts } of records) {
    const said = Object.values(saidTexts(labels.ofTrip(start_ts))).join(', ');
    if (trip !== null && said !== '') named.set(trip.id, said);
  }
  return named;
}

/** The last local day on which a trip begins; today, in UTC, where there is none. */
async function lastDay(store: Store, userId: string, now: number): Promise<string> {
  const { end_ts } = await store.trips.summary(userId);
  if (end_ts === null) return localDay(now, 'UTC');
  const to = addDays(localDay(end_ts, 'UTC'), 1);
  const records = await store.trips.byDay(userId, { from: addDays(to, -daysAtOnce), to });
  return records.findLast(({ trip }) => trip !== null)?.day ?? localDay(end_ts, 'UTC');
}

const daysAtOnce = 31;

interface TripDay extends PageDay {
  labels: Map<string, string>;
}

/** Days with trips, in order; a month of them is in memory. */
async function* daysWithTrips(store: Store, userId: string): AsyncGenerator<TripDay> {
  const { start_ts, end_ts } = await store.trips.summary(userId);
  if (start_ts === null || end_ts === null) return;
  const last = addDays(localDay(end_ts, 'UTC'), 1);
  for (let from = addDays(localDay(start_ts, 'UTC'), -1); from <= last; from = addDays(from, daysAtOnce)) {
    const records = await store.trips.byDay(userId, { from, to: addDays(from, daysAtOnce - 1) });
    const labels = await namedTrips(store, userId, records);
    const days = new Set(records.filter(({ trip }) => trip !== null).map(({ day }) => day));
    for (const day of [...days].sort()) yield { day, records: records.filter((one) => one.day === day), labels };
  }
}

/** A page for every day with trips, each with links to its neighbours, and the index. */
async function writeFolder(context: CommandContext, user: UserRecord, folder: string): Promise<Outcome> {
  if (folder === '-') throw new MobilityError('MOBILITY_USAGE', 'expected a folder as --html with --all-days, found -');
  const store = await context.store();
  const { complete_until } = await store.pipeline.get(user.uuid);
  const progress = context.output.progress('writing pages');
  const signal = context.interruptible();
  const index: IndexDay[] = [];
  let open: TripDay | null = null;
  const write = async (one: TripDay, next: string | null): Promise<void> => {
    signal.throwIfAborted();
    const trips = one.records.flatMap(({ trip }) => (trip === null ? [] : [trip]));
    const before = index.at(-1)?.day;
    const beside = [
      { href: 'index.html', words: 'All days' },
      ...(before === undefined ? [] : [{ href: fileOfDay(before), words: `← ${before}` }]),
      ...(next === null ? [] : [{ href: fileOfDay(next), words: `${next} →` }]),
    ];
    const { day, records, labels } = one;
    const days = [{ day, records }];
    const text = diaryPage({ name: user.user_email, days, completeUntil: complete_until, labels, beside });
    await writeFileWhole(join(folder, fileOfDay(day)), (writer) => writer.write(text));
    index.push(indexDay(day, trips));
    progress.update(`${counted(index.length, 'page')}: ${day}`);
  };
  try {
    makeFolder(folder);
    for await (const next of daysWithTrips(store, user.uuid)) {
      if (open !== null) await write(open, next.day);
      open = next;
    }
    if (open !== null) await write(open, null);
    const text = diaryIndex(user.user_email, index);
    await writeFileWhole(join(folder, 'index.html'), (writer) => writer.write(text));
  } finally {
    progress.done();
  }
  context.output.note(`${counted(index.length, 'page')} written to ${folder}, and index.html`);
  return {};
}

/** Why a day may be empty, and what to do. */
async function hint(store: Store, { uuid, user_email }: UserRecord): Promise<string> {
  const waiting = await store.usercache.summary(uuid);
  if (waiting.count > 0) {
    return `${counted(waiting.count, 'entry', 'entries')} waiting: run \`mobility pipeline --user ${user_email}\``;
  }
  const { count, start_ts, end_ts } = await store.trips.summary(uuid);
  const located = await lastLocationDay(store, uuid);
  if (start_ts === null || end_ts === null) {
    if (located === null) return `${user_email} has no trips yet; has the phone pushed?`;
    return `${user_email} has locations up to ${located}, but no trip that has certainly ended: later data decide`;
  }
  const last = localDay(end_ts, 'UTC');
  const draft =
    located !== null && located > last ? `; the locations up to ${located} are a draft: later data decide` : '';
  return `${user_email} has ${counted(count, 'trip')} from ${localDay(start_ts, 'UTC')} to ${last}${draft}`;
}

async function lastLocationDay(store: Store, userId: string): Promise<string | null> {
  const series = await store.timeseries.summary(userId);
  const times = series.flatMap(({ key, last_ts }) =>
    last_ts !== null && (key === keys.location || key === keys.filteredLocation) ? [last_ts] : [],
  );
  return times.length === 0 ? null : localDay(Math.max(...times), 'UTC');
}
