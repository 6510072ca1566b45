// The server's calls as OpenAPI 3.1, generated from the routes and the schemas of bodies and answers.
import { handlerOf, type OpenRoute, type Route } from './routes/route.ts';
import { type AnswerSchema, objectOf } from './schemas.ts';

/** The JSON Schema of an answer to a call that failed (RFC 9457). */
export const problemSchema: AnswerSchema = objectOf(
  {
    ...{ type: { type: 'string' }, title: { type: 'string' }, detail: { type: 'string' } },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    code: { type: 'string', pattern: '^MOBILITY_[A-Z_]+$' },
    request_id: { type: 'string' },
  },
  ['type', 'title', 'status', 'detail', 'request_id'],
);

const problems: Readonly<Record<number, string>> = {
  400: 'The request is not what the call expects',
  403: 'No good token',
  404: 'There is no such thing',
  413: 'The body is too large',
  415: 'The body is no JSON, or has an unknown encoding',
  429: 'The caller meets a limit of one caller; try again after Retry-After',
  500: 'The server failed',
  503: 'Nothing was stored; try again after Retry-After',
};

const json = (schema: unknown): object => ({ 'application/json': { schema } });

/** The document. */
export function openApi(routes: readonly Route[], openRoutes: readonly OpenRoute[]): object {
  const forCallers = routes.map((route) => {
    return [pathOf(route.path), { post: callOf(route), ...(route.inQuery && { get: callOf(route, 'get') }) }];
  });
  const forAll = openRoutes.map((route) => [pathOf(route.path), { get: openCallOf(route) }]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'mobility',
      version: '1',
      description:
        'Self-hosted mobility data service: phones push what they sensed and pull a diary of trips. See docs/api.md.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries([...forCallers, ...forAll]),
    components: {
      schemas: { Problem: problemSchema },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic', description: 'the password is the token' },
      },
    },
  };
}

/** `/timeline/getTrips/:date` as `/timeline/getTrips/{date}`. */
const pathOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** What a call is about, by the first part of its path. */
const tags = {
  phones: 'What phones of this family push and pull, and what people and scripts ask of their own data',
  'other apps': 'What other apps push',
  open: 'Without a token; about no user',
};

const operationId = (path: string): string =>
  handlerOf(path)
    .replace(/\/:\w+/g, '')
    .replace(/\W+/g, '_') || 'root';

function callOf(route: Route, method: 'post' | 'get' = 'post'): object {
  const { summary, answers, inQuery = {} } = route;
  const { tokenField = 'user', refuse } = route.dialect ?? {};
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const parameters = [
    ...names.map(pathParameter),
    ...Object.entries(inQuery).map(([name, description]) => ({ ...queryParameter(name), description })),
  ];
  const { properties = {}, required } = route.body ?? {};
  const token =
    tokenField === null ? {} : { [tokenField]: { type: 'string', description: 'the token, if no header has it' } };
  const body = { type: 'object', ...(required && { required }), properties: { ...token, ...properties } };
  return {
    ...{ summary, description: `${summary.replace(/\.$/, '')}.` },
    tags: [refuse === undefined ? 'phones' : 'other apps'],
    operationId: `${operationId(route.path)}${method === 'get' ? '_by_query' : ''}`,
    ...(parameters.length > 0 && { parameters }),
    security: [{ bearer: [] }, { basic: [] }, {}],
    ...(method === 'post' && { requestBody: { required: required !== undefined, content: json(body) } }),
    responses: {
      200: { description: 'Done', content: json(answers) },
      ...(refuse === undefined
        ? problemAnswers(400, 403, 413, 415, 429, 500, 503)
        : { 503: { description: 'Nothing was stored; the app keeps its data' } }),
    },
  };
}

const queryParameter = (name: string): object => ({ name, in: 'query', schema: { type: 'string' } });
const pathParameter = (name: string): object => ({ name, in: 'path', required: true, schema: { type: 'string' } });

function openCallOf(route: OpenRoute): object {
  const { summary, answers } = route;
  const parameters = Object.entries(route.parameters ?? {}).map(([name, description]) => ({
    ...pathParameter(name),
    description,
  }));
  return {
    ...{ summary, description: `${summary.replace(/\.$/, '')}.` },
    tags: ['open'],
    operationId: operationId(route.path),
    ...(parameters.length > 0 && { parameters }),
    security: [],
    responses: {
      200: { description: 'Done', content: json(answers) },
      ...(parameters.length > 0 ? problemAnswers(404, 503) : problemAnswers(503)),
    },
  };
}

/** The answers of calls that failed with these statuses. */
const problemAnswers = (...statuses: number[]): Record<string, object> =>
  Object.fromEntries(
    statuses.map((status) => {
      const schema = { $ref: '#/components/schemas/Problem' };
      return [status, { description: problems[status], content: { 'application/problem+json': { schema } } }];
    }),
  );
