// Costs per person: CPU of hourly runs in new processes, bytes on disk per entry, CPU of a day with and without the
// models, of a day in hourly parts, of a day after a long history, and of small pushes. With MOBILITY_BENCH_USERS: only
// `pipeline --all` for that many users.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { openStore, putBatch, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import {
  against,
  bodyOf,
  createClient,
  inFolder,
  inLanes,
  line,
  locations,
  median,
  ms,
  quantile,
  run as runProgram,
  startServer,
  thousands,
} from './kit.js';

const ownBuild = fileURLToPath(new URL('..', import.meta.url));
const dayOfEntries = 1_064; // mean of the recorded days

/**
 * `folder`: recorded days, `*.put.json.gz` with the body of a put each; simulated days if undefined. They are copied to
 * `users` users; the first half of the runs is warm-up. `days`: length of the long history. `peer`: the folder of
 * another commit, built: compares a day of both builds only. `everybody`: runs the command for that many users only.
 */
export async function scale({ folder, users = 800, days = 365, peer, everybody } = {}) {
  const cases = folder ? readCases(folder) : simulatedCases(everybody === undefined ? 2 : 1);
  const name = folder ? `${cases.length} recorded cases` : `${cases.length} simulated cases`;
  if (everybody !== undefined) return inFolder((place) => measureEverybody(place, cases, name, everybody));
  console.log(`\nscale: ${name}, copied to ${users} users; CPU is user and system of all threads`);
  if (peer !== undefined) {
    await inFolder((place) => compare(place, cases, users, peer));
    await inFolder((place) => compare(place, cases, users, peer, 'plain'));
    return;
  }
  for (const people of [25, 100, 300]) await inFolder((place) => measureCold(place, cases, people));
  await inFolder((place) => measureUsers(place, cases, users));
  await inFolder((place) => measureUsers(place, cases, users, 'plain'));
  await inFolder((place) => measureHourly(place, cases));
  await inFolder((place) => measureHistory(place, [30, days]));
  await inFolder(measurePushes);
}

function readCases(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.put.json.gz'));
  return files.sort().map((file) => JSON.parse(gunzipSync(readFileSync(join(folder, file)))).phone_to_server);
}

function simulatedCases(days) {
  return ['android', 'ios'].flatMap((platform) =>
    Array.from({ length: 4 }, (_, i) =>
      [...simulateDays({ platform, day: '2024-03-11', seed: `case ${i}` }, days)].flat(),
    ),
  );
}

const now = () => Date.now() / 1000;

function startCpu() {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
}

async function run(store, userId, options = {}) {
  const report = await runPipeline(store, userId, { log: silentLog, now, ...options });
  if (report.status !== 'done')
    throw new Error(`expected a run that ends as done, found ${report.status}: ${report.message}`);
  return report;
}

/** Number of warm-up runs: enough to compile the program for all cases, if there are enough users. */
const warmUpOf = (users) => Math.floor(users / 2);

/** Starts days.js for the build in the folder `build`, with a store in `place`. */
async function startDays(place, cases, build, ...options) {
  const casesFile = join(place, 'cases.json');
  writeFileSync(casesFile, JSON.stringify(cases));
  const store = join(place, 'store');
  const child = fork(fileURLToPath(new URL('./days.js', import.meta.url)), [build, store, casesFile, ...options]);
  const ended = new AbortController();
  child.once('exit', (code) => ended.abort(new Error(`${build}: its process ended with ${code}`)));
  const answer = async () => (await once(child, 'message', { signal: ended.signal }))[0];
  await answer();
  let before = null;
  const ask = async (what, i) => {
    child.send({ ask: what, i });
    const given = await answer();
    if (before) before.cpu += given.late;
    before = given;
    return given;
  };
  return {
    store,
    /** `{ entries, cpu }` */
    put: (i) => ask('put', i),
    /** `{ cpu, stages, locations, kept }`. The next call adds the late CPU of helper threads to `cpu`. */
    run: (i) => ask('run', i),
    close: () => ask('close'),
  };
}

const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

