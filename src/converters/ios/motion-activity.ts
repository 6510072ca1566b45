// Motion activity of iPhones: six flags instead of a type.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { iosMotions, motionTypes } from '../../model/payloads.ts';
import { type Conversion, checkNumber, timeOf, typed, withTime } from '../common.ts';
import { ConversionError } from '../conversion-error.ts';

const flags = Object.entries(iosMotions).map(([name, type]) => ({ name, type, field: `data.${name}` }));

/** Percent for the phone's word. */
const confidences = new Map([
  ['high', 100],
  ['medium', 75],
  ['low', 50],
]);

/**
 * Payload `MotionActivity`, the flags beside it. The time is that of writing, which on iPhones is the start of the
 * activity.
 */
export function convertIosMotionActivity(entry: Entry): Conversion {
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  const added = { type: typeOf(entry.data), ...confidenceOf(entry.data) };
  return withTime(entry, ts, added);
}

function typeOf(data: JsonObject): number {
  let set = 0;
  let type: number = motionTypes.NONE;
  for (const flag of flags) {
    if (!typed(data[flag.name], 'boolean', flag.field, 'true or false')) continue;
    set += 1;
    type = flag.type;
  }
  if (set <= 1) return type;
  const names = flags.flatMap(({ name }) => (data[name] === true ? [name] : [])).join(' and ');
  if (names === 'stationary and automotive') return motionTypes.STOPPED_WHILE_IN_VEHICLE;
  throw new ConversionError(
    'conflicting_flags',
    `data: expected one flag, or stationary and automotive, to be true, found ${names}`,
  );
}

/** An entry that was converted before has the number in `confidence`, and the word beside it. */
function confidenceOf({ confidence, confidence_level: level }: JsonObject): JsonObject {
  if (typeof level === 'string' && typeof confidence !== 'string') {
    checkNumber(confidence, 'data.confidence', { min: 0, max: 100 });
    return { confidence: confidence ?? null, confidence_level: level };
  }
  if (confidence === undefined || confidence === null) return {};
  const word = typed(confidence, 'string', 'data.confidence', 'low, medium or high');
  return { confidence: confidences.get(word) ?? null, confidence_level: word };
}
