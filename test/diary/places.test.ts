// The places of a user: one id each, for any data so far and in any order, and which of them is home.
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { groupPlaces, type LocatedStay, type Places } from '../../src/diary/places.ts';
import { type DayPlan, planDay } from '../../src/simulate/plan-day.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { simulatedProgram } from '../cli/kit.ts';

const metresPerDegree = 111_195;
const days = 60;

/** Stays of a made-up life as a receiver finds them, with what they really were. Waits for a bus are none. */
function lifeOf(seed: string): { stay: LocatedStay; name: string }[] {
  const random = seededRandom('receiver', seed);
  const [working, free] = ['2024-01-08', '2024-01-13'].map((day) => planDay({ day, seed })) as [DayPlan, DayPlan];
  const stays: { stay: LocatedStay; name: string }[] = [];
  for (let i = 0; i < days; i += 1) {
    const { steps, origin, zone, from: begin } = i % 7 < 5 ? working : free;
    const later = working.from + i * 86_400 - begin; // every week as the first one
    for (const step of steps) {
      if (step.kind !== 'stay' || step.name === 'stop') continue;
      const { name, at } = step;
      const [from, to] = [step.from + later, step.to + later];
      const last = stays.at(-1);
      if (last?.name === name && last.stay.to === from) {
        last.stay.to = to;
        continue;
      }
      const error = random.chance(0.1) ? 25 : 10; // m, as in the diary of simulated phones
      const [x, y] = [at.x + random.normal(error), at.y + random.normal(error)];
      const east = metresPerDegree * Math.cos((origin[1] * Math.PI) / 180);
      stays.push({ name, stay: { at: [origin[0] + x / east, origin[1] + y / metresPerDegree], from, to, zone } });
    }
  }
  return stays;
}

const groupedOf = (stays: ReturnType<typeof lifeOf>) =>
  groupPlaces(
    'a person',
    stays.map(({ stay }) => stay),
  );

/** Orders of arrival of the days: as they were, the last first, by chance. */
function ordersOf(seed: string): number[][] {
  const inOrder = [...Array(days).keys()];
  const { next } = seededRandom('order', seed);
  const keys = inOrder.map(() => next());
  return [inOrder, inOrder.toReversed(), inOrder.toSorted((a, b) => keys[a]! - keys[b]!)];
}

it('in 30 random histories of 60 days a place has one id in 99 of 100 stays, for any part of the data', async () => {
  let [right, all, homes] = [0, 0, 0];
  for (let n = 0; n < 30; n += 1) {
    const seed = `life ${n}`;
    const stays = lifeOf(seed);
    const first = stays[0]!.stay.from;
    const dayOf = ({ from }: LocatedStay): number => Math.floor((from - first) / 86_400);
    const seen = new Map<string, Map<string, number>>(); // by place: stays by id
    for (const arrived of ordersOf(seed)) {
      for (const share of [0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1]) {
        const some = new Set(arrived.slice(0, Math.round(share * days)));
        const part = stays.filter(({ stay }) => some.has(dayOf(stay)));
        const places = await groupedOf(part);
        for (const { stay, name } of part) {
          const ids = seen.get(name) ?? new Map<string, number>();
          const { id } = places.of(stay.at);
          seen.set(name, ids.set(id, (ids.get(id) ?? 0) + 1));
        }
      }
    }
    const main = [...seen.values()].map((ids) => [...ids].sort(([, a], [, b]) => b - a)[0]!);
    expect(new Set(main.map(([id]) => id)).size, seed).toBe(seen.size);
    right += main.reduce((sum, [, count]) => sum + count, 0);
    all += [...seen.values()].reduce((sum, ids) => sum + [...ids.values()].reduce((a, b) => a + b, 0), 0);
    const whole = await groupedOf(stays);
    const home = whole.all.find((place) => place.home !== null)!;
    if (whole.of(stays[0]!.stay.at) === home && home.home! > 0.9) homes += 1;
  }
  expect(right / all).toBeGreaterThan(0.99);
  expect(homes).toBeGreaterThanOrEqual(29);
});

