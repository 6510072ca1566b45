// `mobility export`: everything of one user, in forms that other programs read.
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { type Days, entryRows, errorRows, tripsGeoJson } from '../../export/export-rows.ts';
import { MobilityError } from '../../model/errors.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import { dayArgument, repeated } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { makeFolder, type Writer, writeFileWhole } from '../files.ts';
import { counted, table } from '../output.ts';

interface Options {
  user: string;
  out?: string;
  entries?: true;
  trips?: true;
  from?: string;
  to?: string;
  key?: string[];
}

/** Exports one user: entries as JSON lines, trips as GeoJSON. */
export function exportCommand(context: CommandContext): Command {
  return new Command('export')
    .description('write the entries and trips of a user to files')
    .requiredOption('--user <name>', 'name or UUID of the user')
    .addOption(new Option('--out <folder>', 'write everything into a folder').conflicts(['entries', 'trips']))
    .addOption(new Option('--entries', 'entries only, as JSON lines, to standard output').conflicts('trips'))
    .option('--trips', 'trips only, as GeoJSON, to standard output')
    .option('--from <day>', 'from this local day on, YYYY-MM-DD', dayArgument)
    .option('--to <day>', 'up to this local day, that day included', dayArgument)
    .option('--key <key>', 'only entries of this key; may be repeated', repeated)
    .addHelpText(
      'after',
      `
Examples:
  mobility export --user ada@example.org --out ada
  mobility export --user ada@example.org --entries --key manual/incident | jq .data
  mobility export --user ada@example.org --trips --from 2024-03-01 --to 2024-03-31 > march.geojson

A folder gets entries.jsonl (converted and still waiting), errors.jsonl (set aside, with reasons), documents.jsonl,
trips.geojson and user.json.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  const { user: name, out, entries, trips, key } = options;
  if (out === undefined && !entries && !trips) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --out FOLDER, --entries or --trips: where shall it go?');
  }
  const days = daysOf(options);
  const user = await context.findUser(name);
  const store = await context.store();
  if (out !== undefined) return exportFolder(context, { store, user, days, out, ...(key && { key }) });
  const count = entries
    ? await writeLines(context.output, entryRows(store, user.uuid, days, key))
    : await writeTrips(context.output, store, user.uuid, days);
  context.output.note(entries ? counted(count, 'entry', 'entries') : counted(count, 'trip'));
  return {};
}

function daysOf({ from, to }: Options): Days {
  if (from === undefined || to === undefined || from <= to) return { ...(from && { from }), ...(to && { to }) };
  throw new MobilityError('MOBILITY_USAGE', `expected --from before --to, found ${from} and ${to}`);
}

interface FolderExport {
  store: Store;
  user: UserRecord;
  days: Days;
  out: string;
  key?: string[];
}

async function exportFolder(context: CommandContext, { store, user, days, out, key }: FolderExport): Promise<Outcome> {
  const { uuid } = user;
  const counts: Record<string, number> = {};
  const progress = context.output.progress(`exporting ${user.user_email}`);
  const file = async (name: string, fill: (writer: Writer) => Promise<number>): Promise<void> => {
    progress.update(`${user.user_email}: ${name}`);
    await writeFileWhole(join(out, name), async (writer) => {
      counts[name] = await fill(writer);
    });
  };
  try {
    await makeFolder(out);
    await file('entries.jsonl', (writer) => writeLines(writer, entryRows(store, uuid, days, key)));
    await file('errors.jsonl', (writer) => writeLines(writer, errorRows(store, uuid)));
    await file('documents.jsonl', async (writer) => writeLines(writer, await store.documents.list(uuid)));
    await file('trips.geojson', (writer) => writeTrips(writer, store, uuid, days));
    await file('user.json', async (writer) => {
      const profile = await store.profiles.get(uuid);
      await writer.write(`${JSON.stringify({ ...user, profile }, null, 2)}\n`);
      return 1;
    });
  } finally {
    progress.done();
  }
  await context.output.result({ ...user, folder: out, counts }, () =>
    table(
      Object.entries(counts).map(([name, count]) => [join(out, name), String(count)]),
      [1],
    ),
  );
  return {};
}

async function writeLines(writer: Writer, rows: AsyncIterable<object> | Iterable<object>): Promise<number> {
  let count = 0;
  for await (const row of rows) {
    await writer.write(`${JSON.stringify(row)}\n`);
    count += 1;
  }
  return count;
}

async function writeTrips(writer: Writer, store: Store, userId: string, days: Days): Promise<number> {
  let count = 0;
  const told = (trips: number): void => {
    count += trips;
  };
  for await (const text of tripsGeoJson(store, userId, days, told)) await writer.write(text);
  return count;
}
