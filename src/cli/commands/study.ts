// `mobility study`: studies that people join with today's app, their links, tokens and configuration.
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { MobilityError } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import {
  defaultSubgroup,
  isStudyName,
  isSubgroupName,
  type StudyRecord,
  type StudySettings,
} from '../../model/study.ts';
import { configFileName, configFlaws, studyConfig } from '../../model/study-config.ts';
import { tokenHash } from '../../model/user.ts';
import { everyUser } from '../../store/pages.ts';
import { phoneAddress } from '../app-settings.ts';
import { repeated, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { fileJson, replaceFile } from '../files.ts';
import { counted, table } from '../output.ts';
import { qrSvg, qrText } from '../qr.ts';
import { findStudy, subgroupsOf } from '../whom.ts';
import { minuteText } from '../wording.ts';

/** Makes, shows, opens and closes studies, and writes what their phones need. */
export function studyCommand(context: CommandContext): Command {
  return new Command('study')
    .description("manage studies that people join with today's e-mission app")
    .addHelpText(
      'after',
      `
Examples:
  mobility study create sunny --subgroup west --subgroup east
  mobility study config sunny --server https://mobility.example.org --out .
  mobility study link sunny --subgroup west --qr`,
    )
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(openCommand(context, 'close', false))
    .addCommand(openCommand(context, 'open', true))
    .addCommand(configCommand(context))
    .addCommand(linkCommand(context))
    .addCommand(tokensCommand(context));
}

const settingsOf = ({ joined: _, ...settings }: StudyRecord): StudySettings => settings;

interface Create {
  subgroup?: string[];
  list?: true;
  hourLimit: number;
  totalLimit: number;
}

function createCommand(context: CommandContext): Command {
  return new Command('create')
    .description('create an open study, or replace the settings of an existing one')
    .argument('<name>', 'name of the study: lower case letters, digits, hyphens')
    .option('--subgroup <name>', 'a subgroup that people join (repeatable); default: one for everybody', repeated)
    .option('--list', 'only people with a token made here can join, see `mobility study tokens`')
    .option('--hour-limit <n>', 'most new people per hour', wholeNumber(1, 1_000_000), 200)
    .option('--total-limit <n>', 'most people in total', wholeNumber(1, 10_000_000), 10_000)
    .addHelpText('after', '\nExample:\n  mobility study create sunny --subgroup west --subgroup east --total-limit 500')
    .action(
      context.run(async (name: string, options: Create) => {
        if (!isStudyName(name)) {
          throw new MobilityError(
            'MOBILITY_USAGE',
            `expected a name of up to 40 lower case letters, digits and hyphens, found ${JSON.stringify(name.slice(0, 60))}`,
          );
        }
        const subgroups = [...new Set(options.subgroup ?? [])];
        for (const subgroup of subgroups) checkSubgroup(subgroup);
        const { studies } = await context.store({ make: true });
        const before = await studies.byName(name);
        const settings: StudySettings = {
          ...{ name, subgroups, joining: options.list ? 'list' : 'open', open: true },
          ...{ hour_limit: options.hourLimit, total_limit: options.totalLimit },
          ...{ created_ts: before?.created_ts ?? context.now(), config: before?.config ?? null },
        };
        await studies.put(settings);
        await context.output.result({ ...settings, created: before === null }, name);
        for (const note of createdNotes(before, settings)) context.output.note(note);
        return {};
      }),
    );
}

/** What an operator may not expect of a command that also replaces the settings of a study. */
function createdNotes(before: StudyRecord | null, after: StudySettings): string[] {
  if (before === null) return ['created; next: mobility study config'];
  const [was, is] = [ways(before), ways(after)];
  const outdated = before.config !== null && before.subgroups.join() !== after.subgroups.join();
  return [
    `the study existed: settings replaced${was === is ? '' : `; joining was ${was} and is now ${is}`}`,
    ...(outdated ? [`its configuration has the earlier subgroups: run mobility study config ${after.name} again`] : []),
  ];
}

function checkSubgroup(subgroup: string): void {
  if (isSubgroupName(subgroup)) return;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a subgroup of up to 40 letters, digits and hyphens other than "test", found ${JSON.stringify(subgroup.slice(0, 60))}`,
  );
}

const ways = (study: StudySettings): string =>
  study.open ? (study.joining === 'open' ? 'open' : 'by list') : 'closed';

function listCommand(context: CommandContext): Command {
  return new Command('list')
    .description('list the studies')
    .addHelpText('after', '\nExample:\n  mobility study list --json')
    .action(
      context.run(async () => {
        const found = await (await context.store()).studies.list();
        const rows = found.map((study) => [
          study.name,
          ways(study),
          study.subgroups.join(', ') || defaultSubgroup,
          String(study.joined.total),
          study.config === null ? 'none' : String(study.config.version),
        ]);
        const header = ['NAME', 'JOINING', 'SUBGROUPS', 'JOINED', 'CONFIGURATION'];
        await context.output.result(
          found.map(({ config, ...study }) => ({ ...study, config_version: config?.version ?? null })),
          () => (found.length === 0 ? '' : table([header, ...rows], [3])),
        );
        context.output.note(found.length === 1 ? '1 study' : `${found.length} studies`);
        return {};
      }),
    );
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('show a study and the number of people in each subgroup')
    .argument('<name>', 'its name')
    .addHelpText('after', '\nExample:\n  mobility study show sunny')
    .action(
      context.run(async (name: string) => {
        const study = await findStudy(context, name);
        const people: Record<string, number> = {};
        for (const subgroup of subgroupsOf(study)) people[subgroup] = 0;
        for await (const user of everyUser(await context.store())) {
          if (user.study === name)
            people[user.subgroup ?? defaultSubgroup] = (people[user.subgroup ?? defaultSubgroup] ?? 0) + 1;
        }
        const rows = [
          ['joining', ways(study)],
          ['made', minuteText(study.created_ts, context.zone)],
          ['joined so far', `${study.joined.total} of ${study.total_limit}, at most ${study.hour_limit} an hour`],
          ['configuration', study.config === null ? 'none: mobility study config' : `version ${study.config.version}`],
          ...Object.entries(people).map(([subgroup, count]) => [`people in ${subgroup}`, String(count)]),
        ];
        await context.output.result({ ...study, people }, table(rows));
        return {};
      }),
    );
}

function openCommand(context: CommandContext, word: 'open' | 'close', open: boolean): Command {
  return new Command(word)
    .description(open ? 'let new people join again' : 'stop new people from joining; members are served as before')
    .argument('<name>', 'name of the study')
    .addHelpText('after', `\nExample:\n  mobility study ${word} sunny`)
    .action(
      context.run(async (name: string) => {
        const study = await findStudy(context, name);
        await (await context.store()).studies.put({ ...settingsOf(study), open });
        await context.output.result({ name, open }, name);
        context.output.note(open ? 'open' : 'closed');
        return {};
      }),
    );
}

interface Configure {
  file?: string;
  server?: string;
  out?: string;
}

function configCommand(context: CommandContext): Command {
  return new Command('config')
    .description('create, check and write the configuration that the app reads for a study')
    .argument('<name>', 'name of the study')
    .option(
      '--file <file>',
      'JSON with texts, surveys and labels for the configuration; fields that it leaves out keep their values',
    )
    .option('--server <url>', 'address at which phones reach the server; default: MOBILITY_PUBLIC_URL')
    .option('--out <folder>', 'folder for the file <name>.nrel-op.json; default: standard output')
    .addHelpText(
      'after',
      '\nExample:\n  mobility study config sunny --file texts.json --server https://mobility.example.org --out .',
    )
    .action(
      context.run(async (name: string, options: Configure) => {
        const study = await findStudy(context, name);
        const address = phoneAddress(options.server, context.config().publicUrl);
        const given = options.file === undefined ? {} : await jsonOf(options.file);
        const config = studyConfig(settingsOf(study), { address, given, now: context.now() });
        const flaws = configFlaws(config);
        if (flaws.length > 0) {
          throw new MobilityError(
            'MOBILITY_USAGE',
            `this configuration would not work in the app: ${flaws.join('; ')}`,
          );
        }
        await (await context.store()).studies.put({ ...settingsOf(study), config });
        const text = `${JSON.stringify(config, null, 2)}\n`;
        const file = options.out === undefined ? null : join(options.out, configFileName(name));
        if (file !== null) await replaceFile(file, text);
        await context.output.result(config, file ?? text.trimEnd());
        const same = config === study.config ? 'unchanged' : 'phones in the study get it with their next push';
        context.output.note(`version ${String(config.version)}, ${same}`);
        return {};
      }),
    );
}

async function jsonOf(file: string): Promise<JsonObject> {
  const found = await fileJson(file);
  if (isJsonObject(found)) return found;
  throw new MobilityError('MOBILITY_USAGE', `${file}: expected a JSON object`);
}

type Scheme = 'emission' | 'nrelopenpath' | 'https';

interface Link {
  subgroup?: string;
  scheme: Scheme;
  server?: string;
  tester?: true;
  qr?: true;
  qrFile?: string;
}

function linkCommand(context: CommandContext): Command {
  return new Command('link')
    .description('print the link with which people join, or its QR code')
    .argument('<name>', 'name of the study')
    .option('--subgroup <name>', 'the subgroup that people join; required if the study has several')
    .addOption(
      new Option('--scheme <name>', 'emission: the e-mission app; nrelopenpath: OpenPATH; https: your own app')
        .choices(['emission', 'nrelopenpath', 'https'])
        .default('emission'),
    )
    .option('--server <url>', 'with --scheme https: address of the link; default: MOBILITY_PUBLIC_URL')
    .option('--tester', 'make a link for testers; their tokens are marked as such')
    .option('--qr', 'also print the QR code')
    .option('--qr-file <file>', 'write the QR code as SVG')
    .addHelpText('after', '\nExample:\n  mobility study link sunny --subgroup west --qr-file west.svg')
    .action(
      context.run(async (name: string, options: Link) => {
        const study = await findStudy(context, name);
        const subgroup = subgroupOf(study, options.subgroup);
        const query = new URLSearchParams({
          study_config: name,
          sub_group: subgroup,
          ...(options.tester && { tester: 'true' }),
        });
        const base =
          options.scheme === 'https'
            ? `${phoneAddress(options.server, context.config().publicUrl)}/join/`
            : `${options.scheme}://join`;
        const link = `${base}?${query.toString()}`;
        if (options.qrFile !== undefined) await replaceFile(options.qrFile, qrSvg(link));
        await context.output.result({ study: name, subgroup, link }, options.qr ? `${link}\n${qrText(link)}` : link);
        if (study.joining === 'list') context.output.note('this study is by list: nobody can join with the link alone');
        if (!study.open) context.output.note('this study is closed: nobody can join');
        return {};
      }),
    );
}

