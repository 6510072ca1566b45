// Converts motion readings: of Android, a type and a confidence in percent; of iPhones, six flags and a level.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { iosMotions, motionTypes } from '../../model/payloads.ts';
import { ConversionError, checkNumber, codeOf, numberOf, shortText, timeOf, typed } from './checks.ts';
import { type Conversion, type Converter, withTime } from './conversion.ts';

const percent = { min: 0, max: 100 };
const codes = new Map<number, number>(Object.values(motionTypes).map((code) => [code, code]));

type Names = readonly [type: string, confidence: string];

const currentNames: Names = ['type', 'confidence'];

/** Field names of 2015 and 2016. Each release of an obfuscated library used another pair. */
const legacyNames: readonly Names[] = [
  ['agb', 'agc'],
  ['zzaEg', 'zzaEh'],
  ['zzbjA', 'zzbjB'],
  ['ajO', 'ajP'],
  ['zzaKM', 'zzaKN'],
  ['zzbhB', 'zzbhC'],
];

/** The time is `data.ts`, or `write_ts` if that is missing. */
export const convertAndroidMotion: Converter = Object.assign(convertAndroid, { asPushed });

function convertAndroid(entry: Entry): Conversion {
  const { data } = entry;
  const names = namesIn(data);
  const [typeName, confidenceName] = names;
  const type = codeOf(codes, data[typeName], `data.${typeName}`);
  const confidence = numberOf(data[confidenceName], `data.${confidenceName}`, percent);
  // Without a time, legacy names belong to an object of the obfuscated library: remove all its fields.
  const removed = names === currentNames || hasTime(data) ? names : Object.keys(data);
  return withTime(entry, timeIn(entry), { type, confidence }, removed);
}

const kept = new Set(['ts', ...currentNames]);

function asPushed({ data }: Entry): ReadonlySet<string> | null {
  return data.type !== undefined && hasTime(data) ? kept : null;
}

const hasTime = ({ ts }: JsonObject): boolean => ts !== undefined && ts !== null;

function timeIn({ metadata, data }: Entry): number {
  return hasTime(data) ? timeOf(data.ts, 'data.ts') : timeOf(metadata.write_ts, 'metadata.write_ts');
}

function namesIn(data: JsonObject): Names {
  if (data.type !== undefined) return currentNames;
  const legacy = legacyNames.find(([type]) => data[type] !== undefined);
  if (legacy !== undefined) return legacy;
  const found = Object.keys(data).slice(0, 8).map(shortText).join(', ');
  const expected = 'this field or one of its names in old entries';
  throw new ConversionError('missing_field', `data.type: expected ${expected}, found the fields ${found || 'none'}`);
}

const flags = Object.keys(iosMotions) as (keyof typeof iosMotions)[];

const confidences = new Map(Object.entries({ high: 100, medium: 75, low: 50 }));

/** Adds `type` to the flags. The time is `write_ts`, when the activity began. */
export function convertIosMotion(entry: Entry): Conversion {
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  const added: JsonObject = { type: typeOf(entry.data) };
  addConfidence(added, entry.data);
  return withTime(entry, ts, added);
}

function typeOf(data: JsonObject): number {
  const set = flags.filter((name) => {
    const flag = data[name];
    return typeof flag === 'boolean' ? flag : typed(flag, 'boolean', `data.${name}`, 'true or false');
  });
  if (set.length === 2 && data.stationary === true && data.automotive === true)
    return motionTypes.STOPPED_WHILE_IN_VEHICLE;
  if (set.length > 1) {
    const expected = 'at most one true flag, or stationary and automotive';
    throw new ConversionError('conflicting_flags', `data: expected ${expected}, found ${set.join(' and ')}`);
  }
  return set.length === 0 ? motionTypes.NONE : iosMotions[set[0]!];
}

/** Adds `confidence` in percent, and the text of the phone as `confidence_level`. */
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

/** Percent; the confidence of readings without one, equal to `medium` of an iPhone. */
const usualConfidence = 75;

/** Other apps and imports send the codes of `motionTypes`. */
export function convertOtherMotion(entry: Entry): Conversion {
  const { data } = entry;
  const type = codeOf(codes, data.type, 'data.type');
  const confidence = numberOf(data.confidence ?? usualConfidence, 'data.confidence', percent);
  return withTime(entry, timeOf(data.ts, 'data.ts'), { type, confidence });
}
