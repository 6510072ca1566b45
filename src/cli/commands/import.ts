import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Part } from '../../import/import-format.ts';
import type { FoundParts } from '../../import/import-formats.ts';
import type { ImportCounts, ImportedFor, ImportReport, PartReport } from '../../import/import-source.ts';
import { isMobilityError, MobilityError, usageError } from '../../model/mobility-error.ts';
import type { Store } from '../../store/store.ts';
import { DocumentedCommand, type OptionsOf, zoneArgument } from '../arguments.ts';
import { type CommandContext, type Outcome, openStoreAt } from '../context.ts';
import { counted, table } from '../output.ts';

/** A copy of `formatNames`: the readers of all formats are loaded only when an import starts. */
const formats =
  'export, emission-dump, entries, bson, gpx, tcx, kml, google, owntracks, overland, geolife, geojson, csv';

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  new DocumentedCommand('import')
    .examples(`
  mobility import ada                                   (a folder that export wrote)
  mobility import mongodb://127.0.0.1/Stage_database --dry-run
  mobility import dump/Stage_database --user ada@example.org
  mobility import takeout.zip tracks/ --user ada@example.org --create
  mobility import points.csv --user ada@example.org --columns time=when,lat=y,lon=x --zone Europe/Berlin

The format is recognised by the content. An interrupted import can be repeated. All formats: docs/import.md.
Exit code 3: entries were rejected, or a source could not be read to its end; the rest is stored.`)
    .argument('<source...>', 'files, folders, or the address of an e-mission database')
    .option(
      '--user <name>',
      'owner of the data, if the source does not name one; for an e-mission database: import only this user',
    )
    .option('--create', 'register the owner if no user has this name')
    .addOption(new Option('--format <name>', `read every file in this format: ${formats}`).choices(formats.split(', ')))
    .option('--zone <zone>', 'time zone of times that have no offset, such as Europe/Berlin', zoneArgument)
    .option(
      '--columns <names>',
      'names of columns or properties that import does not recognise: time=when,lat=north,lon=east',
      columnsArgument,
    )
    .option('--dry-run', 'read and count, store nothing');

type Options = OptionsOf<typeof flags>;

function columnsArgument(text: string, before: Record<string, string> = {}): Record<string, string> {
  for (const pair of text.split(',')) {
    const [, field, name] = /^(\w+)=(.+)$/.exec(pair.trim()) ?? [];
    if (field === undefined) throw new InvalidArgumentError('Expected names such as time=when,lat=north,lon=east.');
    before[field] = name!;
  }
  return before;
}

