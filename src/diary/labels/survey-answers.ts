// Reads the questions and answers of a survey from `jsonDocResponse`, or else from `xmlResponse`.
//
//   {"data": {"attrid": "x", "travel": {"how_many_people": "2"}, "meta": {…}}}   ->   how many people: 2
import type { Entry } from '../../model/entry.ts';
import { isJsonObject, type JsonValue } from '../../model/json.ts';
import type { UserInput } from './user-labels.ts';

/** The name of a question in the form, and its answer. */
export type SurveyAnswer = readonly [question: string, answer: string];

/** The most answers of a survey that a page shows, and the most characters of each. */
const most = { answers: 30, characters: 200 };

/** True for fields that the form adds by itself. */
const isOwnField = (name: string): boolean => /^(attr.*|meta|start|end|deviceid|instanceID|__.*)$/.test(name);

/** The answers in an entry. */
export function surveyAnswers({ data }: Entry): SurveyAnswer[] {
  const { jsonDocResponse: json, xmlResponse: xml } = data;
  const leaves = isJsonObject(json) ? leavesOf(json) : [];
  const tags = typeof xml === 'string' && leaves.length === 0 ? xml.matchAll(/<([\w.-]+)>([^<]+)<\/\1>/g) : [];
  return [...leaves, ...[...tags].map(([, name, text]) => [name!, text!] as const)]
    .filter(([name, text]) => !isOwnField(name) && text.trim() !== '')
    .slice(0, most.answers)
    .map(([name, text]) => [name.replaceAll('_', ' '), text.trim().slice(0, most.characters)]);
}

function leavesOf(value: JsonValue, name = ''): SurveyAnswer[] {
  if (isOwnField(name)) return [];
  if (Array.isArray(value)) return value.flatMap((one) => leavesOf(one, name));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([field, one]) => leavesOf(one ?? null, field));
  return value === null ? [] : [[name, String(value)]];
}

/** The answers to the surveys and notes about a trip or stay. */
export const answersIn = ({ user_input, additions }: UserInput): SurveyAnswer[] =>
  [...Object.values(user_input).filter((one) => typeof one !== 'string'), ...additions].flatMap(surveyAnswers);
