// Measures what managers and operators wait for: pages of a study and lists of days, in a new process (first look) and
// again.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { everyDay } from '../dist/diary/read-days.js';
import { openStore, putBatch, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { textsFor } from '../dist/web/pages/texts/texts.js';
import { webRoutes } from '../dist/web/routes.js';
import { FigureCache } from '../dist/web/study-people.js';
import { against, inFolder, line, median, ms } from './kit.js';

const members = 50;
const days = 14;
const owners = 300; // people of one day: enough for a process to be warm, as in a round over a server
const today = '2024-04-20';
const month = '2024-03';
const dayBefore = (count) => new Date(Date.parse(today) - count * 86_400_000).toISOString().slice(0, 10);
const now = () => Date.parse(today) / 1000 + 43_200;
const large = { people: 5000, study: 'large', sources: 10, days: 55 };

/** Prints CPU of pages of a study, and of `days --all` for people of one day. */
export async function studyPages() {
  console.log(`\nstudy: CPU of a page for ${members} people of ${days} days, in a new process, then again`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    await fill(store, 'small', members, days);
    await fill(store, 'sources', large.sources, large.days);
    await fill(store, 'oneDay', owners, 1);
    await copyMonths(store);
    await store.close();
    await report(folder, 'people of a study', '/study/:study', 'small', 0.2);
    await report(folder, 'days to check', '/study/:study/flagged', 'small', 0.1);
    await report(folder, `month that has not ended, ${members} people`, '/study/:study/figures/:month', 'small', 0.02);
    const name = `figures of a month, ${large.people} people`;
    await report(folder, name, '/study/:study/figures/:month', large.study, 2, 0.1);
    const { rounds } = await look(folder, 'days', 'oneDay');
    const [first, ...rest] = rounds.map((cost) => cost / owners);
    line('days with flags, each person of one day: CPU, first', ms(first));
    line('then', ms(median(rest)), against(median(rest), 0.001, '1 ms'));
  });
}

async function fill(store, name, people, count) {
  const day = dayBefore(count);
  for (let i = 0; i < people; i++) {
    const { user } = await store.users.register(`${name}-${i}`, { now: 1, study: name });
    const phone = { platform: i % 2 ? 'ios' : 'android', day, seed: `${name} ${i}`, zone: 'Europe/Berlin' };
    for (const entries of simulateDays(phone, count)) await putBatch(user.uuid, entries, { store, now });
    await runPipeline(store, user.uuid, { log: silentLog, now });
  }
}

/** Gives each person of a large study the stored figures of two months of one of a few people. */
async function copyMonths(store) {
  const known = await store.users.months({ study: 'sources', limit: large.sources }, month);
  for (let i = 0; i < large.people; i++) {
    const { user } = await store.users.register(`${large.study}-${i}`, { now: 1, study: large.study });
    const { lease } = await store.leases.acquire(user.uuid, 'bench', 60);
    const months = [{ month, figures: known[i % large.sources].figures }];
    await store.trips.apply(user.uuid, { put: [], remove: [], months }, { months: { newest: month, until: 0 } }, lease);
  }
}

async function report(folder, what, path, name, first, then = first) {
  const { rounds } = await look(folder, path, name);
  line(`${what}: first look, CPU`, ms(rounds[0]), against(rounds[0], first, `${first} s`));
  line('then', ms(median(rounds.slice(1))), against(median(rounds.slice(1)), then, `${then} s`));
}

/** The costs of five looks by a new process. */
async function look(...args) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'look', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  return JSON.parse(text);
}

async function looks(folder, path, name) {
  const store = await openStore(folder);
  const cache = new FigureCache();
  const settings = { name, join_names: [name], subgroups: [], config: null };
  const manager = { name: 'mira', studies: [name], may_export: false, operator: false };
  const call = {
    t: textsFor(),
    store,
    study: settings,
    now: now(),
    params: name === 'small' ? { month: today.slice(0, 7) } : { month },
    query: {},
    cache,
    manager,
  };
  Object.assign(call, { csrf: 'x', preferred: [], zone: 'Europe/Berlin', note: async () => {} });
  const route = webRoutes.find((one) => one.path === path);
  const users = await store.users.list({ study: name, limit: owners });
  const listDays = async () => {
    for (const user of users) for await (const _ of everyDay(store, user, {}, now()));
  };
  const rounds = [];
  for (let i = 0; i < 5; i++) {
    const before = process.cpuUsage();
    await (route === undefined ? listDays() : route.answer(call));
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / 1e6);
  }
  await store.close();
  console.log(JSON.stringify({ rounds }));
}

if (process.argv[2] === 'look') await looks(...process.argv.slice(3));
