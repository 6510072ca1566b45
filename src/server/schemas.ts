// JSON Schemas of the bodies of routes, and their check. `intake/check-entry.ts` checks the entries themselves.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { localFrequencies, utcFrequencies } from '../figures/periods.ts';
import { type JsonObject, kindOf } from '../model/json.ts';
import { badRequest } from './problem.ts';

export interface BodySchema {
  type: 'object';
  required?: readonly string[];
  properties: Readonly<Record<string, object>>;
}

export type AnswerSchema = Readonly<Record<string, unknown>>;

/** The schema of an object. Default: all properties are required. */
export const objectOf = (properties: Record<string, unknown>, required = Object.keys(properties)): AnswerSchema => ({
  type: 'object',
  required,
  properties,
});

export const arrayOf = (items: AnswerSchema): AnswerSchema => ({ type: 'array', items });

/** Schemas of values that occur in several answers. */
export const values = {
  time: { type: 'number', description: 'seconds since the epoch' },
  timeOrNull: { type: ['number', 'null'], description: 'seconds since the epoch' },
  uuid: objectOf({ $uuid: { type: 'string', pattern: '^[0-9a-f]{32}$' } }),
  oid: objectOf({ $oid: { type: 'string', pattern: '^[0-9a-f]{24}$' } }),
} as const;

const number = { type: 'number' };
const textOrNull = { type: ['string', 'null'] };
const flagOrNull = { type: ['boolean', 'null'] };
const names = { type: 'array', items: { type: 'string' }, maxItems: 1000 };
const namesOrNull = { ...names, type: ['array', 'null'] };
const metricFields = {
  metric: textOrNull,
  metric_list: { ...namesOrNull, maxItems: 100 },
  is_return_aggregate: flagOrNull,
};

export function bodyOf(required: BodySchema['properties'], others: BodySchema['properties'] = {}): BodySchema {
  const needed = Object.keys(required);
  return { type: 'object', ...(needed.length > 0 && { required: needed }), properties: { ...required, ...others } };
}

/** The schemas of bodies with fields besides `user`. */
export const schemas = {
  put: bodyOf({ phone_to_server: { type: 'array', items: {} } }),
  putOne: bodyOf({ the_entry: {} }),
  updateProfile: bodyOf({}, { update_doc: { type: 'object' }, mpg_array: { type: 'array', items: number } }),
  metricsByTimestamp: bodyOf({ freq: { enum: utcFrequencies }, start_time: number, end_time: number }, metricFields),
  metricsByLocalDate: bodyOf(
    { freq: { enum: localFrequencies }, start_time: { type: 'object' }, end_time: { type: 'object' } },
    metricFields,
  ),
  metricsByDay: bodyOf(
    {
      start_time: { type: 'string' },
      end_time: { type: 'string' },
      metric_list: { type: 'object', additionalProperties: { ...names, maxItems: 20 } },
    },
    { aggregate: flagOrNull },
  ),
  findEntries: bodyOf(
    {},
    {
      key_list: namesOrNull,
      start_time: number,
      end_time: number,
      key_time: textOrNull,
      max_entries: { type: ['integer', 'null'], minimum: 1 },
      trunc_method: { enum: ['first', 'last', 'sample', null] },
    },
  ),
};

/** Does not validate the schemas themselves: that would take most of the start of a process. */
const ajv = new Ajv({
  strict: true,
  allowUnionTypes: true,
  ownProperties: true,
  meta: false,
  validateSchema: false,
  verbose: true, // errors contain the value that was found
});

/** Returns a function that checks a body. It throws a 400 `Problem` that names the wrong field. */
export function bodyCheck(schema: BodySchema): (body: JsonObject) => void {
  let validate: ValidateFunction | null = null;
  return (body) => {
    validate ??= ajv.compile(schema); // not earlier, so that the process starts sooner
    if (!validate(body)) throw badRequest(explain(validate.errors![0]!));
  };
}

/** The text of an error. It names only the kind of the value: values are the caller's data, and the text is logged. */
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
