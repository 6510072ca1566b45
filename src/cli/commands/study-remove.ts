import { usageError } from '../../model/mobility-error.ts';
import { readStudyToken } from '../../model/study.ts';
import { tokenHash } from '../../model/user.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted } from '../output.ts';
import { findStudy } from '../user-options.ts';

export const removeCommand = (context: CommandContext) =>
  new DocumentedCommand('remove')
    .description('remove a study without members, and its list of erased tokens')
    .examples(`
  mobility erase --study sunny
  mobility study remove sunny`)
    .argument('<name>', 'name of the study')
    .action(context.run(remove));

async function remove(context: CommandContext, name: string): Promise<void> {
  await findStudy(context, name);
  const members = await (await context.store()).studies.remove(name);
  const first = `first erase them with \`mobility erase --study ${name}\``;
  if (members > 0) throw usageError(`expected a study without members, found ${counted(members, 'member')}: ${first}`);
  await context.output.result({ name, removed: true }, name);
}

export const readmitCommand = (context: CommandContext) =>
  new DocumentedCommand('readmit')
    .description('let the study token of an erased person join its study again')
    .examples('  mobility study readmit nrelop_sunny_west_k3Dq6cYp9Lm2Xw8Rb5Tz7Hn4')
    .argument('<token>', 'study token, as the app shows it')
    .action(context.run(readmit));

async function readmit(context: CommandContext, token: string): Promise<void> {
  const { studies } = await context.store();
  const study = await studies.byJoinName(readStudyToken(token)?.study ?? '');
  if (study === null) throw usageError('expected a token of a study of this store, found another text');
  if (!(await studies.readmit(study.name, tokenHash(token))))
    throw usageError(`expected the token of a person who was erased from ${study.name}, found another one`);
  await context.output.result({ study: study.name, readmitted: true }, study.name);
}
