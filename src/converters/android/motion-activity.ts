// Motion activity of Android phones, with the shapes of 2015 and 2016 that carry the names of an obfuscated library.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { motionTypes } from '../../model/payloads.ts';
import { type Conversion, codeOf, numberOf, shortText, timeOf, withTime } from '../common.ts';
import { ConversionError } from '../conversion-error.ts';

const percent = { min: 0, max: 100 };
const codes = new Map<number, number>(Object.values(motionTypes).map((code) => [code, code]));

/** What `type` and `confidence` were called: a new pair with each release of the library. */
const legacyNames: readonly (readonly [type: string, confidence: string])[] = [
  ['agb', 'agc'],
  ['zzaEg', 'zzaEh'],
  ['zzbjA', 'zzbjB'],
  ['ajO', 'ajP'],
  ['zzaKM', 'zzaKN'],
  ['zzbhB', 'zzbhC'],
];

/** Payload `MotionActivity`. The time is that of the reading, of entries without one that of writing. */
export function convertAndroidMotionActivity(entry: Entry): Conversion {
  const { data } = entry;
  const [typeName, confidenceName] = namesIn(data);
  const type = codeOf(codes, data[typeName], `data.${typeName}`);
  const confidence = numberOf(data[confidenceName], `data.${confidenceName}`, percent);
  const hasTime = data.ts !== undefined && data.ts !== null;
  const ts = hasTime ? timeOf(data.ts, 'data.ts') : timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  // Old and without a time it is the library's own object: nothing else in it was meant to be sent.
  const isOwnObject = typeName !== 'type' && !hasTime;
  const gone = () => (isOwnObject ? Object.keys(data) : [typeName, confidenceName]);
  return withTime(entry, ts, { type, confidence }, gone);
}

function namesIn(data: JsonObject): readonly [type: string, confidence: string] {
  if (data.type !== undefined) return ['type', 'confidence'];
  const legacy = legacyNames.find(([type]) => data[type] !== undefined);
  if (legacy !== undefined) return legacy;
  const found = Object.keys(data).slice(0, 8).map(shortText).join(', ');
  throw new ConversionError(
    'missing_field',
    `data.type: expected this field or one of its names in old entries, found the fields ${found || 'none'}`,
  );
}
