// `mobility debug-bundle`: a day as a case for whoever maintains the program, without anything of the person.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Command } from 'commander';
import { lookAround } from '../../analysis/segmenter.ts';
import { modeText } from '../../diary/day-summary.ts';
import { clockText, distanceText } from '../../diary/number-text.ts';
import { readObservedDays } from '../../diary/observed-time.ts';
import {
  type Bundle,
  type BundleSource,
  bundleKeys,
  bundleOf,
  differencesOf,
  type TripDifference,
} from '../../evaluate/bundle.ts';
import { putBatch } from '../../intake/put-batch.ts';
import { silentLog } from '../../log/log.ts';
import type { Entry } from '../../model/entry.ts';
import { keys } from '../../model/keys.ts';
import { usageError } from '../../model/mobility-error.ts';
import { isPhone, sourceOf } from '../../model/sources.ts';
import type { TimeRange } from '../../model/time.ts';
import type { Trip } from '../../model/trip.ts';
import { withoutExcluded } from '../../pipeline/excluded-entries.ts';
import { runPipeline } from '../../pipeline/run-pipeline.ts';
import { everyEntry, everyLink } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import { allOrNone, makeFolder } from '../../util/file-access.ts';
import { type DayAsked, dayArgument, dayMeant } from '../arguments.ts';
import { type CommandContext, type Outcome, openStoreAt } from '../context.ts';
import { counted, table } from '../output.ts';

interface Options {
  user: string;
  day: DayAsked;
  out: string;
  verify?: true;
}

/** Writes a case that anybody may see and that gives the same trips. */
export function debugBundleCommand(context: CommandContext): Command {
  return new Command('debug-bundle')
    .requiredOption('--user <name>', 'name or UUID of the user')
    .requiredOption('--day <day>', 'local day', dayArgument)
    .requiredOption('--out <folder>', 'folder to write the case into')
    .option('--verify', 'show how near the trips of the case are to those of the diary')
    .addHelpText(
      'after',
      `
Examples:
  mobility debug-bundle --user ada@example.org --day 2024-03-12 --out case
  mobility evaluate --cases case

The case is tried on an empty store; exit code 3: some of its trips differ. docs/cli.md says what it protects and what not.`,
    )
    .action(context.run((options: Options) => write(context, options)));
}

/** Neighbours of the day, trips on either side, whose entries a case has: more if fewer do not give the same trips. */
const margins = [1, 2, 4, 8, 16];
/** Turns tried with each: trips at a threshold may fall on the other side of it. */
const turnsEach = 4;
/**
 * How far turns go: the plane of the analysis distorts long ways by latitude, so that nearer ones keep more trips as
 * they are.
 */
const reaches = [1, 0.1];

async function write(context: CommandContext, { user: name, day: asked, out, verify }: Options): Promise<Outcome> {
  const { uuid } = await context.findUser(name);
  const day = await dayMeant(context, { uuid }, asked);
  const store = await context.store();
  const {
    days: [observed],
  } = await readObservedDays(store, uuid, { from: day, to: day });
  const range = { from: observed!.from, to: observed!.to };
  const found = await store.timeseries.find(uuid, { time: 'ts', keys: bundleKeys, ...range, limit: 1 });
  if (found.entries.length === 0) {
    const text = `expected a day with entries, found none on ${day}: \`mobility days --user ${name}\` lists the days`;
    throw usageError(text);
  }
  const trips = await tripsWithin(store, uuid, range);
  const { bundle, differences } = await findCase(context, uuid, { day, range, trips });
  const files = await writeCase(out, bundle);
  const entries = bundle.put.phone_to_server.length;
  const rows = differences.map(({ most_s, metres, isAlike }, i) => {
    const near = isAlike ? 'same' : 'differs';
    const { start_ts, start_zone, sections, distance } = trips[i] ?? trips[0]!;
    const modes = sections.map(({ sensed_mode }) => modeText(sensed_mode)).join(', ');
    const times = `times within ${most_s.toFixed(1)} s, length within ${metres.toFixed(1)} m`;
    return [clockText(start_ts, start_zone), modes, distanceText(distance), near, times];
  });
  const result = { user_id: uuid, day, files, entries, trips: differences };
  await context.output.result(result, [...files, ...(verify ? [table(rows, [2])] : [])].join('\n'));
  const other = differences.filter(({ isAlike }) => !isAlike).length;
  const same = other === 0 ? 'the same trips' : `${counted(other, 'other trip')}, see --verify`;
  context.output.note(`${counted(entries, 'entry', 'entries')}: on an empty store they give ${same}`);
  return other === 0 ? {} : { exitCode: 3 };
}

