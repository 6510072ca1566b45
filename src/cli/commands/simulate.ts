import { writeFile } from 'node:fs/promises';
import { Option } from '@commander-js/extra-typings';
import { putBatch } from '../../intake/put-batch.ts';
import type { Entry } from '../../model/entry.ts';
import { usageError } from '../../model/mobility-error.ts';
import type { StudyRecord } from '../../model/study.ts';
import { addDays, localDay } from '../../model/time.ts';
import { simulateDays } from '../../simulate/simulate-day.ts';
import { simulateMember } from '../../simulate/simulate-study.ts';
import { townFeed } from '../../simulate/town-feed.ts';
import { everyUser } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import { refuseExisting } from '../../util/file-access.ts';
import { DocumentedCommand, dayArgument, dayIn, type OptionsOf, wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { newStudy } from './study.ts';

export const command = (context: CommandContext) => flags().action(context.run(simulate));

const flags = () =>
  new DocumentedCommand('simulate')
    .examples(`
  mobility simulate --users 10 --days 7
  mobility simulate --study sunny --users 20 --days 30
  mobility simulate --study sunny --feed town.zip

People are named sim-<seed>-1@example.org and so on.`)
    .option('--users <n>', 'number of people', wholeNumber(1, 100_000), 2)
    .option('--days <n>', 'number of days for each person', wholeNumber(1, 3660), 1)
    .option('--from <day>', 'first local day; default: chosen so that the last day is yesterday', dayArgument)
    .option('--seed <text>', 'text that decides who is simulated: the same seed gives the same people and days', 'demo')
    .addOption(new Option('--platform <name>', 'kind of phones').choices(['android', 'ios', 'both']).default('both'))
    .option(
      '--study <name>',
      'as members of a study, in one town, with labels, answers and corrections; creates the study if there is none. ' +
        'Four of the people have a problem: no data ever, silent, refused, no locations',
    )
    .option('--feed <file>', 'with --study: write the buses and trains of the town to a new GTFS file')
    .option('--among-others', 'allow a store that has people who are not simulated');

async function simulate(context: CommandContext, options: OptionsOf<typeof flags>): Promise<Outcome> {
  const { users, days, seed } = options;
  const [now, zone] = [context.now(), context.zone];
  const from = options.from ? dayIn(options.from, now, zone) : addDays(localDay(now, zone), -days);
  const store = await simulatedStore(context, options.amongOthers);
  const study = options.study === undefined ? null : await findOrCreateStudy(context, options.study);
  if (options.feed !== undefined) {
    if (study === null) throw usageError('expected --study NAME with --feed, found --feed alone');
    await refuseExisting(options.feed);
    const seeds = Array.from({ length: users }, (_, i) => `${seed}-${i + 1}`);
    await writeFile(options.feed, townFeed(seeds, from));
  }
  const signal = context.interruptible();
  const progress = context.output.progress('starting');
  const rows: { user_email: string; platform: string; days: number; entries: number; new: number }[] = [];
  for (let i = 1; i <= users && !signal.aborted; i++) {
    const user_email = `sim-${seed}-${i}@example.org`;
    const platform = options.platform === 'both' ? (i % 2 === 1 ? 'android' : 'ios') : options.platform;
    const row = { user_email, platform, days: 0, entries: 0, new: 0 };
    const person = { seed: `${seed}-${i}`, platform } as const;
    const pushes =
      study === null
        ? pushDays(context, store, user_email, simulateDays({ ...person, day: from }, days))
        : simulateMember(store, study, { ...person, number: i, of: users, name: user_email }, { from, days, now });
    for await (const { entries, inserted } of pushes) {
      row.new += inserted;
      if (row.days === 0) rows.push(row);
      row.days += 1;
      row.entries += entries;
      progress.update(`${i} of ${users}: ${user_email}`);
      if (signal.aborted) break;
    }
  }
  const cells = rows.map((row) => [row.user_email, row.platform, String(row.entries), String(row.new)]);
  await context.output.result({ from, to: addDays(from, days - 1), users: rows }, () =>
    table([['USER', 'PHONE', 'ENTRIES', 'NEW'], ...cells], [2, 3]),
  );
  const pushed = rows.reduce((sum, row) => sum + row.days, 0);
  if (pushed < users * days) {
    // If the command is repeated tomorrow, the default of --from is another day.
    const next = `run the same command again with --from ${from} to continue`;
    const some = `${pushed.toLocaleString('en-US')} of ${counted(users * days, 'day')}`;
    context.output.note(`interrupted: the phones pushed ${some}, which stay in the store; ${next}`);
    return {};
  }
  context.output.note(`${counted(days, 'day')} from ${from} on; next: mobility pipeline --all`);
  return { exitCode: 0 };
}

async function* pushDays({ now }: CommandContext, store: Store, name: string, days: Iterable<Entry[]>) {
  const { user } = await store.users.register(name, { now: now() });
  for (const entries of days)
    yield { entries: entries.length, inserted: (await putBatch(user.uuid, entries, { store, now })).inserted };
}

async function findOrCreateStudy(context: CommandContext, name: string): Promise<StudyRecord> {
  const { studies } = await context.store();
  const found = await studies.byName(name);
  if (found !== null) return found;
  const study = await newStudy(context, name);
  await studies.put(study);
  return { ...study, joins: 0 };
}

async function simulatedStore(context: CommandContext, amongOthers = false): Promise<Store> {
  const store = await context.store({ make: true });
  for await (const { user_email } of amongOthers ? [] : everyUser(store)) {
    if (/^sim-.*-\d+@example\.org$/.test(user_email)) continue;
    const next = 'name another store with --store, or add --among-others';
    throw usageError(`expected a store of simulated people only, found others in ${store.address}: ${next}`);
  }
  return store;
}
