// Mixed load, `npm run soak -- hour [minutes]`: phones push and read while commands of an operator run one after
// another. At the end, every acknowledged entry must be stored once, and the server must not use more memory or file
// descriptors than before.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { program, startServer } from './server.js';

const index = new URL('../../dist/index.js', import.meta.url);

const phones = 6; // phones that push all the time
const pauseSeconds = 0.2; // between two pushes of a phone
const sampleSeconds = 5;
const victim = 'victim@example.org'; // the user who is erased and registered again and again

/** Runs the load for some minutes. Resolves with the exit code. */
export async function hour(minutes) {
  const folder = mkdtempSync(join(tmpdir(), 'mobility-soak-'));
  const problems = [];
  const server = await startServer(join(folder, 'store'));
  try {
    const load = {
      folder,
      server,
      problems,
      end: Date.now() + minutes * 60_000,
      sent: new Map(),
      calls: {},
      commands: {},
    };
    const people = Array.from({ length: phones }, (_, n) => `phone-${n}@example.org`);
    for (const name of [...people, victim]) await command(load, ['users', 'add', name]);
    const samples = [];
    await Promise.all([
      ...people.map((name, n) => phone(load, name, n)),
      phoneOfVictim(load),
      operator(load, people),
      sample(load, samples),
    ]);
    await command(load, ['pipeline', '--all']);
    await server.stop();
    await verify(load, people);
    report(load, samples);
    judgeGrowth(samples, problems);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  for (const problem of problems) console.log(`PROBLEM  ${problem}`);
  console.log(problems.length === 0 ? 'no entry lost or stored twice, no growth' : `${problems.length} problems`);
  return problems.length === 0 ? 0 : 1;
}

// ---------------------------------------------------------------- the server

/** Resident MiB and file descriptors of all processes of the server; null if the system has no /proc. */
function figures(pid) {
  const pids = [pid, ...childrenOf(pid)];
  try {
    let rss = 0;
    let descriptors = 0;
    for (const one of pids) {
      rss += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0) / 1024;
      descriptors += readdirSync(`/proc/${one}/fd`).length;
    }
    return { rss, descriptors };
  } catch {
    return null;
  }
}

function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

async function sample({ server, end }, samples) {
  while (Date.now() < end) {
    const now = figures(server.pid);
    if (now !== null) samples.push(now);
    await sleep(sampleSeconds * 1000);
  }
}

// ---------------------------------------------------------------- callers