it('places that were stored up to a day keep their ids, and later stays join them', async () => {
  let [right, all] = [0, 0];
  for (let n = 0; n < 30; n += 1) {
    const stays = lifeOf(`life ${n}`).map(({ stay }) => stay);
    const whole = await groupPlaces('a person', stays);
    const until = stays[0]!.from + 30 * 86_400;
    const [before, later] = [stays.filter(({ from }) => from < until), stays.filter(({ from }) => from >= until)];
    const earlier = await groupPlaces('a person', before);
    const kept = { key: '', until, places: [...earlier.all], named: [] };
    const found = await groupPlaces('a person', later, [], kept);
    const sum = ({ all: places }: Places, of: 'stays' | 'nights'): number =>
      places.reduce((total, place) => total + place[of], 0);
    for (const of of ['stays', 'nights'] as const) expect(sum(found, of)).toBe(sum(whole, of));
    expect(new Set(found.all.map(({ id }) => id)).size).toBe(found.all.length);
    expect(found.all.length - whole.all.length).toBeLessThanOrEqual(1); // a stay at the edge of a place
    for (const { at } of before) {
      all += 1;
      if (found.of(at).id === earlier.of(at).id) right += 1;
    }
  }
  expect(right / all).toBeGreaterThan(0.999);
});

/** All that is known about places and stays. */
const saidOf = (places: Places, stays: readonly LocatedStay[]): unknown => [
  places.all,
  stays.map(({ at }) => places.of(at).id),
];

it('the order of stays has no effect, also at a change of the day, and another person has other ids', async () => {
  const stays = lifeOf('order').map(({ stay: { at, ...stay } }): LocatedStay => {
    const longitude = at[0] - lifeOrigin + 180;
    return { ...stay, at: [longitude > 180 ? longitude - 360 : longitude, at[1]] };
  });
  const expected = saidOf(await groupPlaces('a', stays), stays);
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(stays, { minLength: stays.length }), async (mixed) => {
      expect(saidOf(await groupPlaces('a', mixed), stays)).toEqual(expected);
    }),
    { numRuns: 10 },
  );
  expect((await groupPlaces('a', stays)).all.length).toBeLessThan(10);
  const ids = new Set((await groupPlaces('a', stays)).all.map(({ id }) => id));
  expect((await groupPlaces('b', stays)).all.some(({ id }) => ids.has(id))).toBe(false);
});

const lifeOrigin = planDay({ day: '2024-03-04', seed: 'order' }).origin[0];

it('a place keeps its letter on every day, has the name from a correction, and has one id in exports', async () => {
  const program = await simulatedProgram('--users 1 --days 4 --from 2024-03-11 --seed spot --platform android');
  const user = 'sim-spot-1@example.org';
  for (const day of ['2024-03-11', '2024-03-13']) {
    const { stdout } = await program.succeed(`diary --user ${user} --day ${day}`);
    const letters = [...stdout.matchAll(/● (\w+)/g)].map(([, letter]) => letter);
    expect([day, letters[0], letters.at(-1)]).toEqual([day, 'A', 'A']);
    expect(letters.length).toBeGreaterThan(4);
  }
  await program.succeed(`correct place-name --user ${user} --day 2024-03-11 --at 03:30 --name Nest`);
  await program.show(`diary --user ${user} --day 2024-03-13`, '● A Nest');
  const exported = `export --format jsonl --user ${user} --out ${program.folder}`;
  const { files }: { files: { kind: string }[] } = await program.json(`${exported}/plain`);
  const kinds = files.map(({ kind }) => kind);
  expect([kinds.includes('places'), kinds.includes('locations')]).toEqual([true, false]);
  const rowsOf = async (out: string, more = '') => {
    await program.succeed(`${exported}/${out} --kind places --kind locations${more}`);
    const read = async (kind: string) => {
      const lines = (await readFile(`${program.folder}/${out}/${kind}.jsonl`, 'utf8')).trim().split('\n');
      return lines.map((line) => JSON.parse(line)).map(({ geometry, properties }) => ({ ...properties, geometry }));
    };
    return { places: await read('places'), locations: await read('locations') };
  };
  const exact = await rowsOf('exact');
  expect(exact.locations.map(({ location_name }) => location_name)).toContain('Nest');
  const coarse = await rowsOf('coarse', ' --coarse 500m');
  expect(coarse.locations.every(({ location_name }) => location_name === null)).toBe(true);
  for (const { places, locations } of [exact, coarse]) {
    const known = new Set(locations.map(({ location_id }) => location_id));
    expect(places.every(({ location_id }) => known.has(location_id))).toBe(true);
    expect(locations.filter(({ home }) => home !== null)).toHaveLength(1);
  }
  const exactIds = new Set(exact.locations.map(({ location_id }) => location_id));
  expect(coarse.locations.some(({ location_id }) => exactIds.has(location_id))).toBe(false);
  const spots = new Set(coarse.places.map(({ geometry }) => JSON.stringify(geometry)));
  expect(coarse.locations.length).toBeLessThanOrEqual(spots.size); // cells are not distinguished
});
