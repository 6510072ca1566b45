import { join } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { minuteText } from '../../diary/number-text.ts';
import { usageError } from '../../model/mobility-error.ts';
import {
  countMember,
  defaultSubgroup,
  isStudyName,
  isSubgroupName,
  joinNameOf,
  noMembers,
  readStudyToken,
  type StudyRecord,
  type StudySettings,
  subgroupsOf,
} from '../../model/study.ts';
import { configFileName, configFlaws, studyConfig } from '../../model/study-config.ts';
import { tokenHash } from '../../model/user.ts';
import { everyUser } from '../../store/paging.ts';
import { fileJson, replaceFile } from '../../util/file-access.ts';
import { languages } from '../../web/pages/texts/texts.ts';
import { DocumentedCommand, type OptionsOf, phoneAddress, repeated, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, listing, table, withZone } from '../output.ts';
import { changeStudy, findStudy, nameError } from '../user-options.ts';
import { inviteCommand, linkCommand, newLinkCommand, studyTokensCommand } from './study-access.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('study')
    .examples(`
  mobility study create sunny --subgroup west --subgroup east
  mobility study config sunny --server https://mobility.example.org --out .
  mobility study link sunny --subgroup west --qr`)
    .addCommand(createFlags().action(context.run(create)))
    .addCommand(new DocumentedCommand('list', 'list the studies').action(context.run(list)))
    .addCommand(
      new DocumentedCommand('show', 'show a study, its members by subgroup, and who joined in the last hour')
        .argument('<name>', 'name of the study')
        .action(context.run(show)),
    )
    .addCommand(openCommand(context, 'close', false))
    .addCommand(openCommand(context, 'open', true))
    .addCommand(removeCommand(context))
    .addCommand(readmitCommand(context))
    .addCommand(configFlags().action(context.run(configure)))
    .addCommand(linkCommand(context))
    .addCommand(newLinkCommand(context))
    .addCommand(studyTokensCommand(context))
    .addCommand(inviteCommand(context));
}

const joiningOf = ({ open, joining }: Pick<StudySettings, 'open' | 'joining'>): string =>
  open ? (joining === 'open' ? 'open' : 'by list') : 'closed';

const defaults = { hourLimit: 200, totalLimit: 10_000 };

const createFlags = () =>
  new DocumentedCommand('create', 'create an open study, or replace the settings of an existing one')
    .examples('  mobility study create sunny --subgroup west --subgroup east --total-limit 500')
    .argument('<name>', 'name of the study: lower case letters, digits, hyphens')
    .option('--subgroup <name>', 'a subgroup that people join (repeatable); default: one for all people', repeated)
    .option('--list', 'only people with a token from `mobility study tokens` can join')
    .option('--hour-limit <n>', 'most new people per hour', wholeNumber(1, 1_000_000), defaults.hourLimit)
    .option('--total-limit <n>', 'most people in total', wholeNumber(1, 10_000_000), defaults.totalLimit)
    .option('--listed', 'list the study on the home page of the server')
    .addOption(
      new Option(
        '--language <code>',
        'language of invitations, and of texts for readers of other languages; default: en',
      ).choices(Object.keys(languages)),
    )
    .option('--show-names', 'show the names of people to the managers of the study; default: pseudonyms');

type CreateOptions = OptionsOf<typeof createFlags>;

async function create(context: CommandContext, name: string, options: CreateOptions): Promise<void> {
  const { studies } = await context.store({ make: true });
  const before = await studies.byName(name);
  const settings = await newStudy(context, name, options, before);
  if (before !== null) await refuseLosses(context, before, settings);
  await studies.put(settings);
  await context.output.result({ ...settings, created: before === null }, name);
  for (const note of createdNotes(before, settings)) context.output.note(note);
}

