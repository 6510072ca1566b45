import { asObject, isJsonObject, type JsonObject, type JsonValue, kindOf } from './json.ts';
import type { StudySettings } from './study.ts';

export const configFileName = (study: string): string => `${study}.nrel-op.json`;

export const labelsFileName = (study: string): string => `${study}.labels.json`;

/**
 * Completes the configuration of a study. A field comes from `given`, else from the stored
 * configuration, else from the defaults. The function always sets the address of this server, the
 * study's name and its subgroups. `version` grows by one if anything changed. `now`: in seconds.
 *
 * A configuration with a `version` was published before. If it has no `opcode`, none is added: the
 * members have tokens of three parts, which the app accepts only without `opcode`.
 *
 * Lists in `label_options` become `label_lists`, and `label_options` their address on this server.
 */
export function studyConfig(
  study: StudySettings,
  { address, given = {}, now, texts }: { address: string; given?: JsonObject; now: number; texts: DefaultTexts },
): JsonObject {
  const before = study.config ?? {};
  const { version: _, ts: __, ...wanted } = merged(merged(usual(study, texts), before), given);
  const { subgroups: ___, ...opcode } = asObject(wanted.opcode);
  const isOfThreeParts = wanted.opcode === undefined && (study.config ?? given).version !== undefined;
  const lists = isJsonObject(wanted.label_options) ? wanted.label_options : wanted.label_lists;
  const isOwn = lists !== undefined && typeof given.label_options !== 'string';
  const config: JsonObject = {
    ...wanted,
    ...(isOwn && { label_lists: lists, label_options: `${address}/configs/${labelsFileName(study.name)}` }),
    url_abbreviation: study.name,
    server: { aggregate_call_auth: 'user_only', ...asObject(wanted.server), connectUrl: `${address}/` },
    ...(!isOfThreeParts && {
      opcode: {
        ...opcode,
        autogen: study.joining === 'open',
        // In an empty list, the app would find no subgroup and let no person join.
        ...(study.subgroups.length > 0 && { subgroups: [...study.subgroups] }),
      },
    }),
  };
  const { version, ts, ...known } = before;
  if (JSON.stringify(known) === JSON.stringify(config)) return before;
  const last = typeof version === 'number' ? version : 0;
  const asked = typeof given.version === 'number' ? given.version : 0;
  return { version: Math.max(last + 1, asked), ts: Math.floor(now), ...config };
}

/** Default texts by language, as fields of the configuration, and the name of the contact. */
type DefaultTexts = Readonly<Record<string, { newStudy: Record<string, string> & { contact: string } }>>;

function usual({ name, language = 'en' }: StudySettings, texts: DefaultTexts): JsonObject {
  const names = { deployment_partner_name: name, deployment_name: name };
  const textsIn = (one: string): JsonObject => {
    const { contact: _, ...words } = texts[one]?.newStudy ?? {};
    return { ...names, ...words, research_questions: [] };
  };
  return {
    intro: {
      program_or_study: 'study',
      start_month: '1',
      start_year: '2026',
      program_admin_contact: (texts[language] ?? texts.en!).newStudy.contact,
      deployment_partner_name: name,
      translated_text: { en: textsIn('en'), [language]: textsIn(language) },
    },
    survey_info: { surveys: {}, 'trip-labels': 'MULTILABEL' },
    display_config: { use_imperial: false },
    profile_controls: { support_upload: false, trip_end_notification: false },
  };
}

function merged(base: JsonObject, over: JsonObject): JsonObject {
  const pairs = Object.entries(over).map(([name, value]) => {
    const there = Object.hasOwn(base, name) ? base[name] : undefined;
    return [name, isJsonObject(there) && isJsonObject(value) ? merged(there, value) : value];
  });
  return { ...base, ...Object.fromEntries(pairs) };
}

type Check = (value: JsonValue | undefined) => boolean;

const text: Check = (value) => typeof value === 'string' && value !== '';
const matching =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const oneOf =
  (...allowed: JsonValue[]): Check =>
  (value) =>
    allowed.includes(value as JsonValue);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === '' || check(value); // published configurations leave texts empty

const isList: Check = (value) => Array.isArray(value) && value.every((row) => isJsonObject(row) && text(row.value));

const rules: readonly (readonly [path: string, expected: string, check: Check])[] = [
  ['version', 'a whole number above 0', (value) => Number.isSafeInteger(value) && Number(value) > 0],
  ['server', 'an object', isJsonObject],
  ['server.connectUrl', 'an http or https address that ends in /', matching(/^https?:\/\/\S+\/$/)],
  ['server.aggregate_call_auth', 'no_auth, user_only or never', oneOf('no_auth', 'user_only', 'never')],
  ['intro', 'an object', isJsonObject],
  ['intro.program_or_study', 'program or study', oneOf('program', 'study')],
  ['intro.translated_text', 'an object with a text for each language', isJsonObject],
  ['intro.translated_text.en', 'an object: the app falls back on English', isJsonObject],
  ['intro.translated_text.en.deployment_name', 'a text', text],
  ['intro.mode_studied', 'a mode or a list of modes', optional((value) => text(value) || Array.isArray(value))],
  ['survey_info', 'an object', isJsonObject],
  ['survey_info.trip-labels', 'MULTILABEL or ENKETO', oneOf('MULTILABEL', 'ENKETO')],
  ['survey_info.surveys', 'an object', isJsonObject],
  ['survey_info.buttons', 'an object', optional(isJsonObject)],
  ['opcode.subgroups', 'a list of texts', optional((value) => Array.isArray(value) && value.every(text))],
  ['opcode.autogen', 'true or false', optional(oneOf(true, false))],
  ['label_options', 'an address', optional(text)],
  ['label_lists.MODE', 'a list of objects, each with a text in "value"', optional(isList)],
  ['label_lists.PURPOSE', 'a list of objects, each with a text in "value"', optional(isList)],
  ['vehicle_identities', 'a list', optional(Array.isArray)],
  ['reminderSchemes', 'an object', optional(isJsonObject)],
  ['tracking', 'an object', optional(isJsonObject)],
  ['sync', 'an object', optional(isJsonObject)],
  ['metrics', 'an object', optional(isJsonObject)],
  ['min_app_version', 'a version such as 1.9.6', optional(matching(/^\d+(\.\d+)*$/))],
];

export function configFlaws(config: JsonObject): string[] {
  return rules.flatMap(([path, expected, check]) => {
    const value = path
      .split('.')
      .reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), config);
    return check(value) ? [] : [`${path}: expected ${expected}, found ${kindOf(value)}`];
  });
}

/** True if `config` is newer than `version`, and the app is not too old for it. */
export function isNewerConfig(
  config: JsonObject,
  version: JsonValue | undefined,
  appVersion: JsonValue | undefined,
): boolean {
  if (typeof version !== 'number' || typeof config.version !== 'number' || config.version <= version) return false;
  const least = config.min_app_version;
  return typeof least !== 'string' || (typeof appVersion === 'string' && !isOlder(appVersion, least));
}

function isOlder(version: string, least: string): boolean {
  const [a, b] = [version, least].map((one) => one.split('.').map((part) => Number.parseInt(part, 10) || 0));
  for (let i = 0; i < Math.max(a!.length, b!.length); i += 1) {
    if ((a![i] ?? 0) !== (b![i] ?? 0)) return (a![i] ?? 0) < (b![i] ?? 0);
  }
  return false;
}
