// Where entries come from: phones with this service's app, and programs beside them.
import type { Entry } from './entry.ts';
import { isJsonObject } from './json.ts';

/** Where a location comes from: all phones of one platform are one source, and each program beside them is one. */
export function sourceOf({ metadata: { platform, origin } }: Entry): string {
  if (typeof platform === 'string' && isPhone(platform)) return platform;
  const name = String(platform).toLowerCase();
  if (isPhone(name)) return name;
  return `other/${isJsonObject(origin) && typeof origin.program === 'string' ? origin.program : ''}`;
}

/** The names that a user may give for the source of an entry: for `other/owntracks` also `other` and `owntracks`. */
export function sourceNames(entry: Entry): string[] {
  const [own, at] = [sourceOf(entry), sourceOf(entry).indexOf('/')];
  return at < 0 ? [own] : [own, own.slice(0, at), own.slice(at + 1)];
}

/** True for a source that is the person's phone with this service's app, not another app, a tracker or an import. */
export const isPhone = (source: string): boolean => source === 'android' || source === 'ios';
