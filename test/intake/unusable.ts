// Values that are pushed and cannot be entries.
import type { unusableReasons } from '../../src/intake/check-entry.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';

/** An entry, with these fields of its metadata. */
export const good = (metadata: JsonObject = {}, data: JsonValue | undefined = { x: 1 }): JsonObject => ({
  metadata: {
    key: 'background/location',
    type: 'sensor-data',
    platform: 'android',
    write_ts: 1466436482.75,
    ...metadata,
  },
  data,
});
const without = (name: string): JsonObject => {
  const { [name]: _gone, ...metadata } = good().metadata as JsonObject;
  return { metadata, data: {} };
};

type Unusable = [reason: keyof typeof unusableReasons, what: string, value: JsonValue];

/** What cannot be an entry, and why not: one or more for each reason. */
export const unusable: Unusable[] = [
  ['not_an_object', 'null', null],
  ['not_an_object', 'a number', 5],
  ['not_an_object', 'a text', '{"metadata":{}}'],
  ['not_an_object', 'a list', [good()]],
  ['metadata_missing', 'an empty object', {}],
  ['metadata_missing', 'data alone', { data: {} }],
  ['metadata_not_an_object', 'metadata null', { metadata: null, data: {} }],
  ['metadata_not_an_object', 'metadata a list', { metadata: [], data: {} }],
  ['key_missing', 'no key', without('key')],
  ['key_not_text', 'a key that is a number', good({ key: 7 })],
  ['key_not_text', 'a key that is null', good({ key: null })],
  ['key_empty', 'an empty key', good({ key: '' })],
  ['key_too_long', 'a key of 256 characters', good({ key: 'k'.repeat(256) })],
  ...[' ', '\u00a0', '\u2028', '\ufeff', '\0', '\n', '\u0085', '\ud83d', '\ude00'].map(
    (odd): Unusable => ['key_characters', `${JSON.stringify(odd)} in the key`, good({ key: `a${odd}b` })],
  ),
  ['type_not_text', 'a type that is a number', good({ type: 1 })],
  ['type_not_text', 'a type that is null', good({ type: null })],
  ['write_ts_missing', 'no write_ts', without('write_ts')],
  ['write_ts_not_a_number', 'write_ts as text', good({ write_ts: '1466436482.75' })],
  ['write_ts_not_a_number', 'write_ts null', good({ write_ts: null })],
  ['write_ts_not_a_number', 'write_ts an object', good({ write_ts: { $date: 1 } })],
  ['write_ts_not_finite', 'write_ts beyond all numbers', good({ write_ts: JSON.parse('1e999') })],
  ['data_missing', 'no data', { metadata: good().metadata! }],
  ['data_not_an_object', 'data null', good({}, null)],
  ['data_not_an_object', 'data a list', good({}, [])],
  ['data_not_an_object', 'data a text', good({}, '47.9975821')],
];
