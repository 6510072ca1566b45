// `mobility diary`: a day of a user in the terminal or as GeoJSON, days as an HTML page, or all days as pages.
import { Command, Option } from 'commander';
import { withLabels } from '../../diary/add-labels.ts';
import { tripsOfDay } from '../../diary/build-trip-documents.ts';
import { readObservedDays } from '../../diary/observed-time.ts';
import { readPlaces } from '../../diary/places.ts';
import { toFlatGeoJson } from '../../export/geojson.ts';
import { MobilityError } from '../../model/errors.ts';
import { keys } from '../../model/keys.ts';
import { addDays, localDateTime, localDay, startOfDay } from '../../model/time.ts';
import type { UserRecord } from '../../model/user.ts';
import { diaryPage } from '../../pages/day-page.ts';
import type { Store } from '../../store/store.ts';
import { dayArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { daysAtOnce, labelsOf, labelTexts, writeDiaryPages } from '../diary-pages.ts';
import { diaryText } from '../diary-text.ts';
import { writeResult } from '../files.ts';
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

async function show(context: CommandContext, options: Options): Promise<void> {
  const { geojson, html, week, month, allDays } = options;
  if (html === undefined && (allDays || week || month)) {
    const message = allDays
      ? 'expected --html FOLDER with --all-days, for the pages'
      : 'expected --html FILE with --week or --month: the terminal shows one day';
    throw new MobilityError('MOBILITY_USAGE', message);
  }
  const user = await context.findUser(options.user);
  const store = await context.store();
  if (html !== undefined && allDays) {
    await writeDiaryPages(context, user, html);
    return;
  }
  const day = options.day ?? (await lastDay(store, user.uuid, context.now()));
  const { from, to } = daysOf(day, options);
  const trips =
    html !== undefined
      ? await writePage(context, user, html, from, to)
      : geojson !== undefined
        ? await writeGeoJson(context, user, day, geojson)
        : await showDay(context, user, day, options.ids === true);
  if (trips === 0) context.output.note(await hint(store, user));
}

/** Shows a day in the terminal; returns the number of its trips and other links. */
async function showDay({ output, store }: CommandContext, user: UserRecord, day: string, ids: boolean) {
  const { trips, pipeline } = await store();
  if (output.json) {
    const documents = await withLabels(await store(), user.uuid, await tripsOfDay(await store(), user.uuid, day));
    await output.result(documents, '');
    return documents.length;
  }
  const records = await trips.byDay(user.uuid, { from: day, to: day });
  const { complete_until: completeUntil } = await pipeline.get(user.uuid);
  const labels = await labelsOf(await store(), user.uuid, records);
  const [observed] = await readObservedDays(await store(), user.uuid, { from: day, to: day });
  const places = await readPlaces(await store(), user.uuid);
  const shown = { name: user.user_email, day, records, observed: observed!, labels, completeUntil, ids, places };
  await output.line(diaryText(shown, output));
  return records.length;
}

async function writeGeoJson({ output, store }: CommandContext, { uuid }: UserRecord, day: string, file: string) {
  const trips = await withLabels(await store(), uuid, await tripsOfDay(await store(), uuid, day));
  await writeResult(output, file, `${JSON.stringify(toFlatGeoJson(trips))}\n`, counted(trips.length, 'trip'));
  return trips.length;
}

/** The first and the last day that the flags ask for. */
function daysOf(day: string, { week, month }: Options): { from: string; to: string } {
  if (month) {
    const from = `${day.slice(0, 8)}01`;
    return { from, to: addDays(`${addDays(from, 31).slice(0, 8)}01`, -1) };
  }
  if (!week) return { from: day, to: day };
  const { weekday } = localDateTime(startOfDay(day, 'UTC'), 'UTC');
  return { from: addDays(day, -weekday), to: addDays(day, 6 - weekday) };
}

async function writePage(context: CommandContext, user: UserRecord, file: string, from: string, to: string) {
  const store = await context.store();
  const records = await store.trips.byDay(user.uuid, { from, to });
  const observed = await readObservedDays(store, user.uuid, { from, to });
  const days = observed.map((one) => ({
    day: one.day,
    records: records.filter(({ day }) => day === one.day),
    observed: one,
  }));
  const { complete_until: completeUntil } = await store.pipeline.get(user.uuid);
  const labels = await labelTexts(store, user.uuid, records);
  const trips = records.filter(({ trip }) => trip !== null).length;
  const text = diaryPage({
    name: user.user_email,
    days,
    completeUntil,
    labels,
    places: await readPlaces(store, user.uuid),
  });
  await writeResult(context.output, file, text, counted(trips, 'trip'));
  return trips;
}

/** The last local day on which a trip begins; today, in UTC, if there is none. */
async function lastDay(store: Store, userId: string, now: number): Promise<string> {
  const { end_ts } = await store.trips.summary(userId);
  if (end_ts === null) return localDay(now, 'UTC');
  const to = addDays(localDay(end_ts, 'UTC'), 1);
  const records = await store.trips.byDay(userId, { from: addDays(to, -daysAtOnce), to });
  return records.findLast(({ trip }) => trip !== null)?.day ?? localDay(end_ts, 'UTC');
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
  const isDraft = located !== null && located > last;
  const draft = isDraft ? `; the locations up to ${located} are a draft: later data decide` : '';
  return `${user_email} has ${counted(count, 'trip')} from ${localDay(start_ts, 'UTC')} to ${last}${draft}`;
}

async function lastLocationDay(store: Store, userId: string): Promise<string | null> {
  const series = await store.timeseries.summary(userId);
  const times = series.flatMap(({ key, last_ts }) =>
    last_ts !== null && (key === keys.location || key === keys.filteredLocation) ? [last_ts] : [],
  );
  return times.length === 0 ? null : localDay(Math.max(...times), 'UTC');
}
