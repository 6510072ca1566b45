import { everyCorrectedLink } from '../../diary/corrections/corrected-trips.ts';
import { type LabelName, labelEntries, labelWord } from '../../diary/labels/label-entries.ts';
import { inputTexts } from '../../diary/labels/label-text.ts';
import { readLabels } from '../../diary/labels/load-labels.ts';
import { putBatch } from '../../intake/put-batch.ts';
import { usageError } from '../../model/mobility-error.ts';
import { formatForPeople } from '../../model/time.ts';
import type { Trip } from '../../model/trip.ts';
import { packageVersion } from '../../util/program-version.ts';
import { DocumentedCommand, type OptionsOf } from '../arguments.ts';
import type { CommandContext } from '../context.ts';

export const command = (context: CommandContext) => flags().action(context.run(label));

const flags = () =>
  new DocumentedCommand('label')
    .examples(`
  mobility diary --user ada@example.org --day 2024-03-12 --ids
  mobility label --user ada@example.org --trip 65f0a1c2d3e4f5a6b7c8d9e0 --mode bus --purpose work

Labels are stored in lower case with underscores, as the app writes them. The newest label of a trip counts, whether the app or this command wrote it.`)
    .requiredOption('--user <name>', 'name or UUID of the user')
    .requiredOption('--trip <id>', 'id of the trip, as `diary` shows it')
    .option('--mode <mode>', 'travel mode, such as bus or e_bike')
    .option('--purpose <purpose>', 'purpose of the trip, such as work or shopping')
    .option('--replaced <mode>', 'mode that the user would have used otherwise');

async function label(context: CommandContext, options: OptionsOf<typeof flags>): Promise<void> {
  const words: Partial<Record<LabelName, string>> = {};
  for (const name of ['mode', 'purpose', 'replaced'] as const)
    if (options[name] !== undefined) words[name] = checkedLabel(options[name], name);
  if (Object.keys(words).length === 0) throw usageError('expected --mode, --purpose or --replaced, found none');
  const user = await context.findUser(options.user);
  const store = await context.store();
  const trip = await findTrip(context, user.uuid, options.trip);
  if (trip === null) {
    const see = `\`mobility diary --user ${user.user_email} --day DAY --ids\` shows the ids`;
    throw usageError(`expected the id of a trip of ${user.user_email}, found ${options.trip}; ${see}`);
  }
  const { start_ts, end_ts, start_zone: zone } = trip;
  const origin = { program: 'mobility label', version: packageVersion() };
  const entries = labelEntries(trip, words, { origin, now: context.now() });
  await putBatch(user.uuid, entries, { store, now: context.now });
  const input = (await readLabels(store, user.uuid, { from: start_ts, to: end_ts })).ofTrip(start_ts);
  const texts = inputTexts(input);
  await context.output.result({ user_email: user.user_email, trip: trip.id, start_ts, end_ts, said: texts }, () => {
    const when = formatForPeople(start_ts, zone, 'dddd D MMMM YYYY HH:mm');
    const labels = Object.entries(texts).map(([name, text]) => `${name} ${text}`);
    return `${user.user_email}, ${when}: ${labels.join(', ')}`;
  });
}

function checkedLabel(given: string, name: string): string {
  const word = labelWord(given);
  if (word !== null) return word;
  throw usageError(`expected 1 to 100 characters for --${name}, found ${given.trim().length}`);
}

async function findTrip(context: CommandContext, userId: string, id: string): Promise<Trip | null> {
  for await (const { trip } of everyCorrectedLink(await context.store(), userId)) if (trip?.id === id) return trip;
  return null;
}