/** Makes the settings of a new study, or of `before` with new options. */
export async function newStudy(
  context: CommandContext,
  name: string,
  options: CreateOptions = defaults,
  before: StudyRecord | null = null,
): Promise<StudySettings> {
  if (!isStudyName(name)) throw nameError('a name of up to 40 lower case letters, digits and hyphens', name);
  const asked = options.subgroup;
  const wrong = asked?.find((subgroup) => !isSubgroupName(subgroup));
  if (wrong !== undefined)
    throw nameError('a subgroup of up to 40 letters, digits and hyphens other than "test"', wrong);
  const taken = before === null ? await (await context.store()).studies.byJoinName(name) : null;
  // If another study has or had this name, links to that study would lead to the new one.
  if (taken !== null)
    throw usageError(`expected a new name, found ${name}, which the study ${taken.name} has or had: choose another`);
  const language = options.language ?? before?.language;
  return {
    name,
    join_names: before?.join_names ?? [name],
    subgroups: asked === undefined ? (before?.subgroups ?? []) : [...new Set(asked)],
    joining: options.list ? 'list' : 'open',
    open: true,
    hour_limit: options.hourLimit,
    total_limit: options.totalLimit,
    ...(options.listed && { listed: true }),
    ...(options.showNames && { show_names: true }),
    ...(language !== undefined && { language }),
    ...(before?.export_key !== undefined && { export_key: before.export_key }),
    created_ts: before?.created_ts ?? context.now(),
    config: before?.config ?? null,
  };
}

/** Refuses to remove a subgroup with members: on a new phone, their tokens would not work. */
async function refuseLosses(context: CommandContext, before: StudyRecord, after: StudySettings): Promise<void> {
  const { people } = await membersOf(context, before);
  const lost = subgroupsOf(before).filter((one) => people[one]! > 0 && !subgroupsOf(after).includes(one));
  if (lost.length === 0) return;
  const found = lost.map((one) => `--subgroup ${one} (${counted(people[one]!, 'person', 'people')})`).join(', ');
  throw usageError(`expected a --subgroup for each subgroup that has members, found no ${found}: add it`);
}

const factsOf = (study: StudySettings): Record<string, string | number> => ({
  joining: joiningOf(study),
  subgroups: subgroupsOf(study).join(', '),
  'hour limit': study.hour_limit,
  'total limit': study.total_limit,
  'on the home page': study.listed ? 'listed' : 'not listed',
  names: study.show_names ? 'shown' : 'pseudonyms',
});

function createdNotes(before: StudyRecord | null, after: StudySettings): string[] {
  if (before === null) return ['created; next: mobility study config'];
  const [was, is] = [factsOf(before), factsOf(after)];
  const changes = Object.keys(is).filter((name) => was[name] !== is[name]);
  const texts = changes.map((name) => `${name}: ${was[name]} before, now ${is[name]}`);
  const outdated = before.config !== null && changes.includes('subgroups');
  return [
    ['the study existed: settings replaced', ...texts].join('; '),
    ...(outdated ? [`the configuration has the earlier subgroups: run mobility study config ${after.name} again`] : []),
  ];
}

async function list(context: CommandContext): Promise<void> {
  const store = await context.store();
  const studies = await store.studies.list();
  const counts = new Map(studies.map(({ name }) => [name, noMembers()]));
  for await (const user of everyUser(store)) {
    const count = counts.get(user.study ?? '');
    if (count !== undefined) countMember(count, user, context.now());
  }
  const shown = studies.map(({ config, ...study }) => {
    return { ...study, ...counts.get(study.name)!, config_version: config?.version ?? null };
  });
  const rows = shown.map((study) => {
    const { name, members, config_version: version } = study;
    return [name, joiningOf(study), subgroupsOf(study).join(', '), String(members), String(version ?? 'none')];
  });
  const header = ['NAME', 'JOINING', 'SUBGROUPS', 'MEMBERS', 'CONFIGURATION'];
  await context.output.result({ studies: shown }, () => listing(header, rows, [3]));
  context.output.note(counted(rows.length, 'study', 'studies'));
}

async function membersOf(context: CommandContext, study: StudyRecord) {
  const people: Record<string, number> = Object.fromEntries(subgroupsOf(study).map((subgroup) => [subgroup, 0]));
  const count = noMembers();
  for await (const user of everyUser(await context.store())) {
    if (user.study !== study.name) continue;
    countMember(count, user, context.now());
    const subgroup = user.subgroup ?? defaultSubgroup;
    people[subgroup] = (people[subgroup] ?? 0) + 1;
  }
  return { people, count };
}

