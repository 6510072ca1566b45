import { Help } from '@commander-js/extra-typings';
import { everyLinkAndDraft } from '../../diary/corrections/corrected-trips.ts';
import {
  type ExplainedPart,
  explainDay,
  type PhoneReading,
  partsAt,
  readReadings,
} from '../../diary/explain/explain-day.ts';
import { clockText } from '../../diary/number-text.ts';
import { readDays } from '../../diary/read-days.ts';
import { keys } from '../../model/keys.ts';
import { formatForPeople } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import { clockArgument, DocumentedCommand, dayArgument, type OptionsOf, resolveDay } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted } from '../output.ts';

export const command = (context: CommandContext) => flags().action(context.run(explain));

const flags = () =>
  new DocumentedCommand('explain')
    .examples(`
  mobility explain --user ada@example.org --day 2024-03-12
  mobility explain --user ada@example.org --day 2024-03-12 --at 14:20

Reads what is stored with the trips, and analyses nothing. docs/pipeline.md has the rules.`)
    .requiredOption('--user <name>', 'name or UUID of the user')
    .requiredOption('--day <day>', 'local day', dayArgument)
    .option('--at <time>', 'only the parts at this local time, such as 14:20', clockArgument);

const margin = 86_400; // s; data before and after the day are read, because links can cross midnight

async function explain(context: CommandContext, { at, ...options }: OptionsOf<typeof flags>): Promise<void> {
  const user = await context.findUser(options.user);
  const day = await resolveDay(context, user, options.day);
  const store = await context.store();
  const [shown] = await readDays(store, user, { from: day, to: day }, context.now());
  const { observed } = shown!;
  const around = { from: observed.from - margin, to: observed.to + margin };
  const records: TripRecord[] = [];
  for await (const link of everyLinkAndDraft(store, user.uuid, around)) records.push(link);
  const { locations_from, complete_until } = await store.pipeline.get(user.uuid);
  const readings = await readReadings(store, user.uuid, around, locations_from ?? keys.location);
  const all = explainDay({ records, observed, zone: observed.zone, readings });
  const parts = at === undefined ? all : partsAt(all, at);
  const zones = [...new Set(parts.map(({ zone }) => zone))];
  // A day is a draft until its last second is final.
  const isDraft = observed.from <= context.now() && (complete_until ?? 0) < observed.to - 1;
  const draft = isDraft ? draftText(complete_until, parts.at(-1)?.zone ?? observed.zone) : null;
  await context.output.result({ user_id: user.uuid, day, complete_until, parts }, () => {
    const { bold, dim, columns } = context.output;
    const title = `${bold(user.user_email)}  ${day}  ${dim(`times of ${zones.join(', ')}`)}`;
    const texts = parts.map((part) => partText(part, bold, columns));
    return [title, ...texts, ...(draft === null ? [] : [draft])].join('\n\n');
  });
}

function draftText(completeUntil: number | null, zone: string): string {
  const settles = 'the day becomes final when the next trip, or a later one, has ended';
  if (completeUntil === null) return `draft: no trip has ended yet; ${settles}`;
  const time = formatForPeople(completeUntil, zone, 'D MMMM HH:mm');
  return `draft since ${time}: the user arrived then, and later data may still change what follows; ${settles}`;
}

function partText(part: ExplainedPart, bold: (text: string) => string, width: number): string {
  const { kind, from, to, zone, title, reasons } = part;
  const lines = reasons.flatMap(({ about, rule, text, readings = [] }) => [
    ...wrapped(`${rule === null ? '' : `[${rule}] `}${text}`, width - indent).map((line, i) => [
      i === 0 ? about : '',
      line,
    ]),
    ...wrapped(readingsText(readings, zone), width - indent).map((line) => ['', line]),
  ]);
  const times = `${clockText(from, zone)}-${clockText(to, zone)}`;
  return [
    bold(`${times}  ${kind}${title === '' ? '' : `: ${title}`}`),
    ...lines.map(([about = '', line = '']) => `  ${about.padEnd(indent - 2)}${line}`),
  ].join('\n');
}

const indent = 13;

/** Returns `within 5 min the phone sent: 07:52:10 exited geofence, 12 locations, walking 4`. */
function readingsText(readings: readonly PhoneReading[], zone: string): string {
  if (readings.length === 0) return '';
  const events: string[] = [];
  const counts: Record<string, number> = {};
  for (const { kind, ts, word } of readings)
    if (kind === 'phone') events.push(`${formatForPeople(ts, zone, 'HH:mm:ss')} ${word}`);
    else counts[word] = (counts[word] ?? 0) + 1;
  const { location = 0, ...motions } = counts;
  const times = [
    ...(location > 0 ? [counted(location, 'location')] : []),
    ...Object.entries(motions).map(([word, count]) => `${word} ${count}`),
  ];
  return `within 5 min the phone sent: ${[...events, ...times].join(', ')}`;
}

const wrapped = (text: string, width: number): string[] =>
  text === '' ? [] : new Help().boxWrap(text, width).split('\n');
