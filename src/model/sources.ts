import type { Entry } from './entry.ts';
import { asObject } from './json.ts';

/** The source of an entry: `android` or `ios` for all phones of the platform, else `other/owntracks` for a program. */
export function sourceOf({ metadata: { platform, origin } }: Entry): string {
  const name = String(platform).toLowerCase();
  if (isPhone(name)) return name;
  const { program } = asObject(origin);
  return `other/${typeof program === 'string' ? program : ''}`;
}

/** Names that a correction may use for the source of an entry: for `other/owntracks` also `other` and `owntracks`. */
export function sourceNames(entry: Entry): string[] {
  const own = sourceOf(entry);
  const at = own.indexOf('/');
  return at < 0 ? [own] : [own, own.slice(0, at), own.slice(at + 1)];
}

/** True if the source is phones with the e-mission app, not another app, a tracker or an import. */
export const isPhone = (source: string): boolean => source === 'android' || source === 'ios';
