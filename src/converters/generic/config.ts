// Configurations and consent, alike on both platforms.
import type { Entry } from '../../model/entry.ts';
import { converted } from '../common.ts';

/** Payload `Config`: the data stay as pushed. They have no time of their own. */
export function convertConfig(entry: Entry): Entry {
  return converted(entry, entry.data);
}
