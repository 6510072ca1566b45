import { join } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { appIds, appOfToken, phoneApps } from '../../model/apps.ts';
import { joinNameOf, type StudyRecord, subgroupsOf } from '../../model/study.ts';
import { studyTexts } from '../../model/study-texts.ts';
import { enrolMember, randomText, typedLetters } from '../../upkeep/enrol-member.ts';
import { makeFolder, refuseExisting, replaceFile, writeNewFile } from '../../util/file-access.ts';
import { type Invitation, invitationSheets } from '../../web/pages/invitation.ts';
import { qrSvg, qrText } from '../../web/pages/qr.ts';
import { textsFor } from '../../web/pages/texts/texts.ts';
import { DocumentedCommand, type OptionsOf, phoneAddress, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted } from '../output.ts';
import { changeStudy, findStudy, noSubgroup } from '../user-options.ts';
import { newPageLink, showTokens } from './user-tokens.ts';

export const linkCommand = (context: CommandContext) => linkFlags().action(context.run(printLink));

const linkFlags = () =>
  new DocumentedCommand('link', 'print the link with which people join, or its QR code')
    .examples('  mobility study link sunny --subgroup west --qr-file west.svg')
    .argument('<name>', 'name of the study')
    .option('--subgroup <name>', 'the subgroup that people join; required if the study has several')
    .addOption(
      new Option(
        '--scheme <name>',
        'page: a page of this server with the steps; emission: the e-mission app; nrelopenpath: OpenPATH; ' +
          'https: your own app; default: page if the address of the server is known, else emission',
      ).choices(['page', 'emission', 'nrelopenpath', 'https']),
    )
    .option('--server <url>', 'address of the link; default: MOBILITY_PUBLIC_URL')
    .option('--tester', 'make a link for testers; their tokens are marked as such')
    .option('--qr', 'also print the QR code')
    .option('--qr-file <file>', 'write the QR code as SVG');

type LinkOptions = OptionsOf<typeof linkFlags>;

async function printLink(context: CommandContext, name: string, options: LinkOptions): Promise<void> {
  const [study, subgroup] = await findSubgroup(context, name, options.subgroup);
  const link = linkOf(context, study, subgroup, options);
  if (options.qrFile !== undefined) await replaceFile(options.qrFile, qrSvg(link));
  const text = options.qr ? `${link}\n${context.output.code(qrText(link))}` : link;
  await context.output.result({ study: name, subgroup, link }, text);
  if (study.joining === 'list') context.output.note('this study is by list: people cannot join with the link alone');
  if (!study.open) context.output.note('this study is closed: people cannot join');
}

function linkOf(context: CommandContext, study: StudyRecord, subgroup: string, options: LinkOptions): string {
  const { server, tester } = options;
  const { publicUrl } = context.config();
  const scheme = options.scheme ?? ((server ?? publicUrl) === '' || tester ? 'emission' : 'page');
  if (scheme === 'page') return pageOf(phoneAddress(server, publicUrl), study, subgroup);
  const marked = tester && { tester: 'true' };
  const query = new URLSearchParams({ study_config: joinNameOf(study), sub_group: subgroup, ...marked });
  return `${scheme === 'https' ? `${phoneAddress(server, publicUrl)}/join/` : `${scheme}://join`}?${query}`;
}

const pageOf = (address: string, study: StudyRecord, subgroup: string): string =>
  `${address}/join/${joinNameOf(study)}?${new URLSearchParams({ sub_group: subgroup })}`;

export const newLinkCommand = (context: CommandContext) =>
  new DocumentedCommand('new-link', 'replace the link of a study: the old link admits no new people, members stay')
    .argument('<name>', 'name of the study')
    .action(
      context.run(async (_, name) => {
        const study = await findStudy(context, name);
        const before = joinNameOf(study);
        const join_name = `${name.slice(0, 31)}-${randomText(8, typedLetters)}`;
        await changeStudy(context, study, { join_names: [...study.join_names, join_name] });
        await context.output.result({ name, join_name, before }, join_name);
        const next = 'mobility study config, then mobility study link';
        context.output.note(`the link with the name ${before} admits no new people; next: ${next}`);
      }),
    );

async function findSubgroup(context: CommandContext, name: string, asked?: string): Promise<[StudyRecord, string]> {
  const study = await findStudy(context, name);
  const subgroups = subgroupsOf(study);
  const subgroup = asked ?? subgroups[0]!;
  if (subgroups.includes(subgroup) && (asked !== undefined || subgroups.length === 1)) return [study, subgroup];
  throw await noSubgroup([study], asked);
}

