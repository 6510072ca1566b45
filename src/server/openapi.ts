// Describes the server's calls as OpenAPI 3.1, from routes and schemas.
import { type CallExample, examples } from './routes/examples.ts';
import { handlerOf, type OpenRoute, phoneTokens, type Route } from './routes/route.ts';
import { objectOf } from './schemas.ts';

/** The answer to a failed call (RFC 9457). */
export const problemSchema = objectOf(
  {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    request_id: { type: 'string' },
  },
  { code: { type: 'string', pattern: '^MOBILITY_[A-Z_]+$' } },
);

const problems: Readonly<Record<number, string>> = {
  400: 'The request is not what the call expects',
  403: 'The token is missing or invalid',
  404: 'Not found',
  413: 'The body is too large',
  415: 'The body is not JSON, or has an unknown encoding',
  429: 'The caller exceeded a limit; try again after Retry-After',
  500: 'The server failed',
  503: 'Nothing was stored; try again after Retry-After',
};

const json = (schema: unknown, example: unknown): object => ({ 'application/json': { schema, example } });

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
    servers: [{ url: '.' }], // relative to the document, which may be below a path
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

function exampleOf({ path }: Route | OpenRoute): CallExample {
  const example = examples[path];
  if (example === undefined) throw new Error(`expected an example of ${path} in server/routes/examples.ts, found none`);
  return example;
}

const pathOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

const tags = {
  phones: 'Calls of e-mission phones, and of people and scripts about their own data',
  'other apps': 'Calls of other apps',
  open: 'Calls without a token; the answers contain nothing about users',
};

function operation(route: Route | OpenRoute, tag: keyof typeof tags, parameters: object[], failures: object) {
  const { summary, path, answers } = route;
  const id = handlerOf(path).replace(/\/:\w+/g, '');
  return {
    summary,
    description: `${summary.replace(/\.$/, '')}.`,
    tags: [tag],
    ...(parameters.length > 0 && { parameters }),
    operationId: id.replace(/\W+/g, '_'),
    responses: { 200: { description: 'Done', content: json(answers, exampleOf(route).answer) }, ...failures },
  };
}

function callOf(route: Route, method: 'post' | 'get' = 'post'): object {
  const { dialect, inQuery = {}, body: asked = objectOf({}) } = route;
  const { tokenField } = dialect ?? phoneTokens;
  const example = exampleOf(route);
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => parameter('path', name!, example.path));
  const queries = Object.entries(inQuery).map(([name, description]) =>
    parameter('query', name, example.query?.[name], description),
  );
  const token = tokenField && { [tokenField]: { type: 'string', description: 'the token, if no header has it' } };
  const required = asked.required.length > 0;
  const body = { type: 'object', ...(required && { required: asked.required }) };
  const schema = { ...body, properties: { ...token, ...asked.properties } };
  const parameters = [...names, ...queries];
  const call =
    dialect === undefined
      ? operation(route, 'phones', parameters, problemAnswers(400, 403, 413, 415, 429, 500, 503))
      : operation(route, 'other apps', parameters, {
          503: { description: 'Nothing was stored; the app keeps its data' },
        });
  const security = [{ bearer: [] }, { basic: [] }, {}];
  if (method === 'get') return { ...call, security, operationId: `${call.operationId}_by_query` };
  const content = json(schema, example.body ?? { user: 'ada@example.org' });
  return { ...call, security, requestBody: { required, content } };
}

function openCallOf(route: OpenRoute): object {
  const parameters = Object.entries(route.parameters ?? {}).map(([name, description]) =>
    parameter('path', name, exampleOf(route).path, description),
  );
  const failures = parameters.length > 0 ? problemAnswers(404, 503) : problemAnswers(503);
  return { ...operation(route, 'open', parameters, failures), security: [] };
}

const parameter = (place: 'path' | 'query', name: string, example?: string, description?: string): object => ({
  name,
  in: place,
  schema: { type: 'string' },
  ...(example !== undefined && { example }),
  ...(place === 'path' && { required: true }),
  ...(description !== undefined && { description }),
});

const problemAnswers = (...statuses: number[]): Record<string, object> =>
  Object.fromEntries(
    statuses.map((status) => {
      const schema = { $ref: '#/components/schemas/Problem' };
      return [status, { description: problems[status], content: { 'application/problem+json': { schema } } }];
    }),
  );
