// Malformed requests, seeded: what a fuzzer, a broken phone or a stranger sends, over every route.
import { gzipSync } from 'node:zlib';

/** Random numbers that come again for the same seed (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(next() * n);
  return { next, below, pick: (list) => list[below(list.length)] };
}

const texts = [
  '',
  'a',
  'ada',
  '\u0000',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  "' OR 1=1",
  '$where',
  '__proto__',
  'x'.repeat(3000),
];
const numbers = [
  '0',
  '-0',
  '-1',
  '1e999',
  '-1e999',
  'NaN',
  'Infinity',
  '1e15',
  '253402300800',
  '-62135596801',
  '1.5',
  '01',
  '0x1',
];
const names = [
  'user',
  'phone_to_server',
  'the_entry',
  'metadata',
  'data',
  'key',
  'write_ts',
  'ts',
  'time_zone',
  'start_time',
  'end_time',
  'key_list',
  'key_time',
  'year',
  'month',
  'day',
  'max_entries',
  'trunc_method',
  'freq',
  'metric',
  'metric_list',
  'is_return_aggregate',
  'update_doc',
  'mpg_array',
  'device_id',
  'location',
  'locations',
  '_type',
  '__proto__',
  'constructor',
  '',
];

function value(random, depth) {
  const kind = random.below(depth > 3 ? 5 : 8);
  if (kind === 0) return random.pick(numbers);
  if (kind === 1) return JSON.stringify(random.pick(texts));
  if (kind === 2) return random.pick(['true', 'false', 'null', 'nul', 'undefined']);
  if (kind === 3) return String(Math.round((random.next() - 0.3) * 3e9));
  if (kind === 4) return JSON.stringify(random.pick(names));
  const items = Array.from({ length: random.below(5) }, () => value(random, depth + 1));
  if (kind === 5) return `[${items.join(',')}]`;
  return `{${items.map((item) => `${JSON.stringify(random.pick(names))}:${item}`).join(',')}}`;
}

const entry = (random) =>
  `{"metadata":{"key":"background/location","write_ts":${random.pick([...numbers, '1463502000.5'])},"time_zone":${value(random, 4)}},` +
  `"data":{"latitude":${random.pick(numbers)},"longitude":8,"ts":${value(random, 4)}}}`;

/** The text of a body that is hardly ever right. */
function body(random, user) {
  const fields = [`"user":${random.pick([...Array(3).fill(`"${user}"`), '"nobody"', value(random, 2)])}`];
  for (let i = random.below(6); i > 0; i--) fields.push(`${JSON.stringify(random.pick(names))}:${value(random, 1)}`);
  if (random.below(3) === 0)
    fields.push(`"phone_to_server":[${Array.from({ length: random.below(4) }, () => entry(random))}]`);
  if (random.below(8) === 0) fields.push(`"start_time":0,"end_time":4e9,"freq":"DAILY","key_list":null`);
  let text = `{${random.below(2) ? fields.join(',') : fields.reverse().join(', ')}}`;
  if (random.below(4) === 0) {
    const at = random.below(text.length);
    text =
      text.slice(0, at) +
      random.pick(['', '"', '{', '}', ']', ',', '\u0001', '\\', '[['.repeat(600)]) +
      text.slice(at + random.below(3));
  }
  return text;
}

const methods = ['POST', 'POST', 'POST', 'POST', 'POST', 'POST', 'GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'];
const types = [
  ...Array(8).fill('application/json'),
  'text/plain',
  'application/x-www-form-urlencoded',
  '',
  'application/json; charset=x',
];
const days = [
  '2016-05-17',
  '2016-13-01',
  '0000-00-00',
  '9999-12-31',
  'x',
  '%00',
  '2016-05-17T00',
  '%2e%2e',
  '2016-02-30',
];

/**
 * True for an answer that blames the caller: a status below 500, or the 503 by which an app that deletes on a 4xx keeps
 * what it sent, with a code that is none of the server's own troubles.
 */
export function isRefusal({ status, text }, isOtherApp) {
  if (typeof status !== 'number') return false;
  if (status < 500) return true;
  const code = isOtherApp && status === 503 ? /"code":"MOBILITY_(\w+)"/.exec(text)?.[1] : undefined;
  return (
    ['BAD_REQUEST', 'FORBIDDEN', 'UNSUPPORTED', 'BODY_TOO_LARGE', 'LIMIT'].includes(code) ||
    (isOtherApp && status === 503 && (/expected (GET|POST|an address)/.test(text) || text === '')) // an answer to HEAD is empty
  );
}

/**
 * One request after the other, the same for the same seed: method, path, headers and body as bytes, or null. `paths`:
 * those of routes, in which `:name` stands for something; `users`: names that the server knows.
 */
export function* malformedRequests(seed, paths, users = ['ada']) {
  const random = seeded(seed);
  const others = [
    '/',
    '/nowhere',
    '/usercache',
    '//usercache//get',
    '/%ff',
    '/usercache/put/',
    '/healthz',
    '/metrics',
    '/openapi.json',
  ];
  for (;;) {
    const method = random.pick(methods);
    const user = random.pick(users);
    const known = random.below(20) > 0;
    const path =
      (known ? random.pick(paths) : random.pick(others)).replace(/:\w+/g, () => random.pick(days)) +
      random.pick(['', '', '', '', '?refresh=1', '?a=%zz&token=', '?user=ada']);
    const headers = {};
    const type = random.pick(types);
    if (type !== '') headers['Content-Type'] = type;
    if (random.below(6) === 0) {
      headers.Authorization = random.pick([
        `Bearer ${user}`,
        'Bearer',
        'Basic eDphZGE=',
        'Basic !!',
        'Bearer a b',
        'Bearer nobody',
        'x'.repeat(200),
      ]);
    }
    let bytes = ['GET', 'HEAD'].includes(method)
      ? null
      : Buffer.from(body(random, user), random.pick(['utf8', 'utf8', 'utf8', 'latin1', 'utf16le']));
    if (bytes !== null && random.below(8) === 0) {
      headers['Content-Encoding'] = random.pick(['gzip', 'gzip', 'gzip', 'br', 'identity', 'x-gzip']);
      if (random.below(3) > 0) bytes = gzipSync(bytes);
      if (random.below(4) === 0) bytes = bytes.subarray(0, random.below(bytes.length + 1));
    }
    yield { method, path, headers, body: bytes };
  }
}
