import { type Command, InvalidArgumentError, type OptionValues } from '@commander-js/extra-typings';
import { parseJson } from '../model/json.ts';
import type { ErrorFilter } from '../upkeep/error-groups.ts';

export function withErrorFilter<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  return command
    .option('--key <key>', 'only errors of this key, such as manual/survey', keyArgument)
    .option('--reason <reason>', 'only errors with this reason, as `errors list` shows it', filterArgument)
    .option('--platform <name>', 'only errors of this platform, as the entry names it', filterArgument)
    .option('--app-version <version>', 'only errors of people whose app has this version', filterArgument);
}

export const noErrorsText = ({ key, reason, platform, appVersion }: ErrorFilter): string =>
  (key ?? reason ?? platform ?? appVersion) === undefined
    ? 'no errors'
    : '0 entries matched: `mobility errors` without these flags lists the keys, reasons, platforms and versions that exist';

/** Refuses an empty text: an unset variable in a script would select all errors. */
function filterArgument(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty; leave the flag out for all errors.');
}

/** Accepts JSON, because the list of errors shows keys with unusual characters as JSON. */
function keyArgument(text: string): string {
  const key = filterArgument(text);
  return key.startsWith('"') ? String(parseJson(key) ?? key) : key;
}
