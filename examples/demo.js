// Shows the whole service in some seconds: two simulated phones push a day to a server, and the pipeline makes the
// diary.
//
//   npm run demo
//   npm run demo -- --pages   makes a study of 12 people in ./demo-out/pages, and serves it until Ctrl-C
//
// Everything is kept in ./demo-out: the store, its logs, and a GeoJSON file per person to open in a map. You can run
// it again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore, readTripsOfDay, simulateDay, toFlatGeoJson } from 'mobility';

const program = fileURLToPath(new URL('../bin/mobility.js', import.meta.url));
const isPages = process.argv.includes('--pages');
const out = isPages ? 'demo-out/pages' : 'demo-out';
const folder = join(out, 'store');
const day = '2024-03-12';
const people = [
  { name: 'ada@example.org', uuid: 'ada0ada0-0000-4000-8000-000000000001', platform: 'android', seed: 'ada' },
  { name: 'ben@example.org', uuid: 'be00be00-0000-4000-8000-000000000002', platform: 'ios', seed: 'ben' },
];

// A colour per mode in the form of simplestyle-spec, which many GeoJSON viewers read.
const colours = { walking: '#2b8a3e', on_foot: '#2b8a3e', bicycling: '#e8590c', in_vehicle: '#1c7ed6' };

try {
  await mkdir(out, { recursive: true });
  await rm(folder, { recursive: true, force: true });
  if (isPages) await showPages();
  else await showDiary();
} catch (error) {
  console.error(`demo: ${error.message}`);
  process.exitCode = 1;
}

async function showDiary() {
  step('Register two people');
  const list = join(out, 'people.csv');
  await writeFile(list, `user_email,uuid\n${people.map(({ name, uuid }) => `${name},${uuid}\n`).join('')}`);
  await mobility('users', 'import', list);

  step('Start the server');
  const server = await startServer();
  try {
    step(`Push ${day} from an Android phone and an iPhone, over HTTP`);
    for (const person of people) await push(server, person);

    step('Run the pipeline');
    await mobility('pipeline', '--all');

    step('Read the diary');
    for (const [index, { name }] of people.entries()) {
      if (index > 0) console.log();
      await mobility('diary', '--user', name, '--day', day);
    }
  } finally {
    await server.stop();
  }

  step('Write maps');
  const store = await openStore(folder);
  try {
    for (const { name, uuid } of people) {
      const map = toFlatGeoJson(await readTripsOfDay(store, uuid, day));
      for (const { properties } of map.features) properties.stroke = colourOf(properties.sensed_mode);
      const file = join(out, `${name.split('@')[0]}-${day}.geojson`);
      await writeFile(file, JSON.stringify(map));
      console.log(`${file}: ${map.features.length} features; open it at https://geojson.io`);
    }
  } finally {
    await store.close();
  }
  console.log(`\nNext: node bin/mobility.js doctor --user ada@example.org --store ${folder}, and README.md`);
}

/** Two links: the days of a person, and the study with its password. */
async function showPages() {
  step('Simulate a study of 12 people and 14 days');
  const feed = join(out, 'town.zip');
  await rm(feed, { force: true });
  await mobility('simulate', '--study', 'sunny', '--users', '12', '--days', '14', '--feed', feed);
  step('Add the timetables of the town');
  await mobility('transit', 'add', feed);
  step('Run the pipeline');
  await mobility('pipeline', '--all', '--quiet');
  const server = await startServer();
  const { link } = await answer('users', 'link', 'sim-demo-1@example.org', '--server', server.url);
  const { name, password } = await answer('managers', 'add', 'mira', '--study', 'sunny', '--operator', '--may-export');
  step('Open the pages');
  console.log(`My days (works once):  ${link}`);
  console.log(`The study:             ${server.url}/study   name ${name}, password ${password}`);
  console.log('\nCtrl-C ends the server.');
  await once(process, 'SIGINT');
  await server.stop();
}

// ---------------------------------------------------------------- helpers

function step(text) {
  console.log(`\n── ${text} ${'─'.repeat(Math.max(0, 76 - text.length))}`);
}

/** The colour of a mode such as `PredictedModeTypes.BUS`. */
function colourOf(mode = '') {
  const word = mode.slice(mode.indexOf('.') + 1).toLowerCase();
  return colours[word] ?? '#495057';
}

/** Runs `mobility ...args` on the store of the demo and shows its output. */
async function mobility(...args) {
  await run(args, 'inherit');
}

/** Runs `mobility ...args --json` and returns its answer. */
async function answer(...args) {
  return JSON.parse(await run([...args, '--json'], ['ignore', 'pipe', 'ignore']));
}

async function run(args, stdio) {
  const child = spawn(process.execPath, [program, ...args, '--store', folder], { stdio });
  let written = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    written += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`mobility ${args[0]} ended with ${code}`);
  return written;
}

/** Starts `mobility serve` on a free port and waits until it listens. */
async function startServer() {
  const args = ['serve', '--auth', 'dev', '--port', '0', '--workers', '1', '--store', folder];
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'inherit', 'pipe'] });
  const closed = new Promise((resolve) => child.once('close', resolve));
  process.once('exit', () => child.kill());
  const url = await new Promise((resolve, reject) => {
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text;
      const found = /listens on (http\S+)/.exec(output);
      if (found) resolve(found[1]);
    });
    void closed.then((code) => reject(new Error(`the server ended with ${code}: ${output}`)));
  });
  console.log(`the server listens on ${url}`);
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

/** Pushes a day as a phone does. */
async function push(server, { name, platform, seed }) {
  const phone_to_server = simulateDay({ platform, day, seed });
  const response = await fetch(`${server.url}/usercache/put`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user: name, phone_to_server }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`the server answered ${response.status}: ${answer}`);
  console.log(`${name} (${platform}) pushed ${phone_to_server.length} entries: ${answer}`);
}
