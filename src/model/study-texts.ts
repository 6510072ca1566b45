import { asObject, isJsonObject, type JsonValue } from './json.ts';
import type { StudySettings } from './study.ts';

export type StudyTexts = ReturnType<typeof studyTexts>;

/** Texts in the first preferred language that the study offers; English where texts are missing. */
export function studyTexts({ name, config, language: first }: StudySettings, preferred: readonly string[]) {
  const intro = asObject(config?.intro);
  const translated = asObject(intro.translated_text);
  const offered = Object.keys(translated).filter((one) => isJsonObject(translated[one]));
  const own = [first, 'en', ...offered].find((one) => one !== undefined && offered.includes(one)) ?? 'en';
  const language = preferred.find((one) => offered.includes(one)) ?? own;
  const texts = { ...asObject(translated.en), ...asObject(translated[language]) };
  const text = (field: string): string => plain(texts[field]);
  return {
    language,
    name: text('deployment_name') || name,
    partner: text('deployment_partner_name') === name ? '' : text('deployment_partner_name'),
    summary: ['summary_line_1', 'summary_line_2', 'summary_line_3'].map(text).filter((line) => line !== ''),
    description: text('short_textual_description'),
    why: text('why_we_collect'),
    questions: Array.isArray(texts.research_questions) ? texts.research_questions.map(plain) : [],
    consent: text('consent')
      .split(/\n+/)
      .filter((line) => line !== ''),
    contact: plain(intro.program_admin_contact),
  };
}

const plain = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value.replaceAll(/<[^>]*>/g, '').trim() : '';
