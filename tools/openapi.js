// Writes dist/openapi.json, the description of the server's calls, from the routes of the build.
import { writeFileSync } from 'node:fs';
import { openApi } from '../dist/server/openapi.js';
import { openRoutes, routes } from '../dist/server/routes/all-routes.js';

const text = JSON.stringify(openApi(routes, openRoutes), null, 2);
writeFileSync(new URL('../dist/openapi.json', import.meta.url), `${text}\n`);