type Day = Pick<BundleSource, 'day' | 'range' | 'trips'>;

interface Found {
  bundle: Bundle;
  differences: TripDifference[];
}

/** A case that was seen to give the trips of the day; the nearest to it if none does. */
async function findCase(context: CommandContext, userId: string, day: Day): Promise<Found> {
  const store = await context.store();
  context.output.progress('moving the day');
  const signal = context.interruptible();
  const other = ({ differences }: Found): number => differences.filter(({ isAlike }) => !isAlike).length;
  let best: Found | null = null;
  for (const reach of reaches) {
    for (const margin of margins) {
      const entries = await entriesAround(store, userId, day.range, margin);
      for (let turn = 0; turn < turnsEach; turn += 1) {
        signal.throwIfAborted();
        const bundle = bundleOf({ ...day, entries, now: context.now(), random, reach });
        const found = {
          bundle,
          differences: differencesOf(day.trips, await tripsOf(bundle, context.now), bundle.moved),
        };
        if (best === null || other(found) < other(best)) best = found;
        if (other(best) === 0) return best;
      }
    }
  }
  return best!;
}

const random = (): number => randomBytes(6).readUIntBE(0, 6) / 2 ** 48;

/** The trips that touch a time, in order, as the analysis left them. */
async function tripsWithin(store: Store, userId: string, { from, to }: TimeRange): Promise<Trip[]> {
  const trips: Trip[] = [];
  const around = { from: from - 7 * 86_400, to: to + 86_400 };
  for await (const { trip } of everyLink(store, userId, around))
    if (trip !== null && trip.start_ts < to && trip.end_ts > from) trips.push(trip);
  return trips;
}

/** The entries of a day and of so many trips before and after it. */
async function entriesAround(store: Store, userId: string, range: TimeRange, margin: number): Promise<Entry[]> {
  let [from, to] = [range.from, range.to];
  for (let i = 0; i < margin; i += 1) {
    from = (await store.trips.previous(userId, from))?.chain_ts ?? -Number.MAX_VALUE;
    const next = await store.trips.next(userId, to);
    to = next === null ? Number.MAX_VALUE : Math.max(next.chain_ts, next.settled_ts ?? Number.MAX_VALUE);
  }
  const { locations_from, set_aside } = await store.pipeline.get(userId);
  const query = { keys: bundleKeys, time: 'ts', from: from - lookAround, to: to + lookAround, limit: 5000 } as const;
  const entries: Entry[] = [];
  for await (const entry of everyEntry(withoutExcluded(store.timeseries, set_aside), userId, query))
    if (entry.metadata.key !== keys.location || locations_from !== keys.filteredLocation || !isPhone(sourceOf(entry)))
      entries.push(entry);
  return entries;
}

/** The trips of a case on an empty store. */
async function tripsOf({ put, truth }: Bundle, now: () => number): Promise<Trip[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-case-'));
  const store = await openStoreAt(`sqlite:${folder}`, { make: true });
  try {
    const { user } = await store.users.register('case', { now: now() });
    await putBatch(user.uuid, put.phone_to_server, { store, now });
    await runPipeline(store, user.uuid, { log: silentLog, now });
    return await tripsWithin(store, user.uuid, { from: truth.range.start_ts, to: truth.range.end_ts });
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes the two files of a case, under a name that says nothing. */
async function writeCase(out: string, { put, truth }: Bundle): Promise<string[]> {
  makeFolder(out);
  const name = join(out, `case-${randomBytes(4).toString('hex')}`);
  const [entries, said] = [`${name}.put.json.gz`, `${name}.truth.json`];
  await allOrNone(async ({ write: file }) => {
    await file(entries, (writer) => writer.write(gzipSync(JSON.stringify(put))));
    await file(said, (writer) => writer.write(`${JSON.stringify(truth, null, 2)}\n`));
  });
  return [entries, said];
}
