// Looks up the converter of an entry: what the entry means on the way in, and how people see it on the way out.
import { dataTime, type Entry } from '../../model/entry.ts';
import { kindOf } from '../../model/json.ts';
import { keyRow } from '../../model/keys.ts';
import { type Conversion, type Converter, shortText, withLocalTimes } from './common.ts';
import { ConversionError } from './conversion-error.ts';
import { converterFor, localTimesOf, platforms } from './registry.ts';

export { ConversionError, type ConversionReason, conversionReasons } from './conversion-error.ts';

/**
 * What an entry means: metadata as pushed, payload as in `payloads.ts`, without local times. An entry under a key that
 * the service does not know stays as it came: studies and newer apps have keys of their own. Identity stays. Pure;
 * never changes its input but may share parts with it. Throws a `ConversionError`: an entry that throws is rejected.
 */
export function convert(entry: Entry): Entry {
  const found = conversionOf(entry);
  return found === null ? entry : { metadata: entry.metadata, data: found.data() };
}

/** The `dataTime` of `convert(entry)`, found without making the converted entry. Throws as `convert` does. */
export function timeMeant(entry: Entry): number | null {
  const found = conversionOf(entry);
  return found === null ? dataTime(entry.data) : found.ts;
}

function converterOf({ metadata: { platform, key } }: Entry): Converter | null {
  return typeof platform === 'string' ? converterFor(platform, key) : null;
}

function conversionOf(entry: Entry): Conversion | null {
  const converter = converterOf(entry);
  if (converter !== null) return converter(entry);
  if (keyRow(entry.metadata.key) === null) return null;
  throw noConverter(entry);
}

/**
 * What a kept entry means; an entry that its converter refuses, such as one that an earlier version took, as it is
 * kept. `wanted`: the fields of the payload that are read; others may be as pushed.
 */
export function meaningOf(entry: Entry, wanted?: readonly string[]): Entry {
  try {
    const asPushed = wanted && converterOf(entry)?.asPushed?.(entry);
    if (asPushed && isWithin(wanted, asPushed)) return entry;
    const found = conversionOf(entry);
    return found === null ? entry : { metadata: entry.metadata, data: found.data() };
  } catch {
    return entry;
  }
}

/** The lists asked about last: lists of wanted fields are few and constant. */
let asked: { wanted: readonly string[]; fields: ReadonlySet<string>; answer: boolean } | null = null;

/** True where all wanted fields are among these. */
function isWithin(wanted: readonly string[], fields: ReadonlySet<string>): boolean {
  if (asked?.wanted !== wanted || asked.fields !== fields) {
    asked = { wanted, fields, answer: wanted.every((name) => fields.has(name)) };
  }
  return asked.answer;
}

/**
 * The entry as people and programs read it: what it means, with local times where it names a known zone. One under
 * an unknown key is as it came. Never throws.
 */
export function present(entry: Entry): Entry {
  const { key } = entry.metadata;
  return keyRow(key) === null ? entry : withLocalTimes(meaningOf(entry), localTimesOf(key));
}

const hints = {
  pushed: '',
  document: '; it is the key of a document, which the server writes and no phone pushes',
  derived: '; it is the key of something that the server makes of the trips, and no phone pushes',
} as const;

function noConverter({ metadata: { platform, key } }: Entry): ConversionError {
  const hint = hints[keyRow(key)!.kind];
  const of: unknown = platform;
  const found = typeof of === 'string' ? `platform ${shortText(of)}` : `as metadata.platform ${kindOf(of)}`;
  return new ConversionError(
    'no_converter',
    `expected a known key of platform ${platforms.join(' or ')}, found key ${shortText(key)} and ${found}${hint}`,
  );
}
