import { createReadStream } from 'node:fs';
import { type FeedFacts, readFeed } from '../../import/add-feed.ts';
import { usageError } from '../../model/mobility-error.ts';
import { localDay } from '../../model/time.ts';
import { checkFeeds, type ListedFeed, lacksOf } from '../../upkeep/check-feeds.ts';
import { allOrNone } from '../../util/file-access.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, listing, table } from '../output.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('transit')
    .examples(`
  mobility transit add muni.zip bart.zip
  mobility transit list`)
    .addCommand(
      new DocumentedCommand('add', 'read GTFS feeds of agencies and keep them as evidence for the analysis')
        .examples(`
  mobility transit add muni.zip bart.zip --dry-run

The next pipeline run derives again the days of people who were near the stops of a feed.`)
        .argument('<zip...>', 'GTFS files')
        .option('--dry-run', 'read and report, store nothing')
        .action(context.run(add)),
    )
    .addCommand(new DocumentedCommand('list', 'list the feeds').action(context.run(list)))
    .addCommand(
      new DocumentedCommand(
        'check',
        'list ended timetables, the data that feeds lack, and counts of stops that no person was near',
      ).action(context.run(check)),
    )
    .addCommand(
      new DocumentedCommand('remove', 'remove feeds; the next pipeline run derives the days near their stops again')
        .argument('<id...>', 'beginnings of ids, see `mobility transit list`')
        .action(context.run(remove)),
    )
    .addCommand(
      new DocumentedCommand('save', 'write the zip of a feed to a file')
        .examples('  mobility transit save 3fa90c12 muni.zip')
        .argument('<id>', 'beginning of an id, see `mobility transit list`')
        .argument('<file>', 'file to create')
        .action(context.run(save)),
    );
}

async function add(context: CommandContext, paths: string[], { dryRun }: { dryRun?: true }): Promise<void> {
  const store = await context.store();
  const known = new Set((await listFeeds(context)).map(({ id }) => id));
  const added: ListedFeed[] = [];
  // All files are read first, so that no feed is stored if one file is invalid.
  const feeds = [];
  for (const path of paths) feeds.push({ path, ...(await readFeed(path, context.now())) });
  for (const { path, id, facts, index } of feeds) {
    if (!dryRun) await store.feeds.add({ id, facts, index }, createReadStream(path));
    added.push({ id, ...facts });
  }
  await context.output.result({ feeds: added }, () => added.map(feedText).join('\n'));
  const fresh = added.filter(({ id }) => !known.has(id)).length;
  const others = fresh < added.length ? `, ${added.length - fresh} known` : '';
  context.output.note(`${counted(fresh, 'feed')} ${dryRun ? 'would be added' : 'added'}${others}`);
}

async function list(context: CommandContext): Promise<void> {
  const feeds = await listFeeds(context);
  const rows = feeds.map(({ id, name, agencies, first_day, last_day, routes, stops }) => {
    return [shortId(id), name, agencies.join(', '), `${first_day}..${last_day}`, routesText(routes), String(stops)];
  });
  const header = ['ID', 'FILE', 'AGENCIES', 'DAYS', 'ROUTES', 'STOPS'];
  await context.output.result({ feeds }, () => listing(header, rows, [5]));
  context.output.note(counted(feeds.length, 'feed'));
}

async function check(context: CommandContext): Promise<void> {
  const today = localDay(context.now(), 'UTC');
  const findings = await checkFeeds(await context.store(), await listFeeds(context), today);
  const rows = findings.map(({ id, name, problem }) => [shortId(id), name, problem]);
  await context.output.result({ findings }, () => table(rows));
  context.output.note(counted(findings.length, 'finding'));
}

async function remove(context: CommandContext, ids: string[]): Promise<void> {
  const store = await context.store();
  const feeds = await listFeeds(context);
  const chosen = ids.map((start) => chooseFeed(feeds, start));
  for (const { id } of chosen) await store.feeds.remove(id);
  const texts = chosen.map(({ id, name }) => `${shortId(id)} ${name}`);
  await context.output.result({ removed: chosen.map(({ id }) => id) }, texts.join('\n'));
  context.output.note(`${counted(chosen.length, 'feed')} removed`);
}

async function save(context: CommandContext, start: string, file: string): Promise<void> {
  const { feeds } = await context.store();
  const { id } = chooseFeed(await listFeeds(context), start);
  await allOrNone(({ write }) =>
    write(file, async (zip) => {
      let part = await feeds.part(id, 1);
      for (let number = 2; part !== null; part = await feeds.part(id, number++)) await zip.write(part);
    }),
  );
  await context.output.result({ id, file }, file);
}

function chooseFeed(feeds: readonly ListedFeed[], start: string): ListedFeed {
  const found = feeds.filter(({ id }) => id.startsWith(start));
  if (found.length === 1) return found[0]!;
  throw usageError(`expected one feed with an id ${start}…, found ${found.length}: see \`mobility transit list\``);
}

async function listFeeds(context: CommandContext): Promise<ListedFeed[]> {
  const found = await (await context.store()).feeds.list();
  return found.flatMap(({ id, facts }) => (facts === null ? [] : [{ id, ...(facts as unknown as FeedFacts) }]));
}

const shortId = (id: string): string => id.slice(0, 8);

const routesText = (routes: FeedFacts['routes']): string =>
  Object.entries(routes)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ');

function feedText(feed: ListedFeed): string {
  const index = `index of ${Math.ceil(feed.index_bytes / 1024)} KiB`;
  const [south, west, north, east] = feed.box.map((degrees) => degrees.toFixed(2));
  return [
    `${shortId(feed.id)} ${feed.name}: ${feed.agencies.join(', ')}`,
    `  days ${feed.first_day} to ${feed.last_day}`,
    `  routes: ${routesText(feed.routes)}; ${feed.patterns} patterns, ${feed.stops} stops, ${index}`,
    `  from ${south}, ${west} to ${north}, ${east} degrees`,
    ...lacksOf(feed.notes).map((text) => `  ${text}`),
  ].join('\n');
}
