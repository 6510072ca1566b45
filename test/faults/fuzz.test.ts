// Thousands of strange entries through the program: no 5xx, no crash, and no diary gets a wrong coordinate or time.
import { expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { jsonText } from '../../src/model/json-text.ts';
import { addDays } from '../../src/model/time.ts';
import type { Random } from '../../src/simulate/random.ts';
import type { Store } from '../../src/store/store.ts';
import { fixtureNames, readFixture } from '../intake/converters/fixtures.ts';
import { tempFolder } from '../support/clean-up.ts';
import { fillStore, pushesOf, times, withSeed, withStore } from './kit.ts';
import { mutated, mutatedText } from './mutate.ts';
import { type RunningServer, run, startServer, succeed } from './program.ts';

const wanted = times('FUZZ_RUNS', 10_000);
const batchSize = 200;
const textRounds = Math.ceil(wanted / 50);

/** People whose phones push strange things among whole days, so that the strange things are in trips too. */
const people = { ada: 'android', ben: 'ios', cal: 'android', dot: 'ios' } as const;

/** One of every kind of entry that there is, as pushed. */
const kinds: Entry[] = (['android', 'ios', 'unusual'] as const).flatMap((folder) =>
  fixtureNames(folder).map((name) => readFixture(folder, name).in),
);

/** An incident at the time of `entry`: it is shown in the trip of that time. */
function incidentAt({ metadata }: Entry): Entry {
  const { write_ts, platform, time_zone } = metadata;
  const loc = { type: 'Point', coordinates: [9.05, 48.52] };
  return {
    metadata: { key: 'manual/incident', type: 'message', write_ts, platform, time_zone },
    data: { loc, ts: write_ts, stress: 50 },
  } as Entry;
}

/** The batches of one person: all of their days, with some entries exchanged by strange ones, and many added. */
function* batchesOf(days: readonly Entry[], count: number, random: Random): Generator<JsonValue[]> {
  let sent = 0;
  let at = 0;
  while (sent < count || at < days.length) {
    const batch: JsonValue[] = [];
    for (const entry of days.slice(at, at + batchSize)) {
      if (!random.chance(0.1)) batch.push(entry as unknown as JsonValue);
    }
    at += batchSize;
    for (let i = 0; i < batchSize && sent < count; i++, sent++) {
      const original = random.pick([
        () => random.pick(days),
        () => random.pick(kinds),
        () => incidentAt(random.pick(days)),
      ])();
      batch.splice(Math.floor(random.between(0, batch.length)), 0, mutated(original as unknown as JsonObject, random));
    }
    yield batch;
  }
}

/** Each person's days `from` to `to`, whole, and half of the strange things among them. */
async function pushStrangeThings(server: RunningServer, random: Random, from: number, to: number): Promise<void> {
  const share = Math.ceil(wanted / 2 / Object.keys(people).length);
  for (const [name, platform] of Object.entries(people)) {
    const days = pushesOf(name, platform, to).slice(from).flat();
    for (const batch of batchesOf(days, share, random)) {
      const body = `{"user":${JSON.stringify(name)},"phone_to_server":${jsonText(batch)}}`;
      const answer = await server.post('/usercache/put', body);
      expect(answer.status, answer.text).toBe(200);
      const { inserted, updated, rejected } = JSON.parse(answer.text);
      expect(inserted + updated + rejected).toBe(batch.length);
    }
  }
}

async function pushBrokenTexts(server: RunningServer, random: Random): Promise<void> {
  for (let i = 0; i < textRounds; i++) {
    const entries = [random.pick(kinds), random.pick(kinds)];
    const text = mutatedText(JSON.stringify({ user: 'ada', phone_to_server: entries }), random);
    const { status, text: answer } = await server.post('/usercache/put', text);
    expect([200, 400, 403], `${status} ${answer} for ${text}`).toContain(status);
    expect(() => JSON.parse(answer)).not.toThrow();
  }
}

/** What users typed is shown as it is: how they felt, and the whole entries of the forms that they filled in. */
const typed = /\.stress$|\.(user_input|additions)\.[^.]+\.(metadata|data)\./;
/** Times of such an entry; one that is open is null. */
const timeOfTyped = /\.(metadata\.write_ts|data\.(start|end)_ts)$/;

/** Numbers that are none, and places and times that are null, with the path to each. */
function faultsIn(value: unknown, path = ''): string[] {
  if (typed.test(path) && !(typeof value === 'number' && timeOfTyped.test(path))) return [];
  if (value === null) return [`${path} is null`];
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path} is ${value}`];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => faultsIn(inner, `${path}.${name}`));
}

async function checkDiary(server: RunningServer, store: Store, name: string, userId: string): Promise<number> {
  const trips = await store.trips.chain(userId, { limit: 100_000 });
  for (const { trip, untracked } of trips) {
    expect(faultsIn({ ...trip, start_place: 0, end_place: 0, sections: 0 })).toEqual([]);
    expect(faultsIn(untracked?.start_ts ?? 0)).toEqual([]);
  }
  for (const { key, data } of await store.documents.list(userId)) expect(faultsIn(data, key)).toEqual([]);
  const days = new Set(trips.flatMap(({ day }) => [day, addDays(day, 1)]));
  for (const day of [...days].slice(0, 40)) {
    const answer = await server.post(`/timeline/getTrips/${day}`, { user: name });
    expect(answer.status, answer.text).toBe(200);
    expect(faultsIn(JSON.parse(answer.text), day)).toEqual([]);
  }
  return trips.length;
}

/** Runs the pipeline for all users, and again to check that nothing is left to do. */
async function runPipelines(folder: string): Promise<void> {
  const all = await succeed(['pipeline', '--all', '--json', '--store', folder]);
  const { done, failed, stages } = JSON.parse(all.stdout);
  const problems = stages.flatMap((stage: { problems?: string[] }) => stage.problems ?? []);
  expect({ done, failed, problems }).toEqual({ done: Object.keys(people).length, failed: 0, problems: [] });
  const again = await run(['pipeline', '--all', '--json', '--store', folder]);
  expect(JSON.parse(again.stdout)).toMatchObject({ done: 0, nothing_new: Object.keys(people).length });
}

async function checkAnswers(server: RunningServer, folder: string, uuids: Record<string, string>): Promise<void> {
  await withStore(folder, async (store) => {
    for (const [name, userId] of Object.entries(uuids)) {
      expect(await checkDiary(server, store, name, userId)).toBeGreaterThan(0);
      for (const [path, body] of Object.entries(readingCalls)) {
        const answer = await server.post(path, { user: name, ...body });
        expect(answer.status, `${path}: ${answer.text.slice(0, 500)}`).toBe(200);
        expect(() => JSON.parse(answer.text), path).not.toThrow();
      }
    }
  });
}

/** Calls whose answers hold what was pushed, or figures made of it. */
const readingCalls: Record<string, JsonObject> = {
  '/usercache/get': {},
  '/profile/get': {},
  '/pipeline/get_complete_ts': {},
  '/pipeline/get_range_ts': {},
  '/datastreams/find_entries/timestamp': { start_time: -1e300, end_time: 1e300 },
  '/result/metrics/timestamp': {
    freq: 'M',
    start_time: 1_709_251_200,
    end_time: 1_711_929_600,
    metric_list: ['count', 'distance', 'duration', 'median_speed'],
    is_return_aggregate: false,
  },
};

it(`${wanted} strange entries: never a 5xx, a crash, or an invalid place`, () =>
  withSeed(async (random) => {
    const folder = tempFolder();
    const uuids = await fillStore(folder, Object.fromEntries(Object.keys(people).map((name) => [name, []])));
    const server = await startServer(folder);
    await pushStrangeThings(server, random, 0, 2);
    await runPipelines(folder);
    // The first check of answers finds these entries pending: no converter has checked them.
    await pushStrangeThings(server, random, 1, 4);
    await pushBrokenTexts(server, random);
    await checkAnswers(server, folder, uuids);
    await runPipelines(folder);
    await checkAnswers(server, folder, uuids);
    const end = await server.stop();
    expect(end, end.stderr).toMatchObject({ code: 0 });
    expect(end.stderr.split('\n').filter((line) => line !== '' && !line.includes('listens on'))).toEqual([]);
  }));
