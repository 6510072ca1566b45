// `mobility diary`: one day of one user, in the terminal or as GeoJSON.
import { Command } from 'commander';
import { tripsOfDay } from '../../diary/build-trip-documents.ts';
import { toFlatGeoJson } from '../../export/geojson.ts';
import { localDay } from '../../model/time.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import { dayArgument } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { diaryText } from '../diary-text.ts';
import { writeFileWhole } from '../files.ts';
import { counted } from '../output.ts';

interface Options {
  user: string;
  day: string;
  geojson?: string;
}

/** Shows a day: times, places, modes, distances. */
export function diaryCommand(context: CommandContext): Command {
  return new Command('diary')
    .description('show one day of a user: times, places, modes, distances')
    .requiredOption('--user <name>', 'name or UUID of the user')
    .requiredOption('--day <day>', 'local day, YYYY-MM-DD', dayArgument)
    .option('--geojson <file>', 'write the day as GeoJSON (RFC 7946) for a map; - for standard output')
    .addHelpText(
      'after',
      `
Examples:
  mobility diary --user ada@example.org --day 2024-03-12
  mobility diary --user ada@example.org --day 2024-03-12 --geojson day.geojson

With --json: the trips as phones read them.`,
    )
    .action(context.run((options: Options) => show(context, options)));
}

async function show(context: CommandContext, { user: name, day, geojson }: Options): Promise<Outcome> {
  const user = await context.findUser(name);
  const store = await context.store();
  if (geojson !== undefined) return writeGeoJson(context, user, day, geojson);
  if (context.output.json) {
    await context.output.result(await tripsOfDay(store, user.uuid, day), '');
    return {};
  }
  const records = await store.trips.byDay(user.uuid, { from: day, to: day });
  const { complete_until } = await store.pipeline.get(user.uuid);
  const shown = { name: user.user_email, day, records, completeUntil: complete_until };
  await context.output.line(diaryText(shown, context.output));
  if (records.length === 0) context.output.note(await hint(store, user));
  return {};
}

async function writeGeoJson(context: CommandContext, user: UserRecord, day: string, file: string): Promise<Outcome> {
  const trips = await tripsOfDay(await context.store(), user.uuid, day);
  const text = `${JSON.stringify(toFlatGeoJson(trips))}\n`;
  if (file === '-') await context.output.write(text);
  else await writeFileWhole(file, (writer) => writer.write(text));
  context.output.note(`${counted(trips.length, 'trip')}${file === '-' ? '' : ` written to ${file}`}`);
  return {};
}

/** Why a day may be empty, and what to do. */
async function hint(store: Store, { uuid, user_email }: UserRecord): Promise<string> {
  const waiting = await store.usercache.summary(uuid);
  if (waiting.count > 0) {
    return `${counted(waiting.count, 'entry', 'entries')} wait: run \`mobility pipeline --user ${user_email}\``;
  }
  const { count, start_ts, end_ts } = await store.trips.summary(uuid);
  if (start_ts === null || end_ts === null) return `${user_email} has no trips yet; has the phone pushed?`;
  return `${user_email} has ${counted(count, 'trip')} from ${localDay(start_ts, 'UTC')} to ${localDay(end_ts, 'UTC')}`;
}
