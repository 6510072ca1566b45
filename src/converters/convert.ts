// Looks up the converter of an entry and applies it.
import type { Entry } from '../model/entry.ts';
import { kindOf } from '../model/json.ts';
import { shortText } from './common.ts';
import { ConversionError } from './conversion-error.ts';
import { converterFor, platforms } from './registry.ts';

export { ConversionError, type ConversionReason, conversionReasons } from './conversion-error.ts';

/**
 * The entry as the timeseries keeps it: metadata as pushed with local times of writing, payload as in `payloads.ts`. Local times are
 * left out where the entry names no known zone. Identity stays. Pure; never changes its input but may share parts with it.
 * Throws a `ConversionError`.
 */
export function convert(entry: Entry): Entry {
  const { platform, key } = entry.metadata;
  const converter = typeof platform === 'string' ? converterFor(platform, key) : null;
  if (converter === null) throw noConverter(entry);
  return converter(entry);
}

function noConverter({ metadata: { platform, key } }: Entry): ConversionError {
  const isDocument = key === 'common-trips' || key.startsWith('diary/trips-');
  const hint = isDocument ? '; it is the key of a document, which the server writes and no phone pushes' : '';
  const of: unknown = platform;
  const found = typeof of === 'string' ? `platform ${shortText(of)}` : `as metadata.platform ${kindOf(of)}`;
  return new ConversionError(
    'no_converter',
    `expected a known key of platform ${platforms.join(' or ')}, found key ${shortText(key)} and ${found}${hint}`,
  );
}