function subgroupOf(study: StudyRecord, asked: string | undefined): string {
  const known = subgroupsOf(study);
  if (asked !== undefined && known.includes(asked)) return asked;
  if (asked === undefined && known.length === 1) return known[0]!;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected --subgroup ${known.join(' or ')} for ${study.name}, found ${asked ?? 'none'}`,
  );
}

const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const randomText = (length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

interface MakeTokens {
  count: number;
  subgroup?: string;
}

function tokensCommand(context: CommandContext): Command {
  return new Command('tokens')
    .description('create accounts with tokens to hand out, for studies by list')
    .argument('<name>', 'name of the study')
    .option('--count <n>', 'number of tokens', wholeNumber(1, 100_000), 1)
    .option('--subgroup <name>', 'the subgroup that people join; required if the study has several')
    .addHelpText('after', '\nExample:\n  mobility study tokens sunny --subgroup west --count 50 > west.csv')
    .action(
      context.run(async (name: string, options: MakeTokens) => {
        const study = await findStudy(context, name);
        const subgroup = subgroupOf(study, options.subgroup);
        const { studies } = await context.store();
        const made: { user_email: string; uuid: string; token: string }[] = [];
        while (made.length < options.count) {
          const token = `nrelop_${name}_${subgroup}_${randomText(32)}`;
          const record = {
            hash: tokenHash(token),
            created_ts: context.now(),
            expires_ts: null,
            kind: 'study' as const,
          };
          const email = `${name}_${subgroup}_${randomText(8).toLowerCase()}`;
          const asked = { study: name, subgroup, email, token: record, now: context.now(), byOperator: true };
          const result = await studies.enrol(asked);
          if ('enrolled' in result)
            made.push({ user_email: result.enrolled.user_email, uuid: result.enrolled.uuid, token });
        }
        const lines = made.map(({ user_email, uuid, token }) => `${user_email},${uuid},${token}`);
        await context.output.result(made, ['user_email,uuid,token', ...lines].join('\n'));
        context.output.note(`${counted(made.length, 'token')}; they cannot be shown again`);
        return {};
      }),
    );
}
