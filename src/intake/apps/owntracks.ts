// Converts one message of OwnTracks to entries. It comes from HTTP mode or from the files of OwnTracks Recorder.
import type { Origin } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import { type BatteryStatus, batteryStatuses, iosMotions, type MotionType, motionTypes } from '../../model/payloads.ts';
import {
  batteryEntry,
  isPossibleTime,
  keyPart,
  locationEntry,
  type Mapped,
  motionEntry,
  numberFrom,
  otherEntry,
  pickFields,
  timeFrom,
  unusable,
} from './other-entry.ts';

const origin: Origin = { program: 'owntracks' };

/** Fields that are stored beside the location. */
const reportedNames = new Set('t tid m conn p poi tag created_at inregions inrids'.split(' '));
/** Fields of other messages that are stored. */
const keptNames = new Set(
  '_type t tid m lat lon acc tst wtst created_at desc event rid steps from to distance floorsup floorsdown'.split(' '),
);

/** Fields that are stored of a message that cannot become an entry. */
const shownNames = new Set([...keptNames, ...reportedNames, ...'alt vac vel cog motionactivities batt bs'.split(' ')]);

/** Types of messages about the app, its regions or friends. None says where the user is; some contain passwords. */
const skippedTypes = new Set([
  'card',
  'cmd',
  'configuration',
  'dump',
  'lwt',
  'request',
  'response',
  'status',
  'waypoints',
]);

/**
 * Converts one message. A location becomes a location entry, with a motion and a battery reading if it has them. Other
 * messages with a time are stored as they are, under `owntracks/<type>`. A location without a time gets the time
 * `arrived`, if that is known. Never throws.
 */
export function fromOwnTracks(message: JsonValue, arrived?: number): Mapped {
  if (!isJsonObject(message)) {
    const text = `expected a message of OwnTracks, an object with _type, found ${kindOf(message)}`;
    return rejected(unusable(message, 'format_not_an_object', text));
  }
  const shown = pickFields(message, shownNames);
  const isPosition = message.lat !== undefined && message.lon !== undefined;
  const type = keyPart(message._type ?? (isPosition ? 'location' : undefined)); // Colota does not name the type
  if (type === null) {
    return rejected(unusable(shown, 'format_unknown', `expected a name in _type, found ${kindOf(message._type)}`));
  }
  if (type === 'encrypted') {
    const text =
      'expected a message without encryption, found an encrypted one: remove the encryption key in the app, since TLS protects its messages';
    return rejected(unusable(shown, 'format_encrypted', text));
  }
  if (skippedTypes.has(type)) return { entries: [], unusable: [], skipped: 1 };
  const ts = timeFrom(message.tst ?? (type === 'location' ? arrived : undefined));
  if (ts === null) {
    const text = `expected tst, seconds since the epoch, found ${kindOf(message.tst)}`;
    return rejected(unusable(shown, 'format_no_time', text));
  }
  if (!isPossibleTime(ts)) {
    const text =
      'expected tst in seconds since 1970, found a time before 2010 or after 5138; Overland in its OwnTracks mode counts from 2001: ' +
      'use its own mode with the address /overland';
    return rejected(unusable(shown, 'format_bad_time', text));
  }
  if (type !== 'location') {
    return {
      entries: [otherEntry(`owntracks/${type}`, ts, { ...pickFields(message, keptNames), ts }, origin)],
      unusable: [],
      skipped: 0,
    };
  }
  return { entries: entriesOf(message, ts), unusable: [], skipped: 0 };
}

function rejected(one: Mapped['unusable'][number]): Mapped {
  return { entries: [], unusable: [one], skipped: 0 };
}

/**
 * Converts a location. In some fields the app leaves zeros out, in others a zero means "unknown". The app always leaves
 * a speed of 0 out.
 */
function entriesOf(message: JsonObject, ts: number): Mapped['entries'] {
  const isColota = message._type === undefined || message.bear !== undefined; // Colota sends speeds in m/s
  const speed = numberFrom(message.vel, 0);
  const location = {
    ts,
    latitude: numberFrom(message.lat) ?? message.lat,
    longitude: numberFrom(message.lon) ?? message.lon,
    altitude: numberFrom(message.alt),
    accuracy: positive(message.acc),
    vaccuracy: positive(message.vac),
    sensed_speed: speed === undefined || isColota ? speed : speed / 3.6,
    bearing: numberFrom(message.cog ?? message.bear, 0),
  };
  // A ping (`t` is `p`) repeats the last location and its time. It still shows that the phone was on at `created_at`.
  const created = message.t === 'p' ? (numberFrom(message.created_at) ?? ts) : ts;
  const sent = created > ts && isPossibleTime(created) ? created : ts;
  const entries = [locationEntry(location, origin, pickFields(message, reportedNames), sent)];
  const { motionactivities: words } = message;
  const type = Array.isArray(words) ? oneMotion(words, iosMotions) : null;
  if (type !== null) entries.push(motionEntry(ts, type, origin));
  const level = numberFrom(message.batt, 0);
  if (level !== undefined) entries.push(batteryEntry(ts, level, statusOf(message.bs), origin));
  return entries;
}

function positive(value: JsonValue | undefined): number | undefined {
  const number = numberFrom(value, 0);
  return number === 0 ? undefined : number;
}

/**
 * The motion that a list of words describes. `names`: the motion of each word. null: no motion, or several that
 * contradict each other. Two motions agree only if they are "still" and "in a vehicle".
 */
export function oneMotion(words: readonly JsonValue[], names: Readonly<Record<string, MotionType>>): MotionType | null {
  const found = new Set(
    words.map((word) => (typeof word === 'string' && Object.hasOwn(names, word) ? names[word]! : null)),
  );
  found.delete(null);
  const [first = null] = found;
  if (found.size === 2 && found.has(motionTypes.STILL) && found.has(motionTypes.IN_VEHICLE)) {
    return motionTypes.STOPPED_WHILE_IN_VEHICLE;
  }
  return found.size === 1 ? first : null;
}

function statusOf(bs: JsonValue | undefined): BatteryStatus {
  if (bs === 1) return batteryStatuses.DISCHARGING;
  if (bs === 2) return batteryStatuses.CHARGING;
  return bs === 3 ? batteryStatuses.FULL : batteryStatuses.UNKNOWN;
}