async function show(context: CommandContext, name: string): Promise<void> {
  const study = await findStudy(context, name);
  const { people, count } = await membersOf(context, study);
  const rows = [
    ['joining', joiningOf(study)],
    ['created', minuteText(study.created_ts, context.zone)],
    ['name for joining', joinNameOf(study)],
    ['members', `${count.members} of ${study.total_limit}; ${study.joins} joined so far`],
    ['joined in the last hour', `${count.joined_last_hour} of ${study.hour_limit}`],
    ['never pushed', String(count.never_pushed)],
    ['configuration', study.config === null ? 'none: mobility study config' : `version ${study.config.version}`],
    ...Object.entries(people).map(([subgroup, count]) => [`people in ${subgroup}`, String(count)]),
  ];
  await context.output.result({ ...study, ...count, people }, withZone(table(rows), context.zone));
}

function openCommand(context: CommandContext, word: 'open' | 'close', open: boolean) {
  const description = open ? 'let new people join again' : 'stop new people from joining; members are served as before';
  return new DocumentedCommand(word, description).argument('<name>', 'name of the study').action(
    context.run(async (_, name) => {
      await changeStudy(context, await findStudy(context, name), { open });
      await context.output.result({ name, open }, name);
      context.output.note(open ? 'open' : 'closed');
    }),
  );
}

const configFlags = () =>
  new DocumentedCommand('config', 'create, check and write the configuration that the app reads for a study')
    .examples('  mobility study config sunny --file texts.json --server https://mobility.example.org --out .')
    .argument('<name>', 'name of the study')
    .option(
      '--file <file>',
      'JSON with texts, surveys and labels for the configuration; fields that it leaves out keep their values',
    )
    .option('--server <url>', 'address of the server for phones; default: MOBILITY_PUBLIC_URL')
    .option('--out <folder>', 'folder for the file <name for joining>.nrel-op.json; default: standard output');

async function configure(context: CommandContext, name: string, options: OptionsOf<typeof configFlags>): Promise<void> {
  const study = await findStudy(context, name);
  const address = phoneAddress(options.server, context.config().publicUrl);
  const given = options.file === undefined ? {} : await fileJson(options.file);
  const config = studyConfig(study, { address, given, now: context.now(), texts: languages });
  const flaws = configFlaws(config);
  if (flaws.length > 0) throw usageError(`this configuration would not work in the app: ${flaws.join('; ')}`);
  await changeStudy(context, study, { config });
  const text = `${JSON.stringify(config, null, 2)}\n`;
  const file = options.out === undefined ? null : join(options.out, configFileName(joinNameOf(study)));
  if (file !== null) await replaceFile(file, text);
  await context.output.result(config, file ?? text);
  const change = config === study.config ? 'unchanged' : 'phones in the study get it with their next push';
  context.output.note(`version ${String(config.version)}, ${change}`);
}

const removeCommand = (context: CommandContext) =>
  new DocumentedCommand('remove', 'remove a study without members, and its list of erased tokens')
    .examples(`
  mobility erase --study sunny
  mobility study remove sunny`)
    .argument('<name>', 'name of the study')
    .action(
      context.run(async (_, name) => {
        await findStudy(context, name);
        const members = await (await context.store()).studies.remove(name);
        if (members > 0) {
          const found = `${counted(members, 'member')}: first erase them with \`mobility erase --study ${name}\``;
          throw usageError(`expected a study without members, found ${found}`);
        }
        await context.output.result({ name, removed: true }, name);
      }),
    );

const readmitCommand = (context: CommandContext) =>
  new DocumentedCommand('readmit', 'let the study token of an erased person join its study again')
    .examples('  mobility study readmit nrelop_sunny_west_k3Dq6cYp9Lm2Xw8Rb5Tz7Hn4')
    .argument('<token>', 'study token, as the app shows it')
    .action(
      context.run(async (_, token) => {
        const { studies } = await context.store();
        const study = await studies.byJoinName(readStudyToken(token)?.study ?? '');
        if (study === null || !(await studies.readmit(study.name, tokenHash(token))))
          throw usageError(
            'expected the token of a person who was erased from a study of this store, found another one',
          );
        await context.output.result({ study: study.name, readmitted: true }, study.name);
      }),
    );