/** `segmenter`: `plain` has no model; undefined: the shipped segmenter, and all other measurements. */
async function measureUsers(place, cases, users, segmenter) {
  const days = await startDays(place, cases, ownBuild, ...(segmenter ? [segmenter] : []));
  const puts = [];
  const runs = [];
  for (let i = 0; i < users; i++) puts.push(await days.put(i));
  for (let i = 0; i < users; i++) runs.push(await days.run(i));
  await days.close();
  const warm = runs.slice(warmUpOf(users));
  const entries = sum(puts.slice(warmUpOf(users)), (put) => put.entries);
  const aDay = (cpu) => (cpu / entries) * dayOfEntries;
  const day = aDay(sum(warm, ({ cpu }) => cpu));
  const what = `a day of ${dayOfEntries} entries, usercache to document: CPU`;
  const measured = `a day: runs measured, after ${users - warm.length} to warm up`;
  const inStage = (name) => sum(warm, ({ stages }) => stages.find(([stage]) => stage === name)[1]);
  const rate = sum(warm, ({ locations }) => locations) / inStage('analyse trips');
  const ratesText = (least) => `${rate >= least ? 'within' : 'MISSED:'} ${thousands(least)}`;
  line(segmenter ? `${measured}, without the model` : measured, String(warm.length));
  if (segmenter) {
    line(`${what}, without the model`, ms(day), against(day, 0.012, '12 ms'));
    line('  analysis as a stage, locations a CPU second', thousands(rate), ratesText(150_000));
    return;
  }
  const kept = sum(runs, (run) => run.kept);
  const bytes = sum(readdirSync(days.store), (file) => statSync(join(days.store, file)).size) / kept;
  line('bytes on disk an entry, after the pipeline, as left', bytes.toFixed(1), against(bytes, 60, '60'));
  line(what, ms(day), against(day, 0.022, '22 ms'));
  for (const [stage] of warm[0].stages) line(`  ${stage}: CPU`, ms(aDay(inStage(stage))));
  line('  analysis as a stage, locations a CPU second', thousands(rate), ratesText(60_000));
  line('the put of such a day, in the process: CPU', ms(aDay(sum(puts.slice(warmUpOf(users)), ({ cpu }) => cpu))));
  const everybody = (10_000 / 2) * day;
  line(
    'such a day of 10,000 users, CPU of the runs over 2 cores',
    `${everybody.toFixed(0)} s`,
    against(everybody, 120, '120 s'),
  );
}

/**
 * Runs the same days by this build and by the build in `peer` in turns, each in its own process. The ratio can be
 * compared between machines, also busy ones; the times cannot. `segmenter` as above; both builds use the same plain
 * segmenter.
 */
async function compare(place, cases, users, peer, segmenter) {
  const sides = [];
  for (const [name, build] of Object.entries({ ours: ownBuild, theirs: peer })) {
    mkdirSync(join(place, name));
    const days = await startDays(join(place, name), cases, build, ...(segmenter ? [segmenter] : []));
    sides.push({ days, puts: [], runs: [] });
  }
  for (let i = 0; i < users; i++) {
    for (const { days, puts, runs } of i % 2 ? sides : sides.toReversed()) {
      puts.push(await days.put(i));
      runs.push(await days.run(i));
    }
  }
  for (const { days } of sides) await days.close();
  const without = segmenter ? ', without the model' : '';
  line(`runs by each build, after as many to warm up${without}`, String(users - warmUpOf(users)));
  const entries = sum(sides[0].puts.slice(warmUpOf(users)), (put) => put.entries);
  const both = (puts, runs) => runs.map(({ cpu }, i) => ({ cpu: cpu + puts[i].cpu }));
  const stageOf = ({ stages }) => stages.find(([name]) => name === 'analyse trips');
  const parts = [
    ['usercache to document', ({ runs }) => runs],
    // Older builds do not report stages.
    ...(sides.every(({ runs }) => runs.every(stageOf))
      ? [['of it the analysis as a stage', ({ runs }) => runs.map((run) => ({ cpu: stageOf(run)[1] }))]]
      : []),
    ['its put, in the process', ({ puts }) => puts],
    ['both', ({ puts, runs }) => both(puts, runs)],
  ];
  for (const [what, of] of parts) {
    const [ours, theirs] = sides.map((side) => of(side).slice(warmUpOf(users)));
    const times = [ours, theirs].map((list) => sum(list, ({ cpu }) => cpu));
    const ratios = ours.map(({ cpu }, i) => cpu / theirs[i].cpu);
    const days = times.map((cpu) => ms((cpu / entries) * dayOfEntries)).join(', ');
    line(`a day of ${dayOfEntries} entries, ${what}: CPU, this and the other`, days);
    const quartiles = [0.25, 0.75].map((q) => quantile(ratios, q).toFixed(2)).join(' to ');
    line('  ratio, median (quartiles)', `${median(ratios).toFixed(2)} x (${quartiles})`);
    line('  ratio of the sums', `${(times[0] / times[1]).toFixed(2)} x`);
  }
}

