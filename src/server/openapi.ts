// The server's calls as OpenAPI 3.1, generated from the routes and the schemas of bodies and answers.
import type { OpenRoute, Route } from './routes/route.ts';
import type { AnswerSchema } from './schemas.ts';

/** The JSON Schema of an answer to a call that failed (RFC 9457). */
export const problemSchema: AnswerSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    code: { type: 'string', pattern: '^MOBILITY_[A-Z_]+$' },
    request_id: { type: 'string' },
  },
};

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
  const forCallers = routes.map((route) => [pathOf(route.path), { post: callOf(route) }]);
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

function callOf(route: Route): object {
  const { summary, answers } = route;
  const { tokenField = 'user', refuse } = route.dialect ?? {};
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const { properties = {}, required } = route.body ?? {};
  const token =
    tokenField === null ? {} : { [tokenField]: { type: 'string', description: 'the token, if no header has it' } };
  const body = { type: 'object', ...(required && { required }), properties: { ...token, ...properties } };
  return {
    summary,
    operationId: route.handler.replace(/\/:\w+/g, '').replace(/\W+/g, '_'),
    ...(names.length > 0 && { parameters: names.map(pathParameter) }),
    security: [{ bearer: [] }, { basic: [] }, {}],
    requestBody: { required: required !== undefined, content: json(body) },
    responses: {
      200: { description: 'Done', content: json(answers) },
      ...(refuse === undefined ? callProblems() : { default: { description: 'Not done; the app keeps its data' } }),
    },
  };
}

const pathParameter = (name: string): object => ({ name, in: 'path', required: true, schema: { type: 'string' } });

function openCallOf(route: OpenRoute): object {
  const { summary, answers } = route;
  const parameters = Object.entries(route.parameters ?? {}).map(([name, description]) => ({
    ...pathParameter(name),
    description,
  }));
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    responses: {
      200: { description: 'Done', content: json(answers) },
      ...(parameters.length > 0 && { 404: problemAnswers[404] }),
      503: problemAnswers[503],
    },
  };
}

/** A route for callers that is known answers no 404. */
const callProblems = (): Record<string, object> => {
  const { 404: _, ...others } = problemAnswers;
  return others;
};

const problemAnswers: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(problems).map(([status, description]) => [
    status,
    { description, content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } },
  ]),
);
