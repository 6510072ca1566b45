// Malformed requests over all routes: none may end in a 5xx, without an answer, or with the server.
import { Agent, request } from 'node:http';
import { openStore } from '../dist/index.js';
import { routes } from '../dist/server/routes/index.js';
import { inFolder, line, startServer } from './kit.js';
import { isRefusal, malformedRequests } from './malformed-requests.js';

const patience = 60_000; // ms for an answer

/** Prints how `count` requests were answered; throws where one was not, or with a 5xx. */
export async function malformed({ count = 100_000, seed = 1, lanes = 16 } = {}) {
  console.log(`\nmalformed: ${count} requests over ${routes.length} routes, seed ${seed}`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    await store.users.register('ada', { now: 1 });
    await store.close();
    const server = await startServer(folder, { workers: 2 });
    const agent = new Agent({ keepAlive: true, maxSockets: lanes });
    const requests = malformedRequests(
      seed,
      routes.map(({ path }) => path),
    );
    const ofOtherApps = routes.filter(({ dialect }) => dialect !== undefined).map(({ path }) => path);
    const statuses = new Map();
    const bad = [];
    let left = count;
    const lane = async () => {
      while (left-- > 0) {
        const one = requests.next().value;
        const { status, text } = await send(server.port, agent, one);
        const isOtherApp = ofOtherApps.includes(one.path.split('?')[0]);
        const what = isOtherApp ? `${status}, other apps` : String(status);
        statuses.set(what, (statuses.get(what) ?? 0) + 1);
        if (!isRefusal({ status, text }, isOtherApp))
          bad.push({ status, ...one, body: one.body?.toString().slice(0, 500) });
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    agent.destroy();
    const told = server.stderr();
    await server.stop();
    for (const [status, times] of [...statuses].sort()) line(status, String(times));
    for (const one of bad.slice(0, 5)) console.log(one);
    if (bad.length > 0 || /ended with/.test(told))
      throw new Error(`${bad.length} of ${count} requests failed: ${told.slice(-500)}`);
  });
}

/** The status, or why there is none, and the body. */
function send(port, agent, { method, path, headers, body }) {
  return new Promise((resolve) => {
    const call = request({ port, host: '127.0.0.1', path, method, agent, headers, timeout: patience }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }));
      response.on('error', () => resolve({ status: 'broken answer', text: '' }));
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.on('error', (error) => resolve({ status: error.message, text: '' }));
    call.end(body ?? undefined);
  });
}
