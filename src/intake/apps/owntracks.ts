// Converts a message of OwnTracks, from HTTP mode or from files of OwnTracks Recorder.
import type { Origin } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import { type BatteryStatus, batteryStatuses, iosMotions, type MotionType, motionTypes } from '../../model/payloads.ts';
import { isPossibleTime, keyPart, numberFrom, pickFields, timeFrom } from './message-fields.ts';
import type { FormatReason, Mapped } from './other-entry.ts';
import { batteryEntry, locationEntry, motionEntry, newMapped, otherEntry, unusable } from './other-entry.ts';

const origin: Origin = { program: 'owntracks' };

/** Fields of a location that the entry keeps under their names in OwnTracks. */
const reportedNames = new Set('t tid m conn p poi tag created_at inregions inrids'.split(' '));
/** The server stores these fields of messages of other types, such as `transition`. */
const keptNames = new Set(
  '_type t tid m lat lon acc tst wtst created_at desc event rid steps from to distance floorsup floorsdown'.split(' '),
);

/** If a message cannot become an entry, the server stores only these fields of it. */
const shownNames = new Set([...keptNames, ...reportedNames, ...'alt vac vel cog motionactivities batt bs'.split(' ')]);

/** These types never say where the user is, and some of their messages contain passwords. */
const skippedTypes = new Set('card cmd configuration dump lwt request response status waypoints'.split(' '));

const statuses = new Map<JsonValue | undefined, BatteryStatus>([
  [1, batteryStatuses.DISCHARGING],
  [2, batteryStatuses.CHARGING],
  [3, batteryStatuses.FULL],
  ['false', batteryStatuses.DISCHARGING], // of GPSLogger
  ['true', batteryStatuses.CHARGING],
]);

/**
 * A location may have a motion and a battery reading, too. Other messages with a time are stored
 * under `owntracks/<type>`. `arrived`: the time of a location that has none. Never throws.
 */
export function fromOwnTracks(message: JsonValue, arrived?: number): Mapped {
  if (!isJsonObject(message)) {
    const text = `expected a message of OwnTracks, an object with _type, found ${kindOf(message)}`;
    return newMapped({ unusable: [unusable(message, 'format_not_an_object', text)] });
  }
  const rejected = (reason: FormatReason, text: string): Mapped =>
    newMapped({ unusable: [unusable(pickFields(message, shownNames), reason, text)] });
  const isPosition = message.lat !== undefined && message.lon !== undefined;
  const type = keyPart(message._type ?? (isPosition ? 'location' : undefined)); // the app Colota sends no `_type`
  if (type === null) return rejected('format_unknown', `expected a name in _type, found ${kindOf(message._type)}`);
  if (type === 'encrypted') {
    const remedy = 'remove the encryption key in the app, since TLS protects its messages';
    return rejected('format_encrypted', `expected a message without encryption, found an encrypted one: ${remedy}`);
  }
  if (skippedTypes.has(type)) return newMapped({ skipped: 1 });
  const { tst = message.timestamp ?? message.time } = message; // apps with a template for messages use the other names
  const ts = timeFrom(tst ?? (type === 'location' ? arrived : undefined));
  if (ts === null)
    return rejected('format_no_time', `expected tst, seconds since the epoch, found ${kindOf(message.tst)}`);
  if (!isPossibleTime(ts)) {
    const text = 'expected tst in seconds since 1970, found a time before 2010 or after 5138';
    const remedy = 'use its own mode with the address /overland';
    return rejected('format_bad_time', `${text}; Overland in its OwnTracks mode counts from 2001: ${remedy}`);
  }
  if (type === 'location') return newMapped({ entries: entriesOf(message, ts) });
  const data = { ...pickFields(message, keptNames), ts };
  return newMapped({ entries: [otherEntry(`owntracks/${type}`, ts, data, origin)] });
}

/** An accuracy of 0 means "unknown". A missing speed stays missing: the app leaves out a speed of 0. */
function entriesOf(message: JsonObject, ts: number): Mapped['entries'] {
  // OwnTracks sends km/h, Colota m/s, GPSLogger and PhoneTrack m/s with numbers as texts.
  const isOther =
    message._type === undefined ||
    message.bear !== undefined ||
    [message.vel, message.tst, message.batt].some((value) => typeof value === 'string');
  const speed = numberFrom(message.vel, 0);
  const location = {
    ts,
    latitude: numberFrom(message.lat) ?? message.lat,
    longitude: numberFrom(message.lon) ?? message.lon,
    altitude: numberFrom(message.alt),
    accuracy: positive(message.acc),
    vaccuracy: positive(message.vac),
    sensed_speed: speed === undefined || isOther ? speed : speed / 3.6,
    bearing: numberFrom(message.cog ?? message.bear, 0),
  };
  // A ping (`t` is `p`) repeats the last location, and shows that the phone was on at `created_at`.
  const created = message.t === 'p' ? (numberFrom(message.created_at) ?? ts) : ts;
  const sent = created > ts && isPossibleTime(created) ? created : ts;
  const entries = [locationEntry(location, origin, pickFields(message, reportedNames), sent)];
  const { motionactivities: words } = message;
  const type = Array.isArray(words) ? oneMotion(words, iosMotions) : null;
  if (type !== null) entries.push(motionEntry(ts, type, origin));
  const level = numberFrom(message.batt, 0);
  const status = statuses.get(numberFrom(message.bs) ?? message.bs) ?? batteryStatuses.UNKNOWN;
  if (level !== undefined) entries.push(batteryEntry(ts, level, status, origin));
  return entries;
}

const positive = (value: JsonValue | undefined): number | undefined => numberFrom(value, 0) || undefined;

/** The motion that the words name; null: none or several. Still in a vehicle: the vehicle halts. */
export function oneMotion(words: readonly JsonValue[], names: Readonly<Record<string, MotionType>>): MotionType | null {
  const known = words.filter((word) => typeof word === 'string' && Object.hasOwn(names, word)) as string[];
  const found = new Set(known.map((word) => names[word]!));
  const [first = null] = found;
  if (found.size === 2 && found.has(motionTypes.STILL) && found.has(motionTypes.IN_VEHICLE))
    return motionTypes.STOPPED_WHILE_IN_VEHICLE;
  return found.size === 1 ? first : null;
}
