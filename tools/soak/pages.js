// Signed-in browsers that follow every link and send every form with wrong values, `npm run soak -- pages [number]`.
// Checks that each call is answered, that no answer is a 5xx except the documented 503s, and that the server does not
// end.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRefusal, seeded } from '../../test/faults/malformed-requests.js';
import { program, startServer } from './server.js';

const heap = 700; // MiB for each process
const people = 12; // signed-in participants, each with a browser
const managers = 3;
const days = 4; // of each participant
const mostPages = 400; // pages that a browser knows
const patience = 120; // s; a call without an answer by then is a problem

/** Links and forms that end sessions, accounts or links are left out: later calls would only be refused. */
const ends = /sign-out|\/stop|erase|lost|revoke|new-link|password/;

const values = [
  ...['', ' ', '0', '-1', '1e999', 'NaN', '99:99', '24:00', '-0:01', '12:30', '9999-12-31', '0000-00-00', '2024-02-30'],
  ...['__proto__', 'constructor', '\u0000', '\ud800', '\u202e', '<b>"\'&', '../../etc/passwd', 'x'.repeat(70_000)],
  ...['1463502000', '253402300800', '-62135596801', '4e9', '48.5,9', '91,181', 'CAR', 'no such mode', '[]', '{}'],
];

/** Sends the calls. Resolves with the exit code. */
export async function pages(count) {
  const seed = Number(process.env.MOBILITY_TEST_SEED ?? 20161117);
  const folder = mkdtempSync(join(tmpdir(), 'mobility-soak-'));
  const store = join(folder, 'store');
  const run = (...args) => execFileSync(process.execPath, [program, ...args, '--store', store], { encoding: 'utf8' });
  run('study', 'create', 'sunny');
  run('simulate', '--study', 'sunny', '--users', `${people}`, '--days', `${days}`);
  run('pipeline', '--all');
  const server = await startServer(store, { NODE_OPTIONS: `--max-old-space-size=${heap}` });
  const soak = { url: server.url, left: count, statuses: {}, paths: {}, problems: [] };
  try {
    const browsers = [];
    for (let i = 1; i <= people; i += 1) {
      const link = run('users', 'link', `sim-demo-${i}@example.org`, '--server', server.url).trim();
      const key = new URL(link).searchParams.get('key');
      browsers.push({ cookie: await cookieAfter(soak, '/me/open', { key }), start: ['/me', '/me/data'] });
    }
    for (let i = 1; i <= managers; i += 1) {
      const rights = ['--study', 'sunny', '--operator', '--may-export'];
      const password = run('managers', 'add', `mira${i}`, ...rights).trim();
      const cookie = await cookieAfter(soak, '/sign-in/study', { name: `mira${i}`, password });
      browsers.push({ cookie, start: ['/study/sunny', '/operator'] });
    }
    await Promise.all(browsers.map((browser, i) => browse(soak, browser, seeded(seed * 1_000 + i))));
    const { status } = await fetch(`${server.url}/healthz`);
    if (status !== 200) soak.problems.push(`/healthz answers ${status} in the end`);
  } finally {
    const code = await server.stop();
    if (code !== 0) soak.problems.push(`the server ended with ${code}`);
    for (const line of server.output().match(/.*ended with.*/g) ?? []) soak.problems.push(line);
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`seed ${seed}: ${count - Math.max(0, soak.left)} calls by status ${JSON.stringify(soak.statuses)}`);
  console.log(`by route ${JSON.stringify(soak.paths)}`);
  for (const problem of soak.problems.slice(0, 50)) console.log(`PROBLEM  ${problem}`);
  console.log(`${soak.problems.length} problems`);
  return soak.problems.length === 0 ? 0 : 1;
}

async function cookieAfter(soak, path, fields) {
  const answer = await call(soak, path, { method: 'POST', body: new URLSearchParams(fields) });
  const cookie = answer?.cookies[0];
  if (cookie === undefined) throw new Error(`expected a cookie from ${path}, found ${answer?.status}`);
  return cookie.split(';')[0];
}

