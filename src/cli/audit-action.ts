import { userInfo } from 'node:os';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type Act, audit } from '../log/audit-log.ts';
import { errorText } from '../model/mobility-error.ts';
import type { DayAsked } from './arguments.ts';
import type { CommandContext } from './context.ts';

/** Commands that read, change, copy, remove or repair data of people. */
export const audited: ReadonlySet<string> = new Set(
  `backup, correct, debug-bundle, diary, erase, errors show, explain, export, import, label, managers add,
managers remove, migrate, purge-keys, rebuild, recover-errors, retain, store check, study config, study create,
study invite, study new-link, study readmit, study remove, study tokens, users add, users import, users link,
users remove, users revoke, users token`.split(/,\s/),
);

/** The flags that the audit log shows. Their values are not free texts. */
const auditedFlags = ['all', 'study', 'subgroup', 'from', 'to', 'day', 'key', 'coordinates'];

export async function auditCommand(context: CommandContext, command: CommandUnknownOpts, code: number): Promise<void> {
  const action = nameOf(command);
  const options = command.opts();
  if (!audited.has(action) || options.dryRun === true || options.worker === true) return;
  const shown = auditedFlags.filter((name) => options[name] !== undefined);
  const how = shown.map((name) => (options[name] === true ? `--${name}` : `--${name} ${valueText(options[name])}`));
  const outcome: Act['outcome'] = code === 0 ? 'done' : code === 3 ? 'partly' : 'failed';
  const people = [...context.named];
  const act = { ts: context.now(), who: whoAmI(context), action, people, how: how.join(' '), outcome };
  await audit(context.config().logDir, act).catch((error) =>
    context.output.note(`mobility: the audit log does not contain this command: ${errorText(error)}`),
  );
}

const nameOf = (command: CommandUnknownOpts): string =>
  command.parent?.parent == null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** Returns a day as typed: the audit log has the time of the act, which gives `today` a date. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { asked, from, to } = value as { asked?: string; from?: DayAsked; to?: DayAsked };
  if (asked !== undefined || from === undefined || to === undefined) return asked ?? String(value);
  return from.asked === to.asked ? from.asked : `${from.asked}..${to.asked}`;
}

/** Returns the name of the account on the host; after sudo, the names of both accounts. */
function whoAmI({ env }: CommandContext): string {
  const by = env.SUDO_USER;
  let own: string;
  try {
    own = userInfo().username;
  } catch {
    own = `uid ${process.getuid?.()}`; // an account without a name, as in some containers
  }
  return by === undefined || by === own ? own : `${by} as ${own}`;
}