async function call(load, path, body) {
  const began = performance.now();
  const response = await fetch(`${load.server.url}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  load.calls[path] ??= { times: [], statuses: {} };
  const counted = load.calls[path];
  counted.times.push(performance.now() - began);
  counted.statuses[response.status] = (counted.statuses[response.status] ?? 0) + 1;
  if (response.status >= 500 && response.status !== 503) load.problems.push(`${path}: ${response.status} ${text}`);
  return { status: response.status, text };
}

/** Days of one phone, repeated with later times: pushed in batches, some of them twice, then read. */
async function phone(load, name, n) {
  const { addDays, simulateDay } = await import(index.href);
  const sent = new Map();
  load.sent.set(name, sent);
  for (let day = 0; Date.now() < load.end; day += 1) {
    const options = { platform: n % 2 ? 'ios' : 'android', day: addDays('2023-01-02', day), seed: name };
    const entries = simulateDay(options);
    for (let from = 0; from < entries.length && Date.now() < load.end; from += 500) {
      const batch = entries.slice(from, from + 500);
      const answer = await call(load, '/usercache/put', { user: name, phone_to_server: batch });
      if (answer.status === 200)
        for (const { metadata } of batch) sent.set(`${metadata.key} ${metadata.write_ts}`, true);
      if (from % 1500 === 0) await call(load, '/usercache/put', { user: name, phone_to_server: batch });
      await sleep(pauseSeconds * 1000);
    }
    await call(load, '/usercache/get', { user: name });
    await call(load, '/pipeline/get_complete_ts', { user: name });
  }
}

/** Pushes for the user who is erased and registered again: the answer is 200 or 403. */
async function phoneOfVictim(load) {
  const { simulateDay } = await import(index.href);
  const batch = simulateDay({ platform: 'android', day: '2023-03-06', seed: victim }).slice(0, 2000);
  while (Date.now() < load.end) {
    const { status, text } = await call(load, '/usercache/put', { user: victim, phone_to_server: batch });
    if (![200, 403, 503].includes(status)) load.problems.push(`a put of an erased user: ${status} ${text}`);
    await sleep(pauseSeconds * 1000);
  }
}

// ---------------------------------------------------------------- operator

/** Runs a command. Exit code 1 is a problem unless `mayFail`: another command may hold the lease of the user. */
async function command(load, args, { mayFail = false } = {}) {
  const child = spawn(process.execPath, [program, ...args, '--store', load.server.store], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let output = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  load.commands[args[0]] ??= {};
  const counted = load.commands[args[0]];
  counted[code] = (counted[code] ?? 0) + 1;
  if (code !== 0 && code !== 3 && !(mayFail && code === 1)) load.problems.push(`${args.join(' ')}: ${code} ${output}`);
  return { code, out };
}

async function operator(load, people) {
  for (let round = 0; Date.now() < load.end; round += 1) {
    const someone = people[round % people.length];
    const copy = join(load.folder, `copy-${round}`);
    await command(load, ['pipeline', '--all']);
    await command(load, ['backup', copy]);
    rmSync(copy, { recursive: true, force: true });
    await command(load, ['recover-errors'], { mayFail: true });
    await command(load, ['rebuild', '--user', someone], { mayFail: true });
    await command(load, ['migrate', '--to', copy], { mayFail: true });
    rmSync(copy, { recursive: true, force: true });
    const { code, out } = await command(load, ['erase', '--user', victim, '--yes', '--json'], { mayFail: true });
    if (code === 0) expectNothingLeft(load, JSON.parse(out));
    await command(load, ['users', 'add', victim], { mayFail: true });
  }
}

function expectNothingLeft({ problems }, { users }) {
  const left = Object.entries(users[0].remaining).filter(([, rows]) => rows > 0);
  if (left.length > 0) problems.push(`rows of an erased user: ${JSON.stringify(left)}`);
}

// ---------------------------------------------------------------- checks

async function verify({ server, sent, problems }, people) {
  const { everyEntry, openStore } = await import(index.href);
  const store = await openStore(server.store);
  try {
    for (const name of people) {
      const { uuid } = await store.users.byEmail(name);
      const found = new Map();
      for (const part of [store.usercache, store.timeseries]) {
        for await (const { metadata } of everyEntry(part, uuid, { time: 'write_ts' })) {
          const identity = `${metadata.key} ${metadata.write_ts}`;
          found.set(identity, (found.get(identity) ?? 0) + 1);
        }
      }
      const lost = [...sent.get(name).keys()].filter((identity) => !found.has(identity));
      const twice = [...found].filter(([, times]) => times > 1);
      if (lost.length > 0) problems.push(`${name}: ${lost.length} acknowledged entries are lost, such as ${lost[0]}`);
      if (twice.length > 0) problems.push(`${name}: ${twice.length} entries are there twice, such as ${twice[0][0]}`);
    }
  } finally {
    await store.close();
  }
}

const greatest = (samples, what) => Math.max(0, ...samples.map((one) => one[what]));

function report({ calls, commands, sent }, samples) {
  for (const [path, { times, statuses }] of Object.entries(calls)) {
    times.sort((a, b) => a - b);
    const [p50, p99] = [0.5, 0.99].map((q) => times[Math.floor(q * (times.length - 1))].toFixed(0));
    console.log(`${path.padEnd(28)} ${JSON.stringify(statuses)}  p50 ${p50} ms  p99 ${p99} ms`);
  }
  for (const [name, codes] of Object.entries(commands))
    console.log(`${name.padEnd(28)} exit codes ${JSON.stringify(codes)}`);
  console.log(`entries acknowledged         ${[...sent.values()].reduce((sum, one) => sum + one.size, 0)}`);
  const quarter = Math.ceil(samples.length / 4);
  for (let from = 0; from < samples.length; from += quarter) {
    const part = samples.slice(from, from + quarter);
    console.log(
      `quarter ${from / quarter + 1}: at most ${greatest(part, 'rss').toFixed(0)} MiB and ${greatest(part, 'descriptors')} descriptors`,
    );
  }
}

/** Compares the last quarter of the samples with the second; the first quarter is warm-up. */
function judgeGrowth(samples, problems) {
  if (samples.length < 16) return console.log('expected at least 16 samples to judge growth: run it longer');
  const quarter = Math.floor(samples.length / 4);
  const [second, last] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  for (const [what, factor, more] of [
    ['rss', 1.25, 50],
    ['descriptors', 1, 20],
  ]) {
    const [before, after] = [greatest(second, what), greatest(last, what)];
    if (after > before * factor + more) problems.push(`${what} grew from ${before.toFixed(0)} to ${after.toFixed(0)}`);
  }
}
