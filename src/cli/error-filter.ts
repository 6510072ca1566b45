// The flags that choose errors: `--key`, `--reason`, `--platform` and `--app-version`.
import { type Command, InvalidArgumentError } from 'commander';
import type { PersonFigures, Store } from '../store/store.ts';

/** The flags, as parsed. */
export interface ErrorFilter {
  key?: string;
  reason?: string;
  platform?: string;
  appVersion?: string;
}

/** Adds the flags to a command. */
export function withErrorFilter(command: Command): Command {
  return command
    .option('--key <key>', 'only errors of this key, such as manual/survey', keyArgument)
    .option('--reason <reason>', 'only errors with this reason, worded as in the list of errors', filterArgument)
    .option('--platform <name>', 'only errors of this platform, as the entry names it', filterArgument)
    .option('--app-version <version>', 'only errors of people whose app has this version', filterArgument);
}

/** Refuses an empty text: an unset variable of a script would choose every error. */
function filterArgument(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty; leave the flag out for all errors.');
}

/** A key as it is, or as the list of remaining errors shows it: as a JSON string where it has other characters. */
function keyArgument(text: string): string {
  const key = filterArgument(text);
  if (!key.startsWith('"')) return key;
  try {
    return String(JSON.parse(key));
  } catch {
    return key;
  }
}

/** The version that the app of a person says of itself; null: none. */
export function appVersionOf({ profile }: Pick<PersonFigures, 'profile'>): string | null {
  const { client_app_version: version } = profile;
  return typeof version === 'string' ? version : null;
}

/** The figures of somebody with errors, whose app has the version that is asked for; else null. */
export async function figuresWithErrors(
  store: Store,
  uuid: string,
  { appVersion }: ErrorFilter = {},
): Promise<PersonFigures | null> {
  const [figures] = await store.users.figures({ uuid });
  if (figures === undefined || figures.set_aside.length === 0) return null;
  return appVersion === undefined || appVersionOf(figures) === appVersion ? figures : null;
}