const dayLength = 86_400; // s

/** The entries, moved some days back. Texts of local times are not changed: the program does not read them. */
function earlier(entries, days) {
  const by = days * dayLength;
  const times = ['ts', 'start_ts', 'end_ts'];
  const before = (data) =>
    Object.fromEntries(
      Object.entries(data).map(([name, value]) => [name, times.includes(name) && value !== null ? value - by : value]),
    );
  return entries.map(({ metadata, data }) => {
    return { metadata: { ...metadata, write_ts: metadata.write_ts - by }, data: before(data) };
  });
}

/** Days in 24 parts with a run after each, after two such days of each user. Two thirds of the users are warm-up. */
async function measureHourly(place, cases, users = 64, parts = 24) {
  const store = await openStore(place);
  const spent = new Map();
  let [runs, entries, kept] = [0, 0, 0];
  for (let i = 0; i < users; i++) {
    const day = cases[i % cases.length];
    const span = Math.ceil((day.at(-1).metadata.write_ts - day[0].metadata.write_ts + 1) / dayLength);
    const { user } = await store.users.register(`user ${i}`, { now: 1 });
    for (const back of [2, 1]) {
      await putBatch(user.uuid, earlier(day, back * span), { store, now });
      await run(store, user.uuid);
    }
    for (let part = 0; part < parts; part++) {
      const [from, to] = [part, part + 1].map((at) => Math.floor((at * day.length) / parts));
      await putBatch(user.uuid, day.slice(from, to), { store, now });
      const cpu = startCpu();
      const stages = [{ stage: 'lease', from: 0 }];
      await run(store, user.uuid, { onStage: (stage) => stages.push({ stage, from: cpu() }) });
      const whole = cpu();
      if (i < (users * 2) / 3) continue; // compiles the program
      runs++;
      entries += to - from;
      for (const [at, { stage, from }] of stages.entries()) {
        spent.set(stage, (spent.get(stage) ?? 0) + (stages[at + 1]?.from ?? whole) - from);
      }
    }
    kept += (await store.counts(user.uuid)).timeseries;
  }
  await store.close();
  const total = [...spent.values()].reduce((sum, cpu) => sum + cpu, 0);
  line(`one of ${parts} runs a day, ${Math.round(entries / runs)} new entries each: CPU`, ms(total / runs));
  for (const [stage, cpu] of spent) line(`  ${stage}: CPU`, ms(cpu / runs));
  const bytes = readdirSync(place).reduce((sum, file) => sum + statSync(join(place, file)).size, 0);
  line('  bytes on disk an entry, after such days, as left', (bytes / kept).toFixed(1));
}

