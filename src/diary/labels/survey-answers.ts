// Reads the questions and answers of a survey from `jsonDocResponse`, or else from `xmlResponse`.
//
//   {"data": {"attrid": "x", "travel": {"how_many_people": "2"}}}   ->   how many people: 2
import type { Entry } from '../../model/entry.ts';
import { isJsonObject, type JsonValue } from '../../model/json.ts';
import type { UserInput } from './user-labels.ts';

export type SurveyAnswer = readonly [question: string, answer: string];

const most = { answers: 30, characters: 200 };

/** True for fields that form or app add, such as `attrid`, or `attrxmlns:jr` from the XML. */
const isOwnField = (name: string): boolean =>
  /^(attr(id|version|xmlns)?|.*:.*|xmlns|meta|start|end|deviceid|instanceID|formhub|__.*)$/.test(name);

export function surveyAnswers({ data }: Entry): SurveyAnswer[] {
  const { jsonDocResponse: json, xmlResponse: xml } = data;
  const leaves = isJsonObject(json) ? answersInForm(json).map(([path, text]) => [path.at(-1)!, text] as const) : [];
  const tags = typeof xml === 'string' && leaves.length === 0 ? xml.matchAll(/<([\w.-]+)>([^<]+)<\/\1>/g) : [];
  const ofTags = [...tags].flatMap(([, name, text]) => (isOwnField(name!) ? [] : [[name!, text!] as const]));
  return [...leaves, ...ofTags]
    .filter(([, text]) => text.trim() !== '')
    .slice(0, most.answers)
    .map(([name, text]) => [name.replaceAll('_', ' '), text.trim().slice(0, most.characters)]);
}

export function answersInForm(value: JsonValue, path: string[] = []): [path: string[], answer: string][] {
  if (Array.isArray(value)) return value.flatMap((one) => answersInForm(one, path));
  if (!isJsonObject(value)) return (value ?? '') === '' ? [] : [[path, String(value)]];
  return Object.entries(value).flatMap(([name, one = null]) =>
    isOwnField(name) ? [] : answersInForm(one, [...path, name]),
  );
}

export const answersIn = ({ user_input, additions }: UserInput): SurveyAnswer[] =>
  [...Object.values(user_input).filter((one) => typeof one !== 'string'), ...additions].flatMap(surveyAnswers);