async function run(context: CommandContext, sources: readonly string[], options: Options): Promise<Outcome> {
  const { findParts } = await import('../../import/import-formats.ts');
  const { columnNames } = await import('../../import/tracks/fields.ts');
  const { format, zone, columns } = options;
  if (options.create && options.user === undefined)
    throw usageError('expected --create together with --user NAME, found no name');
  const unknown = Object.keys(columns ?? {}).find((name) => !columnNames.some((known) => known === name));
  if (unknown !== undefined)
    throw usageError(`expected --columns to name some of ${columnNames.join(', ')}, found ${JSON.stringify(unknown)}`);
  const { parts, skipped } = await findParts(sources, format, { zone, columns });
  const nameless = parts.find(({ names }) => names === 'none');
  if (nameless !== undefined && options.user === undefined)
    throw usageError(`${nameless.name} (${nameless.format}) does not name its user: add --user NAME`);
  const importTo = (store: Store): Promise<Outcome> => importAll(context, store, parts, skipped, options);
  const mayCreate = parts.every(namesPeople) || options.user === undefined || options.create === true;
  const store = await context.store({ make: mayCreate && !options.dryRun }).catch((error) => {
    if (!options.dryRun || !isMobilityError(error, 'MOBILITY_STORE_ADDRESS')) throw error;
    return null;
  });
  if (store !== null) return importTo(store);
  // A dry run must not create the store, so it compares the sources with an empty temporary store.
  const scratch = await mkdtemp(join(tmpdir(), 'mobility-import-'));
  try {
    const empty = await openStoreAt(scratch, { make: true });
    return await importTo(empty).finally(() => empty.close());
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const namesPeople = ({ names }: Part): boolean => names === 'people';

async function importAll(
  context: CommandContext,
  store: Store,
  parts: readonly Part[],
  skipped: FoundParts['skipped'],
  options: Options,
): Promise<Outcome> {
  const { importParts } = await import('../../import/import-source.ts');
  const whom = options.user === undefined ? null : await findOwner(store, options.user, parts, options.create);
  const signal = context.interruptible();
  const progress = context.output.progress('reading');
  const onProgress = (part: Part, share: number | null, { read }: ImportCounts): void => {
    const percent = share === null ? '' : `${Math.floor(share * 100)} % of `;
    const many = parts.length === 1 ? '' : ` (${parts.indexOf(part) + 1} of ${parts.length})`;
    progress.update(`${percent}${part.name}${many}: ${counted(read, 'entry', 'entries')}`);
  };
  const dry_run = options.dryRun === true;
  const report = await importParts(parts, {
    store,
    now: context.now,
    ...(dry_run ? { dryRun: true } : { log: await context.log('pipeline') }),
    whom,
    signal,
    onProgress,
  });
  for (const { path, found } of skipped.slice(0, maxRows))
    context.output.note(`${path}: unknown format, skipped: ${found}`);
  if (skipped.length > maxRows) context.output.note(`and ${skipped.length - maxRows} more of unknown format`);
  for (const { source, problems } of report.parts)
    for (const problem of problems) context.output.note(`${source}: ${problem}`);
  const passed_over = skipped.map(({ path }) => path);
  const text = reportText(report, dry_run);
  await context.output.result({ store: store.address, dry_run, passed_over, ...report }, text);
  if (report.interrupted) {
    const done = `${Math.max(0, report.parts.length - 1)} of ${counted(parts.length, 'source')}`;
    context.output.note(`interrupted after ${done}: run the same command again to continue`);
    return {};
  }
  if (!dry_run && report.stored > 0) context.output.note('next: mobility pipeline --all');
  return outcomeOf(report, parts, options);
}

async function findOwner(store: Store, name: string, parts: readonly Part[], create = false): Promise<ImportedFor> {
  const user = (await store.users.byEmail(name)) ?? (await store.users.byUuid(name.toLowerCase()));
  if (user !== null || parts.every(namesPeople)) return { name, user };
  if (create) return { name: (await import('../../import/people-tables.ts')).checkedName(name), user, create };
  const next = `register with --create or \`mobility users add ${name}\`, or see \`mobility users list\``;
  throw new MobilityError('MOBILITY_USER_UNKNOWN', `no user ${JSON.stringify(name)} in ${store.address}: ${next}`);
}

function reportText({ parts, users, ...sum }: ImportReport, dryRun: boolean): string {
  const verb = (done: string, planned: string): string => (dryRun ? planned : done);
  const stored = verb('STORED', 'TO STORE');
  const header = ['SOURCE', 'FORMAT', 'READ', stored, 'KNOWN', 'DOUBLED', 'REJECTED', 'LEFT BEHIND'];
  const row = (name: string, format: string, of: ImportCounts): string[] => {
    const counts = [of.read, of.stored, of.known, of.doubled, of.set_aside, of.left_behind];
    return [name, format, ...counts.map((count) => count.toLocaleString('en-US'))];
  };
  const shown = parts.length > maxRows ? parts.filter(hasTrouble).slice(0, maxRows) : parts;
  const rows = shown.map((part) => row(part.source, part.format, part));
  const total = parts.length > 1 ? [row(counted(parts.length, 'source'), '', sum)] : [];
  const lines = users.slice(0, maxRows).map((user) => {
    const entries = `${counted(user.stored, 'entry', 'entries')} ${verb('stored', 'to store')}`;
    const registered = user.registered ? `, ${verb('registered', 'to be registered')}` : '';
    return `${user.user_email} (${user.uuid}): ${entries}, ${user.known.toLocaleString('en-US')} known${registered}`;
  });
  const others = users.length > maxRows ? [`and ${counted(users.length - maxRows, 'other user')}`] : [];
  return [table([header, ...rows, ...total], [2, 3, 4, 5, 6, 7]), ...lines, ...others].join('\n');
}

const maxRows = 20; // the text shows at most this many lines of a kind; `--json` has all

const hasTrouble = (part: PartReport): boolean => part.set_aside > 0 || part.problems.length > 0;

function outcomeOf(report: ImportReport, parts: readonly Part[], options: Options): Outcome {
  const first = report.parts.find(hasTrouble);
  if (first === undefined) {
    if (options.user === undefined || !parts.every(namesPeople) || report.users.length > 0) return {};
    const text = `expected data of ${JSON.stringify(options.user)} in the sources, found none: check the name`;
    throw new MobilityError('MOBILITY_USER_UNKNOWN', text);
  }
  if (report.stored + report.known + report.doubled > 0) return { exitCode: 3 };
  const why = first.problems[0] ?? 'all of its entries were rejected; see `mobility doctor --user NAME`';
  throw new MobilityError('MOBILITY_SOURCE', `nothing could be imported from ${first.source}: ${why}`);
}
