import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { modeText } from '../../diary/mode-text.ts';
import { clockText, distanceText } from '../../diary/number-text.ts';
import { readObservedDays } from '../../diary/observed-time.ts';
import { type Bundle, bundleKeys } from '../../evaluate/bundle.ts';
import { findCase, readTripsWithin } from '../../evaluate/find-case.ts';
import { usageError } from '../../model/mobility-error.ts';
import { allOrNone, makeFolder } from '../../util/file-access.ts';
import { DocumentedCommand, dayArgument, type OptionsOf, resolveDay } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';

export const command = (context: CommandContext) => flags().action(context.run(write));

const flags = () =>
  new DocumentedCommand('debug-bundle')
    .examples(`
  mobility debug-bundle --user ada@example.org --day 2024-03-12 --out case
  mobility evaluate --cases case

Exit code 3: on an empty store, the case gives other trips. docs/cli.md says which data the case hides.`)
    .requiredOption('--user <name>', 'name or UUID of the user')
    .requiredOption('--day <day>', 'local day', dayArgument)
    .requiredOption('--out <folder>', 'folder to write the case into')
    .option('--verify', 'compare the trips of the case with the trips of the diary');

async function write(context: CommandContext, options: OptionsOf<typeof flags>): Promise<Outcome> {
  const { user: name, out, verify } = options;
  const { uuid } = await context.findUser(name);
  const day = await resolveDay(context, { uuid }, options.day);
  const store = await context.store();
  const { days } = await readObservedDays(store, uuid, { from: day, to: day });
  const range = { from: days[0]!.from, to: days[0]!.to };
  const found = await store.timeseries.find(uuid, { time: 'ts', keys: bundleKeys, ...range, limit: 1 });
  if (found.entries.length === 0) {
    const text = `expected a day with entries, found none on ${day}: \`mobility days --user ${name}\` lists the days`;
    throw usageError(text);
  }
  const trips = await readTripsWithin(store, uuid, range);
  context.output.progress('moving the day');
  const tools = { now: context.now, signal: context.interruptible() };
  const { bundle, differences } = await findCase(store, uuid, { day, range, trips }, tools);
  const { files, entries } = await writeCase(out, bundle);
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

async function writeCase(out: string, { put, truth }: Bundle): Promise<{ files: string[]; entries: number }> {
  makeFolder(out);
  const name = join(out, `case-${randomBytes(4).toString('hex')}`);
  const [entries, truthFile] = [`${name}.put.json.gz`, `${name}.truth.json`];
  let count = 0;
  await allOrNone(async ({ write: file }) => {
    await file(entries, async (writer) => {
      const pieces = [`{"platform":${JSON.stringify(put.platform)},"phone_to_server":[`];
      for (const entry of put.phone_to_server) {
        pieces.push(count === 0 ? '' : ',', JSON.stringify(entry));
        count += 1;
        // Compresses 1,000 entries at a time: readers of gzip accept several parts in a file.
        if (count % 1000 === 0) await writer.write(gzipSync(pieces.splice(0).join('')));
      }
      await writer.write(gzipSync(`${pieces.join('')}]}`));
    });
    await file(truthFile, (writer) => writer.write(`${JSON.stringify(truth, null, 2)}\n`));
  });
  return { files: [entries, truthFile], entries: count };
}
