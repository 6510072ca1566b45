import type { Entry } from '../model/entry.ts';
import { isJsonObject, type JsonValue, kindOf, parseJson } from '../model/json.ts';
import { firstMilliseconds } from '../model/time.ts';
import type { UnusableEntry } from '../store/store.ts';

/** Reasons why a pushed value cannot be an entry. Codes never change. */
export const unusableReasons = {
  not_an_object: 'The pushed value is not a JSON object.',
  metadata_missing: 'The entry has no metadata.',
  metadata_not_an_object: 'The metadata is not a JSON object.',
  key_missing: 'The entry has no metadata.key.',
  key_not_text: 'metadata.key is not a text.',
  key_empty: 'metadata.key is an empty text.',
  key_too_long: 'metadata.key is longer than 255 characters.',
  key_characters: 'metadata.key contains a blank, a control character or a lone surrogate.',
  type_not_text: 'metadata.type is not a text.',
  write_ts_missing: 'The entry has no metadata.write_ts.',
  write_ts_not_a_number: 'metadata.write_ts is not a number; a text of digits does not count as one.',
  write_ts_not_finite: 'metadata.write_ts is too large for a number.',
  data_missing: 'The entry has no data.',
  data_not_an_object: 'The data is not a JSON object.',
} as const;

export type UnusableReason = keyof typeof unusableReasons;

/** The reason for a valid entry whose user has too many keys. An operator can recover the entry. */
export const tooManyKeys = 'too_many_keys';

/** The reason for a valid entry beyond the daily limit of statements. An operator can recover it. */
export const tooManyStatements = 'too_many_statements';

const maxKeyLength = 255; // characters

type Flaw = Pick<UnusableEntry, 'reason' | 'message'>;

export type CheckedEntry = Entry | UnusableEntry;

export function isEntry(checked: CheckedEntry): checked is Entry {
  return 'metadata' in checked;
}

/**
 * Returns a valid entry with only `metadata` and `data`, without fields such as `user_id`: an entry
 * belongs to its caller. Milliseconds in `metadata.write_ts` and `data.ts` become seconds. Returns
 * an invalid value as it was pushed, with the reason. Unusual but usable values are valid, because
 * converters and analysis judge them. Never changes its input.
 */
export function checkEntry(pushed: JsonValue): CheckedEntry {
  const flaw = flawOf(pushed);
  return flaw === null ? inSeconds(pushed as unknown as Entry) : { entry: pushed, ...flaw };
}

/** Checks the JSON text of an entry. A text that is not JSON is rejected unchanged. */
export function checkEntryText(text: string): CheckedEntry {
  const value = parseJson(text);
  return checkEntry(value === undefined ? text : value);
}

function flawOf(value: JsonValue): Flaw | null {
  if (!isJsonObject(value)) return flaw('not_an_object', 'an entry: an object with metadata and data', value);
  const { metadata, data } = value;
  if (metadata === undefined) return flaw('metadata_missing', 'metadata in the entry', metadata);
  if (!isJsonObject(metadata)) return flaw('metadata_not_an_object', 'an object as metadata', metadata);
  const { key, type, write_ts: writeTs } = metadata;
  if (key === undefined) return flaw('key_missing', 'metadata.key', key);
  if (typeof key !== 'string') return flaw('key_not_text', 'a text as metadata.key', key);
  if (key === '') return flaw('key_empty', 'the kind of entry as metadata.key', key);
  if (key.length > maxKeyLength)
    return flaw('key_too_long', `a metadata.key of at most ${maxKeyLength} characters`, key, String(key.length));
  if (/[\s\p{Z}\p{Cc}\p{Surrogate}]/u.test(key))
    return flaw('key_characters', 'metadata.key without blanks, control characters and lone surrogates', key, 'some');
  if (type !== undefined && typeof type !== 'string') return flaw('type_not_text', 'a text as metadata.type', type);
  if (writeTs === undefined) return flaw('write_ts_missing', 'metadata.write_ts', writeTs);
  const expected = 'a number as metadata.write_ts, seconds since the epoch';
  if (typeof writeTs !== 'number') return flaw('write_ts_not_a_number', expected, writeTs);
  if (!Number.isFinite(writeTs)) return flaw('write_ts_not_finite', expected, writeTs);
  if (data === undefined) return flaw('data_missing', 'data in the entry', data);
  return isJsonObject(data) ? null : flaw('data_not_an_object', 'an object as data', data);
}

function flaw(reason: UnusableReason, expected: string, value: unknown, found = kindOf(value)): Flaw {
  return { reason, message: `expected ${expected}, found ${found}` };
}

function inSeconds({ metadata, data }: Entry): Entry {
  const writeTs = seconds(metadata.write_ts) + 0; // turns -0 into 0, since both are the same time
  const ts = typeof data.ts === 'number' ? seconds(data.ts) : data.ts;
  return {
    metadata: Object.is(writeTs, metadata.write_ts) ? metadata : { ...metadata, write_ts: writeTs },
    data: Object.is(ts, data.ts) ? data : { ...data, ts },
  };
}

/** Milliseconds become seconds, unless a later check would take the result for milliseconds. */
const seconds = (ts: number): number => (ts >= firstMilliseconds && ts / 1000 < firstMilliseconds ? ts / 1000 : ts);
