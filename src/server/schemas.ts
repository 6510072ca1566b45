// JSON Schemas of bodies and answers of routes. `intake/check-entry.ts` checks the entries in them.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { type JsonObject, kindOf } from '../model/json.ts';
import { badRequest } from './problem.ts';

export type AnswerSchema = Readonly<Record<string, unknown>>;

export interface BodySchema {
  type: 'object';
  required: readonly string[];
  properties: Readonly<Record<string, object>>;
}

/** The schema of an object. The object may have further properties. */
export const objectOf = (
  required: BodySchema['properties'],
  optional: BodySchema['properties'] = {},
): BodySchema & AnswerSchema => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
});

export const arrayOf = (items: AnswerSchema): AnswerSchema => ({ type: 'array', items });

export const values = {
  number: { type: 'number' },
  textOrNull: { type: ['string', 'null'] },
  flagOrNull: { type: ['boolean', 'null'] },
  names: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
  time: { type: 'number', description: 'seconds since the epoch' },
  timeOrNull: { type: ['number', 'null'], description: 'seconds since the epoch' },
  uuid: objectOf({ $uuid: { type: 'string', pattern: '^[0-9a-f]{32}$' } }),
  oid: objectOf({ $oid: { type: 'string', pattern: '^[0-9a-f]{24}$' } }),
} as const;

const ajv = new Ajv({
  strict: true,
  allowUnionTypes: true,
  ownProperties: true,
  meta: false,
  validateSchema: false, // a check of the schemas would take most of the time that a process needs to start
  verbose: true, // errors contain the value that was found
});

/** `check` throws a 400 `Problem` that names the wrong field. */
export function bodyCheck(schema: BodySchema) {
  let validate: ValidateFunction | null = null;
  const isValid = (body: JsonObject): boolean => {
    validate ??= ajv.compile(schema); // on first use, so that the process starts sooner
    return validate(body);
  };
  const check = (body: JsonObject): void => {
    if (!isValid(body)) throw badRequest(explain(validate!.errors![0]!));
  };
  return { isValid, check };
}

/** Names only the kind of a value: values are the caller's data, and the text is logged. */
function explain({ instancePath, keyword, message = 'to be right', params, data }: ErrorObject): string {
  const within = instancePath.slice(1).replaceAll('/', '.');
  if (keyword === 'required') {
    const field = [within, params.missingProperty].filter(Boolean).join('.');
    return `expected a field "${field}", found none`;
  }
  const [expected, found] = (explanations[keyword] ?? (() => [message, kindOf(data)]))(params, data);
  return `expected "${within}" ${expected}, found ${found}`;
}

type Explanation = (params: ErrorObject['params'], data: unknown) => [expected: string, found: string];

const kinds: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  boolean: 'true or false',
  null: 'null',
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
};

const explanations: Readonly<Record<string, Explanation>> = {
  type: ({ type }, data) => {
    const names: string[] = [type].flat();
    return [`to be ${names.map((name) => kinds[name]).join(' or ')}`, kindOf(data)];
  },
  enum: ({ allowedValues }, data) => {
    const names = allowedValues.filter((value: unknown) => value !== null).join(', ');
    return [`to be one of ${names}`, typeof data === 'string' ? 'another text' : kindOf(data)];
  },
  minimum: ({ limit }) => [`to be at least ${limit}`, 'less'],
  maxItems: ({ limit }, data) => [`to have at most ${limit} elements`, String((data as unknown[]).length)],
  minLength: (_, data) => ['to be a text with characters', kindOf(data)],
  maxLength: ({ limit }, data) => [`to have at most ${limit} characters`, String((data as string).length)],
};
