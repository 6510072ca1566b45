// Measures how CPU grows with the history of a person and with the number of people on the server, as ratios of long to
// short.

import { readPlaces } from '../dist/diary/places.js';
import { everyDay, readDays } from '../dist/diary/read-days.js';
import { findEntries } from '../dist/emission/find-entries.js';
import { everyStatus, openStore, putBatch, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { readDay } from '../dist/web/me-days.js';
import { textsFor } from '../dist/web/pages/texts/texts.js';
import { against, inFolder, line, locations, median, ms } from './kit.js';

const shortDays = 60;
const newDays = 3;
const members = 50;
const zone = 'Europe/Berlin';
const now = () => Date.now() / 1000;

/** Prints the ratios. `days`: the long history; `others`: people of the server outside of the study. */
export async function grow({ days = 1095, others = 10_000 } = {}) {
  console.log(`\ngrow: ${days} days of one person against ${shortDays}, ${others} people beside a study of ${members}`);
  await inFolder((folder) => ofHistory(folder, days));
  await inFolder(ofRestlessTrip);
  await inFolder(ofOrder);
  await inFolder((folder) => ofServer(folder, others));
}

async function ofHistory(folder, days) {
  const store = await openStore(folder);
  const long = await personWith(store, 'long', days);
  const short = await personWith(store, 'short', shortDays);
  await inTurns('an hour of new data, put and run', 1.1, 24 * newDays, long, short, (person, hour) =>
    person.hour(hour),
  );
  await inTurns('places of a person', 2, 9, long, short, ({ uuid }) => readPlaces(store, uuid));
  const last = { keys: ['background/location'], time: 'write_ts', from: 0, to: now(), max: 1, keep: 'last' };
  await inTurns('the last location, as find_entries finds it', 1.3, 9, long, short, async ({ uuid }) => {
    for await (const _ of findEntries(store, uuid, last));
  });
  const oneDay = { from: '2024-03-20', to: '2024-03-20' };
  await inTurns('one day with its flags', 1.1, 9, long, short, ({ uuid }) => readDays(store, { uuid }, oneDay, now()));
  const allDays = async () => {
    for await (const _ of everyDay(store, short, {}, now()));
  };
  const aDay = (await cpuOf(allDays, 9)) / (shortDays + newDays);
  line(`one of ${shortDays + newDays} days with their flags: CPU`, ms(aDay), against(aDay, 0.001, '1 ms'));
  const page = { day: oneDay.from, isOwn: true, href: (day) => day };
  const call = { store, now: now(), t: textsFor() };
  await inTurns('the page of a day', 1.3, 15, long, short, (person) => readDay(call, person, page));
  await store.close();
}

const hoursUnderWay = { long: 96, short: 6 };

/** Measures a trip without an end: the put and the run of an hour, early and late in the trip. */
async function ofRestlessTrip(folder) {
  const store = await openStore(folder);
  const traveller = async (name, hours) => {
    const { user } = await store.users.register(name, { now: 1 });
    const began = 1_700_000_000 - hours * 3600;
    const hour = async (i) => {
      const metres = 600; // in 30 s
      const way = locations(120, 0).map(({ metadata, data }, k) => {
        const ts = began + i * 3600 + k * 30;
        const longitude = (((i * 120 + k) * metres) / 111_000) % 360;
        const at = { latitude: 0.5, longitude: longitude > 180 ? longitude - 360 : longitude };
        return { metadata: { ...metadata, write_ts: ts + 0.4 }, data: { ...data, ...at, ts, sensed_speed: 20 } };
      });
      await putBatch(user.uuid, way, { store, now });
      await runPipeline(store, user.uuid, { log: silentLog, now });
    };
    for (let i = 0; i < hours; i++) await hour(i);
    return { hour: (i) => hour(hours + i) };
  };
  const long = await traveller('long', hoursUnderWay.long);
  const short = await traveller('short', hoursUnderWay.short);
  const what = `an hour of a trip that never rests, after ${hoursUnderWay.long} h against ${hoursUnderWay.short} h`;
  const proportion = hoursUnderWay.long / hoursUnderWay.short; // the whole open trip is analysed in each run
  await inTurns(what, proportion, 24, long, short, (person, i) => person.hour(i));
  await store.close();
}

/** Compares puts in the order of recording with the newest first: puts of one entry, then of a day with a run. */
async function ofOrder(folder) {
  const store = await openStore(folder);
  const orders = { newest: (list) => list.toReversed(), oldest: (list) => list };
  const one = {};
  const days = {};
  for (const [name, inOrder] of Object.entries(orders)) {
    const { user } = await store.users.register(name, { now: 1 });
    one[name] = { user, puts: inOrder(locations(2000, 1_700_000_000)).map((entry) => [entry]) };
    const { user: other } = await store.users.register(`${name}-days`, { now: 1 });
    days[name] = { user: other, puts: inOrder([...simulateDays(simulated('2024-01-01'), 28)]) };
  }
  const put = ({ user, puts }, i) => putBatch(user.uuid, puts[i], { store, now });
  const run = ({ user }) => runPipeline(store, user.uuid, { log: silentLog, now });
  await inTurns('a put of one entry, newest first', 1.1, 2000, one.newest, one.oldest, put);
  await inTurns('the run after them', 1.1, 1, one.newest, one.oldest, run);
  await inTurns('a day, newest first, put and run', 3, 28, days.newest, days.oldest, async (person, i) => {
    await put(person, i);
    await run(person);
  });
  await store.close();
}

const simulated = (day) => ({ platform: 'android', day, seed: 'ada', zone });

/** Stores a person with a history of `days`. All histories end on the same day. */
async function personWith(store, name, days) {
  const { user } = await store.users.register(name, { now: 1 });
  const first = new Date(Date.parse('2024-04-01') - days * 86_400_000).toISOString().slice(0, 10);
  const all = [...simulateDays(simulated(first), days + newDays)];
  const put = (entries) => putBatch(user.uuid, entries, { store, now });
  const run = () => runPipeline(store, user.uuid, { log: silentLog, now });
  for (const day of all.slice(0, days)) await put(day);
  await run();
  const rest = all.slice(days).flat();
  const began = Math.min(...rest.map(({ metadata }) => metadata.write_ts));
  const hours = new Map();
  for (const one of rest) {
    const i = Math.floor((one.metadata.write_ts - began) / 3600);
    hours.set(i, [...(hours.get(i) ?? []), one]);
  }
  const hour = async (i) => {
    if (!hours.has(i)) return;
    await put(hours.get(i));
    await run();
  };
  return { uuid: user.uuid, hour };
}

async function ofServer(folder, others) {
  const store = await openStore(folder);
  const people = async (study, count) => {
    for (let i = 0; i < count; i++) await store.users.register(`${study}-${i}`, { now: 1, study });
  };
  await people('small', members);
  const read = async () => {
    for await (const _ of everyStatus(store, { now: now(), study: 'small' }));
  };
  const alone = await cpuOf(read, 30);
  await people('large', others);
  const among = await cpuOf(read, 30);
  report(`status of a study of ${members}`, 1.5, among, alone);
  await store.close();
}

async function inTurns(what, limit, rounds, long, short, work) {
  const [longer, shorter] = [[], []];
  for (let i = 0; i < rounds; i++) {
    for (const [person, costs] of i % 2
      ? [
          [long, longer],
          [short, shorter],
        ]
      : [
          [short, shorter],
          [long, longer],
        ])
      costs.push(await cpuOf(() => work(person, i), 1));
  }
  report(what, limit, median(longer), median(shorter));
}

function report(what, limit, long, short) {
  line(
    `${what}: ${ms(short)} grows to ${ms(long)}`,
    `${(long / short).toFixed(2)} x`,
    against(long / short, limit, `${limit} x`),
  );
}

/** CPU of this process for one call, s; the median of several calls. */
async function cpuOf(work, rounds) {
  const costs = [];
  for (let i = 0; i < rounds; i++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1e6);
  }
  return median(costs);
}
