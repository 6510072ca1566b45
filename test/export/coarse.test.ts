// A coarse export against people who know how it is made: none of their searches comes nearer to a stay than its cell.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { median } from '../../src/model/geo/quantile.ts';
import { type Program, simulatedProgram } from '../cli/kit.ts';

type Row = Record<string, string>;

let program: Program;
let exact: Row[];

beforeAll(async () => {
  program = await simulatedProgram('--users 4 --days 12 --seed coarse');
  ({ places: exact } = await exported('exact'));
}, 120_000);

const tableIn = async (name: string, kind: string): Promise<Row[]> =>
  parse(await readFile(join(program.folder, name, `${kind}.csv`), 'utf8'), { columns: true });

/** The tables of an export. */
async function exported(name: string, flags = ''): Promise<Record<'trips' | 'places' | 'points', Row[]>> {
  await program.succeed(`export --all --format csv${flags} --out ${join(program.folder, name)}`);
  const [trips, places, points] = ['trips', 'places', 'points'].map((kind) => tableIn(name, kind));
  return { trips: await trips!, places: await places!, points: await points! };
}

/** m east and north of the middle of the cell under attack */
interface Spot {
  x: number;
  y: number;
}

/** The visible way of a trip that starts or ends at the cell, from the cell on. */
interface Way {
  spots: Spot[];
  /** s and m between the stay and the first visible spot, as the tables give them, and m/s of the first leg. */
  seconds: number;
  metres: number;
  speed: number;
}

/** What an attacker has about a cell, and where the stays really are. */
interface Target {
  truth: Spot;
  ways: Way[];
  /** Visible spots of the person around the cell. */
  around: Spot[];
}

const far = (a: Spot, b: Spot = { x: 0, y: 0 }): number => Math.hypot(a.x - b.x, a.y - b.y);
const seconds = (text: string | undefined): number => Date.parse(text!) / 1000;
const coordinates = (row: Row): string => row.geometry!.replace(/^POINT /, '');

function spotOf(row: Row, middle: Row): Spot {
  const of = (one: Row) =>
    coordinates(one)
      .match(/-?[\d.]+/g)!
      .map(Number) as [number, number];
  const [[lon, lat], [lon0, lat0]] = [of(row), of(middle)];
  return { x: (lon - lon0) * 111_195 * Math.cos((lat0 * Math.PI) / 180), y: (lat - lat0) * 111_195 };
}

