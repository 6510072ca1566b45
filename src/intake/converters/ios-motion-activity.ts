// Converts motion activity of iPhones, which send six flags instead of a type.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { iosMotions, motionTypes } from '../../model/payloads.ts';
import { type Conversion, checkNumber, timeOf, typed, withTime } from './common.ts';
import { ConversionError } from './conversion-error.ts';

const percent = { min: 0, max: 100 };

/** Percent for the word that the phone sends. */
const confidences = new Map([
  ['high', 100],
  ['medium', 75],
  ['low', 50],
]);

/** To payload `MotionActivity`; the flags stay beside it. The time is `write_ts`, the start of the activity. */
export function convertIosMotionActivity(entry: Entry): Conversion {
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  const added: JsonObject = { type: typeOf(entry.data) };
  addConfidence(added, entry.data);
  return withTime(entry, ts, added);
}

/** The type that the flags describe. Each flag is read by name, because a loop takes several times longer. */
function typeOf(data: JsonObject): number {
  const stationary = isSet(data.stationary, 'data.stationary');
  const walking = isSet(data.walking, 'data.walking');
  const running = isSet(data.running, 'data.running');
  const cycling = isSet(data.cycling, 'data.cycling');
  const automotive = isSet(data.automotive, 'data.automotive');
  const unknown = isSet(data.unknown, 'data.unknown');
  const count = +stationary + +walking + +running + +cycling + +automotive + +unknown;
  if (count === 0) return motionTypes.NONE;
  if (count === 2 && stationary && automotive) return motionTypes.STOPPED_WHILE_IN_VEHICLE;
  if (count > 1) throw conflicting(data);
  if (stationary) return iosMotions.stationary;
  if (walking) return iosMotions.walking;
  if (running) return iosMotions.running;
  if (cycling) return iosMotions.cycling;
  return automotive ? iosMotions.automotive : iosMotions.unknown;
}

function isSet(flag: JsonValue | undefined, field: string): boolean {
  return typeof flag === 'boolean' ? flag : typed(flag, 'boolean', field, 'true or false');
}

function conflicting(data: JsonObject): ConversionError {
  const set = Object.keys(iosMotions).filter((name) => data[name] === true);
  const found = set.join(' and ');
  return new ConversionError(
    'conflicting_flags',
    `data: expected one flag, or stationary and automotive, to be true, found ${found}`,
  );
}

/** An entry that was converted before has a number in `confidence` and the word in `confidence_level`. */
function addConfidence(added: JsonObject, { confidence, confidence_level: level }: JsonObject): void {
  if (typeof level === 'string' && typeof confidence !== 'string') {
    checkNumber(confidence, 'data.confidence', percent);
    added.confidence = confidence ?? null;
    added.confidence_level = level;
    return;
  }
  if (confidence === undefined || confidence === null) return;
  const word = typed(confidence, 'string', 'data.confidence', 'low, medium or high');
  added.confidence = confidences.get(word) ?? null;
  added.confidence_level = word;
}