/** CPU of ended child processes and their children, s; Linux only. */
function endedCpu() {
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/**
 * Runs the command each hour in a new process, as a timer does, after each of `people` pushed the entries of an hour.
 * The CPU includes the start of the process. The first hours are not measured: they make a history.
 */
async function measureCold(place, cases, people, hours = 8, history = 4) {
  const anHour = 57; // entries of a recorded day and hour, on average
  const days = cases.filter((day) => day.length > hours * anHour);
  const uuids = [];
  const perPerson = [];
  for (let hour = 0; hour < hours; hour++) {
    const store = await openStore(place);
    for (let i = 0; i < people; i++) {
      uuids[i] ??= (await store.users.register(`user ${i}`, { now: 1 })).user.uuid;
      const day = days[i % days.length];
      const from = Math.floor((day.length - hours * anHour) / 2) + hour * anHour; // most trips are in the middle of a day
      await putBatch(uuids[i], day.slice(from, from + anHour), { store, now });
    }
    await store.close();
    const before = endedCpu();
    await runProgram(['pipeline', '--all', '--store', place]);
    if (hour >= history) perPerson.push((endedCpu() - before) / people);
  }
  line(`an hourly run of ${people} people, ${anHour} entries each: CPU a person`, ms(median(perPerson)));
}

/**
 * Runs the command with two processes for a day of each of many users, then with new data of few users, then of none.
 */
async function measureEverybody(place, cases, name, users) {
  console.log(`\nscale: ${name}, copied to ${users} users; CPU of all processes, from their start to their end`);
  const few = Math.ceil(users / 100);
  const uuids = [];
  let entries = 0;
  const pushing = async (count, entriesOf) => {
    const store = await openStore(place);
    for (let i = 0; i < count; i++) {
      uuids[i] ??= (await store.users.register(`user ${i}`, { now: 1 })).user.uuid;
      await putBatch(uuids[i], entriesOf(i), { store, now });
    }
    await store.close();
  };
  const pipeline = async (what) => {
    const before = endedCpu();
    const { seconds, peak } = await runProgram(['pipeline', '--all', '--workers', '2', '--store', place]);
    const cpu = endedCpu() - before;
    const store = await openStore(place);
    const left = (await store.pipeline.withWork(uuids, now())).size;
    await store.close();
    if (left > 0) throw new Error(`expected no user with pending entries after the run, found ${left}`);
    line(
      what,
      `${cpu.toFixed(1)} s of CPU`,
      `${seconds.toFixed(1)} s until its end, a process at most ${peak.toFixed(0)} MiB`,
    );
    return cpu;
  };
  await pushing(users, (i) => {
    const day = cases[i % cases.length];
    entries += day.length;
    return day;
  });
  const cpu = await pipeline(`${users} users with a day each`);
  const aDay = (cpu / entries) * dayOfEntries;
  const each = (10_000 / 2) * aDay;
  line(`  of it a day of ${dayOfEntries} entries`, ms(aDay));
  line('  such a day of 10,000 users, over 2 cores', `${each.toFixed(0)} s`, against(each, 120, '120 s'));
  await pushing(few, (i) => earlier(cases[i % cases.length].slice(-1), -1));
  await pipeline(`${users} users, ${few} of them with a new entry`);
  await pipeline(`${users} users, nobody with news`);
}

async function measureHistory(place, lengths) {
  const medians = [];
  for (const [which, length] of lengths.entries()) {
    const store = await openStore(join(place, String(length)));
    const { user } = await store.users.register('somebody', { now: 1 });
    const newDays = 9;
    const all = simulateDays({ platform: 'android', day: '2020-03-02', seed: 'history' }, length + newDays);
    let count = 0;
    let batch = [];
    const cpus = [];
    for (const entries of all) {
      count++;
      batch.push(...entries);
      if (count < length && count % 30 > 0) continue;
      await putBatch(user.uuid, batch, { store, now });
      batch = [];
      if (count < length && count % 300 > 0) continue;
      const cpu = startCpu();
      await run(store, user.uuid);
      if (count > length) cpus.push(cpu());
    }
    await store.close();
    medians.push(median(cpus));
    const target = which === 0 ? [] : [against(medians[which] / medians[0], 1.2, '1.2 times the first')];
    line(`a new day (simulated) after ${length} days: CPU, median`, ms(medians[which]), ...target);
  }
}

/** Pushes of 100 entries over HTTP with all log lines: CPU of the server, as entries per second on two cores. */
async function measurePushes(place) {
  const size = 100;
  const store = await openStore(place);
  const people = 20; // they push in turn, to stay below the rate limit of a caller
  for (let i = 0; i < people; i++) await store.users.register(`user${i}`, { now: 1 });
  await store.close();
  const server = await startServer(place, { workers: 2 });
  const client = createClient(server.port, 8);
  const push = (i) => client.post('/usercache/put', bodyOf(`user${i % people}`, locations(size, 1.6e9 + i * 1e3)));
  const count = 600;
  const warmUp = 6_000;
  let pushed = 0;
  const cpuOfPushes = async (number) => {
    const [from, before] = [pushed, server.cpu()];
    pushed += number;
    await inLanes(number, 8, (i) => push(from + i));
    return (server.cpu() - before) / number;
  };
  await cpuOfPushes(count);
  const early = await cpuOfPushes(count);
  await cpuOfPushes(warmUp - pushed);
  const cpu = await cpuOfPushes(count);
  client.close();
  await server.stop();
  const rate = (2 * size) / cpu;
  const target = `${rate >= 100_000 ? 'within' : 'MISSED:'} 100k (${ms(cpu)} a push)`;
  line(`pushes of ${size} over HTTP, after ${count} to two workers: CPU each`, ms(early));
  line(`  after ${warmUp}: entries/s of 2 cores by CPU`, thousands(rate), target);
}