function grouped<T>(all: T[], key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

/** Cells with several stays. Rows of places have the same order in both exports. */
function targetsIn({ trips, places, points }: Awaited<ReturnType<typeof exported>>, size: number): Target[] {
  expect(places.length).toBe(exact.length);
  // A position that occurs twice is likely a blurred one.
  const alike = grouped(points, coordinates);
  const isSeen = (row: Row): boolean => alike.get(coordinates(row))!.length === 1;
  const stays = grouped([...places.keys()], (i) => `${places[i]!.user_id} ${coordinates(places[i]!)}`);
  const pointsOf = grouped(points, ({ trip_id }) => trip_id!);
  return [...stays.values()].flatMap((rows) => {
    if (rows.length < 5) return [];
    const middle = places[rows[0]!]!;
    const spots = rows.map((i) => spotOf(exact[i]!, middle));
    const truth = { x: median(spots.map(({ x }) => x)), y: median(spots.map(({ y }) => y)) };
    const ids = new Set(rows.map((i) => places[i]!.place_id!));
    const seen = points.filter((row) => row.user_id === middle.user_id && isSeen(row));
    const ways = trips.flatMap((trip) => {
      const line = (pointsOf.get(trip.trip_id!) ?? []).filter(isSeen);
      if (line.length < 2) return [];
      const starts = ids.has(trip.start_place_id!) ? [wayOf(line, middle, trip, trip.started_at)] : [];
      const ends = ids.has(trip.end_place_id!) ? [wayOf(line.toReversed(), middle, trip, trip.finished_at)] : [];
      return [...starts, ...ends];
    });
    const around = seen.map((row) => spotOf(row, middle)).filter((spot) => far(spot) < 4 * size);
    return [{ truth, ways, around }];
  });
}

function wayOf(line: Row[], middle: Row, trip: Row, at: string | undefined): Way {
  const spots = line.map((row) => spotOf(row, middle));
  const times = line.map((row) => seconds(row.tracked_at));
  const visible = spots.slice(1).reduce((sum, spot, i) => sum + far(spot, spots[i]), 0);
  return {
    spots,
    seconds: Math.abs(times[0]! - seconds(at)),
    metres: Number(trip.distance_m) - visible,
    speed: far(spots[0]!, spots[1]) / Math.abs(times[1]! - times[0]!),
  };
}

/** The spot of the cell for which `cost` is lowest; the middle of them if there are several. */
function search(size: number, cost: (spot: Spot) => number): Spot {
  const steps = Array.from({ length: 51 }, (_, i) => ((i - 25) / 50) * size);
  const tried = steps.flatMap((x) => steps.map((y) => ({ x, y, cost: cost({ x, y }) })));
  const best = Math.min(...tried.map((one) => one.cost));
  const found = tried.filter((one) => one.cost === best);
  return { x: median(found.map(({ x }) => x)), y: median(found.map(({ y }) => y)) };
}

/** Mean of what each observation is off, each up to `most`, so that a few odd ones do not decide. */
const misfit = (off: number[], most: number): number =>
  off.reduce((sum, one) => sum + Math.min(most, Math.abs(one)), 0) / Math.max(1, off.length);

type Attack = (target: Target, size: number) => Spot;
/** The spot that fits best; `offOf`: how much each way is off for a spot. */
const best = (most: number, offOf: (ways: Way[], spot: Spot) => number[]): Attack => {
  return ({ ways }, size) => search(size, (spot) => misfit(offOf(ways, spot), most * size));
};

/** m from the straight line through the first visible leg */
function fromLine(spot: Spot, [a, b]: Spot[]): number {
  const [dx, dy] = [b!.x - a!.x, b!.y - a!.y];
  return ((spot.x - a!.x) * dy - (spot.y - a!.y) * dx) / Math.max(1, Math.hypot(dx, dy));
}

const attacks: Record<string, Attack> = {
  'the rim of what is hidden': ({ ways, around }, size) =>
    search(size, (spot) => {
      const inside = around.filter((one) => far(one, spot) < 1.5 * size - 3).length;
      const off = ways.map(({ spots }) => far(spots[0]!, spot) - 1.5 * size);
      return 1000 * inside + misfit(off, 0.6 * size);
    }),
  'first visible points': best(0.6, (ways, spot) => {
    const off = ways.map(({ spots }) => far(spots[0]!, spot));
    const middle = median(off);
    return off.map((one) => one - middle);
  }),
  'straight lines that meet': best(0.2, (ways, spot) => ways.map(({ spots }) => fromLine(spot, spots))),
  'longer lines that meet': best(0.2, (ways, spot) =>
    ways.map(({ spots }) => fromLine(spot, [spots[0]!, spots[3] ?? spots.at(-1)!])),
  ),
  'times and speeds': best(0.6, (ways, spot) =>
    ways.map(({ spots, seconds, speed }) => far(spots[0]!, spot) - seconds * speed),
  ),
  lengths: best(0.6, (ways, spot) => ways.map(({ spots, metres }) => far(spots[0]!, spot) - metres)),
};

describe.each([100, 250])('a coarse export with cells of %d m', (size) => {
  let targets: Target[];

  beforeAll(async () => {
    targets = targetsIn(await exported(`coarse-${size}`, ` --coarse ${size}m`), size);
  }, 120_000);

  it.each(Object.keys(attacks))('does not give stays away by %s', (name) => {
    const off = targets.map((target) => far(attacks[name]!(target, size), target.truth));
    const unknown = targets.map(({ truth }) => far(truth));
    expect(median(off)).toBeGreaterThan(0.8 * median(unknown));
  });
});

it('shows no location within one and a half cells of a stay, on any trip of the person', async () => {
  const { places, points } = await exported('hidden', ' --coarse 200m');
  const cells = grouped(places, ({ user_id }) => user_id!);
  const near = points.filter((row) => cells.get(row.user_id!)!.some((place) => far(spotOf(row, place)) < 299));
  expect(points.length).toBeGreaterThan(100);
  expect(near).toEqual([]);
});

it('stays of a home at the border of two cells are all in one of them', async () => {
  const { latitude, rows } = mostVisited();
  const size = (latitude * 111_195) / Math.round((latitude * 111_195) / 100);
  const { places } = await exported('border', ` --coarse ${size}`);
  expect(rows.length).toBeGreaterThan(10);
  expect(new Set(rows.map((i) => coordinates(places[i]!))).size).toBe(1);
});

/** The rows of exact places within 40 m of the place with most stays, and its latitude. */
function mostVisited(): { latitude: number; rows: number[] } {
  const around = (place: Row): number[] =>
    [...exact.keys()].filter((i) => exact[i]!.user_id === place.user_id && far(spotOf(exact[i]!, place)) < 40);
  const rows = exact.map(around).reduce((most, one) => (one.length > most.length ? one : most));
  return { rows, latitude: median(rows.map((i) => Number(/ (-?[\d.]+)/.exec(coordinates(exact[i]!))![1]))) };
}

it('times, lengths and durations end at the end of the visible path', async () => {
  const { trips, places, points } = await exported('times', ' --coarse 100m');
  const pointsOf = grouped(points, ({ trip_id }) => trip_id!);
  for (const trip of trips) {
    const line = pointsOf.get(trip.trip_id!) ?? [];
    const [start, end] = [trip.started_at, trip.finished_at].map(seconds) as [number, number];
    const shown = [line[0]?.tracked_at ?? trip.started_at, line.at(-1)?.tracked_at ?? trip.started_at];
    const seconds_ = expect.closeTo(end - start, 3);
    expect([trip.started_at, trip.finished_at, Number(trip.duration_s)]).toEqual([...shown, seconds_]);
    const placeOf = (id?: string) => places.find((one) => one.place_id === id);
    const [arrived, left] = [placeOf(trip.end_place_id), placeOf(trip.start_place_id)];
    expect([left!.finished_at, arrived!.started_at]).toEqual([trip.started_at, trip.finished_at]);
    const spots = line.map((row) => spotOf(row, left!));
    const straight = spots.slice(1).reduce((sum, spot, i) => sum + far(spot, spots[i]), 0);
    if (line.length < 2) expect(Number(trip.distance_m)).toBe(0);
    else expect(Number(trip.distance_m) / straight).toBeLessThan(1.5);
    expect(trip.estimated_m).toBe('');
    expect(trip.geometry).toMatch(/^LINESTRING \(\S+ \S+, /); // between its places where all else is hidden
  }
  const hidden = trips.filter(({ sections }) => sections === '0');
  expect(hidden.length).toBeGreaterThan(5);
  const ends = new Set(trips.map(({ finished_at }) => finished_at));
  expect(hidden.filter(({ started_at }) => !/:00:00(\.000)?Z/.test(started_at!) && !ends.has(started_at!))).toEqual([]);
});

it('no table shows the times of a day more exactly than in quarters of an hour', async () => {
  await exported('quarters', ' --coarse 100m');
  const [people, days] = [await tableIn('quarters', 'people'), await tableIn('quarters', 'days')];
  for (const { user_id, observed_s } of people) {
    const own = days.filter((day) => day.user_id === user_id);
    expect(Number(observed_s)).toBe(own.reduce((sum, day) => sum + Number(day.observed_s), 0));
    for (const day of own) expect(Number(day.observed_s) % 900).toBe(0);
  }
});

it('the manifest states what is protected and what is not', async () => {
  await exported('manifest', ' --coarse 250m');
  const { treatment } = JSON.parse(await readFile(join(program.folder, 'manifest', 'datapackage.json'), 'utf8'));
  expect(treatment).toMatchObject({ coarse: 250, pseudonyms: false });
  expect(treatment.protected.join()).toContain('where in its cell of 250 m a stay lies');
  expect(treatment.not_protected.join()).toMatch(/names and UUIDs.*few people live.*more than 375 m.*other data/);
});

it('ids reveal nothing about the exact times that the ids of the store are made of', async () => {
  const { trips } = await exported('ids', ' --coarse 100m');
  const known = new Set(exact.flatMap((row) => [row.place_id, row.starting_trip_id, row.ending_trip_id]));
  expect(trips.filter(({ trip_id, start_place_id: id }) => known.has(trip_id) || known.has(id))).toEqual([]);
});