/** Follows the links and sends the forms that one browser finds, until all calls are made. */
async function browse(soak, { cookie, start }, random) {
  const known = new Set(start);
  while (soak.left > 0) {
    const path = random.pick([...known]);
    const page = await call(soak, random.below(20) === 0 ? misspelt(path, random) : path, {
      headers: { Cookie: cookie },
    });
    if (page === undefined) continue;
    for (const [, href] of page.text.matchAll(/href="(\/[^"#]*)"/g))
      if (known.size < mostPages && !ends.test(href)) known.add(href.replaceAll('&amp;', '&'));
    const forms = (page.text.match(/<form.*?<\/form>/gs) ?? []).filter(
      (form) => !ends.test(/action="([^"]*)"/.exec(form)?.[1]),
    );
    for (let i = 0; i < 4 && forms.length > 0; i += 1) await send(soak, random.pick(forms), cookie, random);
  }
}

/** Sends a form: its hidden fields mostly as they are, the others mostly wrong, some fields twice or never. */
async function send(soak, form, cookie, random) {
  const tag = /<form[^>]*>/.exec(form)[0];
  const path = (/action="([^"]*)"/.exec(tag)?.[1] ?? '').replaceAll('&amp;', '&');
  const isFile = tag.includes('multipart/form-data');
  const fields = isFile ? new FormData() : new URLSearchParams();
  for (const [input] of form.matchAll(/<(?:input|select|textarea|button)[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    const value = (/value="([^"]*)"/.exec(input)?.[1] ?? '').replaceAll('&amp;', '&');
    if (name === undefined || random.below(12) === 0) continue;
    if (input.includes('type="file"')) {
      const text = random.pick([
        '',
        '{}',
        '[',
        'latitude,longitude,time\n1,2,3\n',
        '<gpx>',
        'PK\u0003\u0004',
        'x'.repeat(200_000),
      ]);
      fields.append(name, new Blob([text]), random.pick(['a.gpx', 'a.zip', 'a.csv', 'a', 'a.json']));
    } else fields.append(name, random.below(input.includes('hidden') ? 10 : 2) > 0 ? value : random.pick(values));
    if (random.below(20) === 0) fields.append(name, random.pick(values));
  }
  const isGet = !/method="post"/i.test(tag);
  if (isGet && !isFile) await call(soak, `${path.split('?')[0]}?${fields}`, { headers: { Cookie: cookie } });
  else await call(soak, path, { method: 'POST', body: fields, headers: { Cookie: cookie } });
}

/** A path with a part that is replaced, or with parameters that nobody expects. */
function misspelt(path, random) {
  const parts = path.split('/');
  parts[1 + random.below(parts.length - 1)] = encodeURIComponent(
    random.pick(values).slice(0, 200).replace('\ud800', '%'),
  );
  return random.below(2)
    ? parts.join('/')
    : `${path.split('?')[0]}?lang=x&day=${encodeURIComponent('99-99')}&page=-1&a=%zz`;
}

/** Makes one call; returns its status, its text and its cookies. undefined: it failed, which is noted. */
async function call(soak, path, init) {
  soak.left -= 1;
  const method = init.method ?? 'GET';
  const route = `${method} ${path
    .split('?')[0]
    .replace(/\d{4}-\d\d(-\d\d)?|[\da-f-]{36}/g, ':x')
    .slice(0, 60)}`;
  soak.paths[route] = (soak.paths[route] ?? 0) + 1;
  try {
    const options = { redirect: 'manual', signal: AbortSignal.timeout(patience * 1000) };
    const answer = await fetch(`${soak.url}${path}`, { ...init, ...options });
    const text = await answer.text();
    soak.statuses[answer.status] = (soak.statuses[answer.status] ?? 0) + 1;
    const isBusy = answer.status === 503 && answer.headers.has('retry-after');
    if (!isRefusal({ status: answer.status, text }, false) && !isBusy)
      soak.problems.push(
        `${method} ${path} ${String(init.body ?? '').slice(0, 400)} ${answer.status} ${text.slice(0, 300)}`,
      );
    return { status: answer.status, text, cookies: answer.headers.getSetCookie() };
  } catch (error) {
    soak.problems.push(`${method} ${path.slice(0, 200)}: ${error.name} ${error.cause?.code ?? error.message}`);
    return undefined;
  }
}
