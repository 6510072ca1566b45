// `mobility study link` and `tokens`: how people get into a study.
import { randomInt } from 'node:crypto';
import { Command, Option } from 'commander';
import { MobilityError } from '../../model/errors.ts';
import { isStudyName, joinNameOf, type StudyRecord } from '../../model/study.ts';
import { tokenHash } from '../../model/user.ts';
import { phoneAddress } from '../app-settings.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { replaceFile } from '../files.ts';
import { counted } from '../output.ts';
import { qrSvg, qrText } from '../qr.ts';
import { showTokens } from '../tokens.ts';
import { findStudy, subgroupsOf } from '../whom.ts';

interface LinkOptions {
  subgroup?: string;
  scheme: 'emission' | 'nrelopenpath' | 'https';
  server?: string;
  tester?: true;
  qr?: true;
  qrFile?: string;
}

/** Prints the link of a study. */
export function linkCommand(context: CommandContext): Command {
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
    .action(context.run((name: string, options: LinkOptions) => printLink(context, name, options)));
}

async function printLink(context: CommandContext, name: string, options: LinkOptions): Promise<void> {
  const study = await findStudy(context, name);
  const subgroup = subgroupOf(study, options.subgroup);
  const tester = options.tester && { tester: 'true' };
  const query = new URLSearchParams({ study_config: joinNameOf(study), sub_group: subgroup, ...tester });
  const isWeb = options.scheme === 'https';
  const address = isWeb ? `${phoneAddress(options.server, context.config().publicUrl)}/join/` : '';
  const link = `${isWeb ? address : `${options.scheme}://join`}?${query.toString()}`;
  if (options.qrFile !== undefined) await replaceFile(options.qrFile, qrSvg(link));
  await context.output.result({ study: name, subgroup, link }, options.qr ? `${link}\n${qrText(link)}` : link);
  if (study.joining === 'list') context.output.note('this study is by list: nobody can join with the link alone');
  if (!study.open) context.output.note('this study is closed: nobody can join');
}

/** Gives a study another name for joining. */
export function newLinkCommand(context: CommandContext): Command {
  return new Command('new-link')
    .description('replace the link of a study: the one before admits nobody new, members stay')
    .argument('<name>', 'name of the study')
    .option('--as <name>', 'name that stands in the new link; default: the name of the study and 8 random characters')
    .addHelpText('after', '\nExample:\n  mobility study new-link sunny')
    .action(context.run((name: string, { as }: { as?: string }) => replaceLink(context, name, as)));
}

async function replaceLink(context: CommandContext, name: string, asked: string | undefined): Promise<void> {
  const { joins: _, ...study } = await findStudy(context, name);
  const join_name = asked ?? `${name.slice(0, 31)}-${randomText(8, lowerCase)}`;
  if (!isStudyName(join_name)) {
    const found = JSON.stringify(join_name.slice(0, 60));
    throw new MobilityError(
      'MOBILITY_USAGE',
      `expected up to 40 lower case letters, digits and hyphens, found ${found}`,
    );
  }
  await refuseTakenName(context, join_name);
  await (await context.store()).studies.put({ ...study, join_names: [...study.join_names, join_name] });
  await context.output.result({ name, join_name, before: joinNameOf(study) }, join_name);
  context.output.note(
    `the link by the name ${joinNameOf(study)} admits nobody any more; next: mobility study config, link`,
  );
}

/**
 * Throws `MOBILITY_USAGE` if people join, or joined before, a study by this name: its old links would lead elsewhere.
 */
export async function refuseTakenName(context: CommandContext, name: string): Promise<void> {
  const taken = await (await context.store()).studies.byJoinName(name);
  if (taken === null) return;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a name by which nobody joined yet, found ${name}, of the study ${taken.name}`,
  );
}

function subgroupOf(study: StudyRecord, asked: string | undefined): string {
  const subgroups = subgroupsOf(study);
  if (asked !== undefined && subgroups.includes(asked)) return asked;
  if (asked === undefined && subgroups.length === 1) return subgroups[0]!;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected --subgroup ${subgroups.join(' or ')} for ${study.name}, found ${asked ?? 'none'}`,
  );
}

const lowerCase = 'abcdefghijklmnopqrstuvwxyz0123456789';
const randomText = (length: number, letters = `${lowerCase}ABCDEFGHIJKLMNOPQRSTUVWXYZ`): string =>
  Array.from({ length }, () => letters[randomInt(letters.length)]).join('');

interface TokensOptions {
  count: number;
  subgroup?: string;
}

/** Creates accounts of a study with tokens. */
export function studyTokensCommand(context: CommandContext): Command {
  return new Command('tokens')
    .description('create accounts with tokens to hand out, for studies by list')
    .argument('<name>', 'name of the study')
    .option('--count <n>', 'number of tokens', wholeNumber(1, 100_000), 1)
    .option('--subgroup <name>', 'the subgroup that people join; required if the study has several')
    .addHelpText('after', '\nExample:\n  mobility study tokens sunny --subgroup west --count 50 > west.csv')
    .action(context.run((name: string, options: TokensOptions) => createTokens(context, name, options)));
}

async function createTokens(context: CommandContext, name: string, options: TokensOptions): Promise<void> {
  const study = await findStudy(context, name);
  const [subgroup, joinName] = [subgroupOf(study, options.subgroup), joinNameOf(study)];
  const { studies } = await context.store();
  const made: { user_email: string; uuid: string; token: string }[] = [];
  while (made.length < options.count) {
    const now = context.now();
    const text = `nrelop_${joinName}_${subgroup}_${randomText(32)}`;
    const token = { hash: tokenHash(text), created_ts: now, expires_ts: null, kind: 'study' as const };
    const email = `${name}_${subgroup}_${randomText(8, lowerCase)}`;
    const result = await studies.enrol({ study: joinName, subgroup, email, token, now, byOperator: true });
    if (!('enrolled' in result)) continue; // the name is taken
    const { user_email, uuid } = result.enrolled;
    made.push({ user_email, uuid, token: text });
  }
  const lines = made.map(({ user_email, uuid, token }) => `${user_email},${uuid},${token}`);
  const text = ['user_email,uuid,token', ...lines].join('\n');
  await showTokens(context, made, () => context.output.result(made, text));
  context.output.note(`${counted(made.length, 'token')}; they cannot be shown again`);
}
