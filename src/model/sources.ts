import type { Entry } from './entry.ts';
import { asObject } from './json.ts';

/** Returns `android` or `ios` for a phone, or a text such as `other/owntracks` for a program. */
export function sourceOf({ metadata: { platform, origin } }: Entry): string {
  const name = String(platform).toLowerCase();
  if (isPhone(name)) return name;
  const { program } = asObject(origin);
  return `other/${typeof program === 'string' ? program : ''}`;
}

/** Returns names of a source in corrections, such as `other/owntracks`, `other` and `owntracks`. */
export function sourceNames(entry: Entry): string[] {
  const own = sourceOf(entry);
  const at = own.indexOf('/');
  return at < 0 ? [own] : [own, own.slice(0, at), own.slice(at + 1)];
}

/** True for phones with the e-mission app; false for other apps, trackers and imports. */
export const isPhone = (source: string): boolean => source === 'android' || source === 'ios';
