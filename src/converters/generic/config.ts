// Configurations and consent, alike on both platforms.
import type { Entry } from '../../model/entry.ts';
import { type Conversion, unchanged } from '../common.ts';

/** Payload `Config`: the data stay as pushed. They have no time of their own. */
export function convertConfig(entry: Entry): Conversion {
  return unchanged(entry);
}