export const studyTokensCommand = (context: CommandContext) => tokensFlags().action(context.run(createTokens));

const tokensFlags = () =>
  new DocumentedCommand('tokens', 'create accounts with tokens to hand out, for a study made with --list')
    .examples('  mobility study tokens sunny --subgroup west --count 50 > west.csv')
    .argument('<name>', 'name of the study')
    .option('--count <n>', 'number of tokens', wholeNumber(1, 100_000), 1)
    .option('--subgroup <name>', 'the subgroup that people join; required if the study has several');

async function createTokens(context: CommandContext, name: string, options: OptionsOf<typeof tokensFlags>) {
  const [study, subgroup] = await findSubgroup(context, name, options.subgroup);
  const store = await context.store();
  const made: { user_email: string; uuid: string; token: string }[] = [];
  while (made.length < options.count) made.push(await enrolMember(store, study, subgroup, 'study', context.now));
  const lines = made.map(({ user_email, uuid, token }) => `${user_email},${uuid},${token}`);
  const text = ['user_email,uuid,token', ...lines].join('\n');
  await showTokens(context, made, () => context.output.result({ users: made }, text));
  context.output.note(`${counted(made.length, 'token')}; they cannot be shown again`);
}

/** `scheme`: how links that set up the app begin. */
const familyApps = {
  'e-mission': { name: 'e-mission', scheme: 'emission' },
  openpath: { name: 'OpenPATH', scheme: 'nrelopenpath' },
};

export const inviteCommand = (context: CommandContext) => inviteFlags().action(context.run(invite));

const inviteFlags = () =>
  new DocumentedCommand(
    'invite',
    'create accounts, and a sheet to print for each person: QR code, three steps, contact',
  )
    .examples(`
  mobility study invite sunny --subgroup west --count 50 --app owntracks --out invitations

Anyone who has a sheet can push as that person and see their days: remove invitations.html when it is printed.`)
    .argument('<name>', 'name of the study')
    .option('--count <n>', 'number of people', wholeNumber(1, 10_000), 1)
    .option('--subgroup <name>', 'the subgroup that people join; required if the study has several')
    .addOption(
      new Option('--app <name>', 'the app that people use')
        .choices(['e-mission', 'openpath', ...appIds] as const)
        .default('e-mission' as const),
    )
    .requiredOption('--out <folder>', 'folder for invitations.html and people.csv')
    .option('--server <url>', 'address of the server for phones; default: MOBILITY_PUBLIC_URL')
    .option('--days <n>', "days until the links to people's pages expire", wholeNumber(1, 365), 60);

async function invite(context: CommandContext, name: string, options: OptionsOf<typeof inviteFlags>): Promise<void> {
  const { app, out, count, days } = options;
  const [study, subgroup] = await findSubgroup(context, name, options.subgroup);
  const address = phoneAddress(options.server, context.config().publicUrl);
  const files = [join(out, 'invitations.html'), join(out, 'people.csv')] as const;
  makeFolder(out);
  for (const file of files) await refuseExisting(file);
  const store = await context.store();
  const t = textsFor([study.language ?? 'en']);
  const until = context.now() + days * 86_400;
  const people: (Invitation & { user_email: string; uuid: string; token: string })[] = [];
  while (people.length < count) {
    const kind = app === 'e-mission' || app === 'openpath' ? 'study' : app;
    const { user_email, uuid, token } = await enrolMember(store, study, subgroup, kind, context.now);
    const setUp =
      kind === 'study'
        ? `${familyApps[app as keyof typeof familyApps].scheme}://login_token?token=${token}`
        : phoneApps[kind].setUp(address, user_email, token).link;
    const link = await newPageLink(context, uuid, address, until);
    people.push({ user_email, uuid, token, code: user_email, setUp, days: link });
  }
  const text = invitationSheets(
    {
      study: studyTexts(study, [t.language]),
      app: { ...familyApps, ...phoneApps }[app].name,
      isScannedInApp: appOfToken(app)?.isScannedInApp === true,
      people,
      page: pageOf(address, study, subgroup),
      until: t.date(until, context.zone),
    },
    t,
  );
  const named = people.map(({ user_email, uuid }) => ({ user_email, uuid }));
  const rows = named.map(({ user_email, uuid }) => `${user_email},${uuid}`);
  await showTokens(context, people, async () => {
    await writeNewFile(files[0], text);
    await writeNewFile(files[1], `${['user_email,uuid', ...rows].join('\n')}\n`);
    await context.output.result({ files, people: named }, files.join('\n'));
  });
  context.output.note(`${counted(count, 'invitation')}; the tokens cannot be shown again`);
}
