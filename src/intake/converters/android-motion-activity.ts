// Converts motion activity of Android phones, including entries of 2015 and 2016 with names from an obfuscated library.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { motionTypes } from '../../model/payloads.ts';
import { type Conversion, type Converter, codeOf, numberOf, shortText, timeOf, withTime } from './common.ts';
import { ConversionError } from './conversion-error.ts';

const percent = { min: 0, max: 100 };
const codes = new Map<number, number>(Object.values(motionTypes).map((code) => [code, code]));

type Names = readonly [type: string, confidence: string];

const currentNames: Names = ['type', 'confidence'];

/** Former names of `type` and `confidence`, from recorded data. Each release of the library had another pair. */
const legacyNames: readonly Names[] = [
  ['agb', 'agc'],
  ['zzaEg', 'zzaEh'],
  ['zzbjA', 'zzbjB'],
  ['ajO', 'ajP'],
  ['zzaKM', 'zzaKN'],
  ['zzbhB', 'zzbhC'],
];

/** To payload `MotionActivity`. The time is `data.ts`, or `write_ts` if that is missing. */
export const convertAndroidMotionActivity: Converter = Object.assign(convert, { asPushed });

function convert(entry: Entry): Conversion {
  const { data } = entry;
  const names = namesIn(data);
  const [typeName, confidenceName] = names;
  const type = codeOf(codes, data[typeName], `data.${typeName}`);
  const confidence = numberOf(data[confidenceName], `data.${confidenceName}`, percent);
  // With former names and no time, `data` is the object of the library: remove all its fields.
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
  throw new ConversionError(
    'missing_field',
    `data.type: expected this field or one of its names in old entries, found the fields ${found || 'none'}`,
  );
}
