// Checks that every label, survey and note of the recorded cases is found at its trip: pushes the days and the labels of a
// case over HTTP, runs the pipeline, and compares the composite trips with the expected ones. Needs a built program.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';

const shared = process.env.MOBILITY_SHARED ?? '../shared';
const program = new URL('../bin/mobility.js', import.meta.url).pathname;
const run = promisify(execFile);

const read = async (file) => JSON.parse(gunzipSync(await readFile(file)).toString());

async function checkCase(name) {
  const expected = JSON.parse(await readFile(join(shared, 'data/labels', `${name}.expected.json`), 'utf8'));
  const days = await read(join(shared, 'data/realdays', `${expected.days}.put.json.gz`));
  const labels = await read(join(shared, 'data/labels', `${name}.put.json.gz`));
  const folder = await mkdtemp(join(tmpdir(), 'mobility-labels-'));
  const env = { ...process.env, MOBILITY_STORE: join(folder, 'store'), MOBILITY_LOG_DIR: join(folder, 'logs') };
  const mobility = (...args) => run(process.execPath, [program, ...args], { env });
  await mobility('users', 'add', 'one');
  const server = spawn(process.execPath, [program, 'serve', '--auth', 'dev', '--port', '0', '--workers', '1'], { env });
  try {
    const url = await new Promise((resolve, reject) => {
      server.on('exit', () => reject(new Error('the server ended')));
      server.stderr.on('data', (text) => {
        const found = /http:\/\/[\d.]+:\d+/.exec(String(text));
        if (found) resolve(found[0]);
      });
      setTimeout(() => reject(new Error('the server did not listen within 60 s')), 60_000).unref();
    });
    const post = async (path, body) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ user: 'one', ...body }),
      });
      if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
      return response.json();
    };
    await post('/usercache/put', { phone_to_server: labels.phone_to_server });
    await post('/usercache/put', { phone_to_server: days.phone_to_server });
    await mobility('pipeline', '--user', 'one');
    const { phone_data: composite } = await post('/datastreams/find_entries/timestamp', {
      key_list: ['analysis/composite_trip'],
      key_time: 'data.end_ts',
      start_time: 0,
      end_time: 4e9,
    });
    const trips = composite.filter(({ metadata }) => metadata.origin_key === 'analysis/confirmed_trip');
    return compare(name, expected.trips, trips.map(({ data }) => data), labels.phone_to_server);
  } finally {
    server.removeAllListeners('exit');
    const ended = server.exitCode === null && server.signalCode === null && once(server, 'exit');
    server.kill();
    await ended; // the server writes until it ends
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Compares labels and notes by trip. If several trips of the original server are one trip here, their labels and notes
 * belong to it; of several labels of one key, the one written last counts.
 */
function compare(name, expected, trips, pushed) {
  const problems = [];
  const overlap = (a, b) => Math.min(a.end_ts, b.end_ts) - Math.max(a.start_ts, b.start_ts);
  const homes = new Map(trips.map((trip) => [trip, []]));
  for (const one of expected) {
    const home = [...trips].sort((a, b) => overlap(b, one) - overlap(a, one))[0];
    if (home === undefined || overlap(home, one) <= 0) {
      if (Object.keys(one.user_input).length + one.additions.length > 0) problems.push(`no trip at ${one.start_ts}`);
    } else homes.get(home).push(one);
  }
  const textOf = (label) => (typeof label === 'string' ? label : label.data.label);
  const written = (key, label) =>
    Math.max(
      ...pushed
        .filter(({ metadata, data }) => metadata.key === `manual/${key}` && data.label === label)
        .map(({ metadata }) => metadata.write_ts),
    );
  for (const [trip, theirs] of homes) {
    const input = {};
    for (const { user_input } of theirs) {
      for (const [key, label] of Object.entries(user_input)) {
        if (input[key] === undefined || written(key, label) >= written(key, input[key])) input[key] = label;
      }
    }
    const found = Object.fromEntries(Object.entries(trip.user_input).map(([key, label]) => [key, textOf(label)]));
    if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(input))) {
      problems.push(`trip ${trip.start_ts}: expected ${JSON.stringify(input)}, found ${JSON.stringify(found)}`);
    }
    const notes = theirs.flatMap(({ additions }) => additions).sort();
    const own = trip.additions.map(textOf).sort();
    if (JSON.stringify(notes) !== JSON.stringify(own)) {
      problems.push(`trip ${trip.start_ts}: expected notes ${JSON.stringify(notes)}, found ${JSON.stringify(own)}`);
    }
  }
  const places = pushed.filter(({ metadata, data }) => metadata.key.startsWith('manual/place') && data.status !== 'DELETED');
  const ids = new Set(
    trips.flatMap(({ start_confirmed_place: a, end_confirmed_place: b }) =>
      [a, b].flatMap(({ data }) => [...data.additions, ...Object.values(data.user_input)].map((note) => note.data.match_id)),
    ),
  );
  const deleted = new Set(pushed.filter(({ data }) => data.status === 'DELETED').map(({ data }) => data.match_id));
  for (const { data } of places) {
    if (!deleted.has(data.match_id) && !ids.has(data.match_id)) problems.push(`place note ${data.match_id} is at no place`);
  }
  console.log(`${name}: ${trips.length} trips, ${expected.length} expected, ${places.length} at places: ${problems.length === 0 ? 'good' : 'BAD'}`);
  for (const problem of problems) console.log(`  ${problem}`);
  return problems.length === 0;
}

const sorted = (fields) => Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));

const names = (await readdir(join(shared, 'data/labels')))
  .filter((file) => file.endsWith('.expected.json'))
  .map((file) => file.replace('.expected.json', ''));
const good = [];
for (const name of names) good.push(await checkCase(name));
if (names.length === 0 || good.includes(false)) process.exit(1);
