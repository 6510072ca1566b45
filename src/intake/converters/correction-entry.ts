// Converts statements of users about a day, which are the same on all platforms.
import { correctionKinds, longestDistance } from '../../model/correction.ts';
import type { Entry } from '../../model/entry.ts';
import { kindOf } from '../../model/json.ts';
import { statedModes } from '../../model/modes.ts';
import { type Conversion, checkNumber, checkStatement, checkText, codeOf, timeOf, typed, unchanged } from './common.ts';
import { ConversionError } from './conversion-error.ts';
import { checkPosition } from './location.ts';

const kinds = new Map(Object.keys(correctionKinds).map((kind, i) => [kind, i]));
const modes = new Map(statedModes.map((mode, i) => [mode, i]));
const sides = new Map(Object.entries({ before: 0, next: 1 }));
const longest = { name: 100, reason: 1000, author: 200, source: 100, token_id: 100 };

/** s. A correction about the current day may end this long after its `write_ts`. */
const ahead = 86_400;

/** Also checks the optional fields `reason`, `author`, `source`, `token_id` and `seen`. */
export function convertCorrection(entry: Entry): Conversion {
  const { data } = entry;
  codeOf(kinds, data.kind, 'data.kind');
  checkStatement(entry);
  const fields = correctionKinds[data.kind as keyof typeof correctionKinds];
  for (const field of ['ts', 'start_ts', 'end_ts', 'of']) {
    if (fields.includes(field)) timeOf(data[field], `data.${field}`);
  }
  if (fields.includes('end_ts') && !((data.end_ts as number) > (data.start_ts as number))) {
    throw new ConversionError('out_of_range', 'data.end_ts: expected a time after data.start_ts, found no later one');
  }
  const latest = data.kind === 'set_aside' ? Infinity : entry.metadata.write_ts + ahead;
  if (fields.includes('end_ts') && (data.end_ts as number) > latest) {
    const message = 'data.end_ts: expected a time up to a day after metadata.write_ts, found a later one';
    throw new ConversionError('out_of_range', message);
  }
  if (fields.includes('mode')) codeOf(modes, data.mode, 'data.mode');
  if (data.kind === 'at_place') codeOf(sides, data.at ?? 'before', 'data.at');
  if (fields.includes('name')) typed(data.name, 'string', 'data.name', 'a text');
  for (const [field, most] of Object.entries(longest)) {
    checkText(data[field], `data.${field}`, most);
  }
  // An empty text is rejected, since an empty source would exclude the data of every source.
  for (const field of ['name', 'source', 'token_id']) {
    if (data[field] === '')
      throw new ConversionError('out_of_range', `data.${field}: expected a text, found an empty one`);
  }
  checkNumber(data.distance, 'data.distance', { min: 0, max: longestDistance });
  const { end_loc: end = null, seen = [] } = data;
  if (end !== null) {
    if (!Array.isArray(end)) throw wrong('data.end_loc: expected [longitude, latitude]', kindOf(end));
    checkPosition(end[0], end[1], 'data.end_loc[0]', 'data.end_loc[1]');
  }
  if (!Array.isArray(seen)) throw wrong('data.seen: expected a list of [start, end]', kindOf(seen));
  for (const [i, pair] of seen.entries()) {
    if (!Array.isArray(pair)) throw wrong(`data.seen[${i}]: expected [start, end]`, kindOf(pair));
    for (const side of [0, 1]) timeOf(pair[side], `data.seen[${i}][${side}]`);
  }
  return unchanged(entry);
}

function wrong(expected: string, found: string): ConversionError {
  return new ConversionError('wrong_type', `${expected}, found ${found}`);
}
