// Checks corrections, which are the same on all platforms.
import { correctionKinds, longestDistance } from '../../model/correction.ts';
import type { Entry } from '../../model/entry.ts';
import { type JsonValue, kindOf } from '../../model/json.ts';
import { statedModes } from '../../model/modes.ts';
import { ConversionError, checkNumber, checkStatement, checkText, codeOf, timeOf, typed } from './checks.ts';
import { type Conversion, unchanged } from './conversion.ts';
import { checkPosition } from './location.ts';

const kinds = new Map(Object.keys(correctionKinds).map((kind, i) => [kind, i]));
const modes = new Map(statedModes.map((mode, i) => [mode, i]));
const sides = new Map(Object.entries({ before: 0, next: 1 }));
const longest = { name: 100, reason: 1000, author: 200, source: 100, token_id: 100 };

/** s. A correction about the current day may end this long after its `write_ts`. */
const ahead = 86_400;

export function convertCorrection(entry: Entry): Conversion {
  const { data, metadata } = entry;
  codeOf(kinds, data.kind, 'data.kind');
  checkStatement(entry);
  const fields = correctionKinds[data.kind as keyof typeof correctionKinds];
  for (const field of ['ts', 'start_ts', 'end_ts', 'of']) {
    if (fields.includes(field)) timeOf(data[field], `data.${field}`);
  }
  if (fields.includes('end_ts')) {
    const [start, end] = [data.start_ts as number, data.end_ts as number];
    if (end <= start) throw outOfRange(`data.end_ts: expected a time after data.start_ts (${start}), found ${end}`);
    if (data.kind !== 'set_aside' && end > metadata.write_ts + ahead)
      throw outOfRange('data.end_ts: expected a time up to a day after metadata.write_ts, found a later one');
  }
  if (fields.includes('mode')) codeOf(modes, data.mode, 'data.mode');
  if (data.kind === 'at_place') codeOf(sides, data.at ?? 'before', 'data.at');
  if (fields.includes('name')) typed(data.name, 'string', 'data.name', 'a text');
  for (const [field, most] of Object.entries(longest)) checkText(data[field], `data.${field}`, most);
  // An empty source would exclude the data of every source.
  const empty = ['name', 'source', 'token_id'].find((field) => data[field] === '');
  if (empty !== undefined) throw outOfRange(`data.${empty}: expected a text, found an empty one`);
  checkNumber(data.distance, 'data.distance', { min: 0, max: longestDistance });
  const { end_loc: end = null, seen = [] } = data;
  if (end !== null) {
    const [longitude, latitude] = listOf(end, 'data.end_loc', '[longitude, latitude]');
    checkPosition(longitude, latitude, 'data.end_loc[0]', 'data.end_loc[1]');
  }
  for (const [i, pair] of listOf(seen, 'data.seen', 'a list of [start, end]').entries()) {
    const times = listOf(pair, `data.seen[${i}]`, '[start, end]');
    for (const side of [0, 1]) timeOf(times[side], `data.seen[${i}][${side}]`);
  }
  return unchanged(entry);
}

const outOfRange = (message: string): ConversionError => new ConversionError('out_of_range', message);

function listOf(value: JsonValue, field: string, expected: string): JsonValue[] {
  if (Array.isArray(value)) return value;
  throw new ConversionError('wrong_type', `${field}: expected ${expected}, found ${kindOf(value)}`);
}
