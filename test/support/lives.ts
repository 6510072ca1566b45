// Random histories for properties: entries of phones, with known problems of real data, and orders, batches and runs.
import fc from 'fast-check';
import type { Entry } from '../../src/model/entry.ts';
import { identityOf, identityText } from '../../src/model/entry.ts';
import { keys } from '../../src/model/keys.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import {
  type MotionWord,
  type Phone,
  pushed,
  pushedFix,
  pushedIncident,
  pushedMotions,
  pushedMove,
  pushedTransition,
} from './pushes.ts';
import { share } from './sample.ts';

/** How often a property is tried: `usual` times, or as often as `MOBILITY_TEST_RUNS` states. */
export function runs(usual: number): { numRuns: number } {
  return { numRuns: Number(process.env.MOBILITY_TEST_RUNS ?? share(usual)) };
}

const hour = 3600;
const day = 24 * hour;

const episodes = [
  ...(['ride', 'walk', 'stroll', 'stay', 'open', 'tunnel', 'boot'] as const),
  ...(['teleport', 'jump', 'incident', 'midnight', 'off', 'visit', 'twice'] as const),
];

/** An episode of a phone that begins at `from`, at `east` metres, and ends at another place and time. */
interface Episode {
  what: (typeof episodes)[number];
  phone: 0 | 1;
  /** The zone that its entries name. */
  zone: string | null;
  /** s after the episode before */
  pause: number;
  /** Either way. */
  west: boolean;
  stopped: boolean;
  word: MotionWord | null;
  /** s; how far ahead the phone's clock is meanwhile. */
  clock: number;
  /** The receiver does not know where it is. */
  unsure: boolean;
}

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', null];

const episode: fc.Arbitrary<Episode> = fc.record({
  what: fc.constantFrom(...episodes),
  phone: fc.constantFrom(0, 0, 0, 1),
  zone: fc.constantFrom('Europe/Berlin', 'Europe/Berlin', ...zones),
  pause: fc.constantFrom(0, 0, 40, 40, 300, 300, 900, 900, 3 * hour, 3 * hour, 3 * hour, 14 * hour, 40 * hour, 6 * day),
  west: fc.boolean(),
  stopped: fc.boolean(),
  word: fc.constantFrom<(MotionWord | null)[]>('automotive', 'walking', 'cycling', 'unknown', null),
  clock: fc.constantFrom(...Array<number>(30).fill(0), 2 * hour, 3 * day, 20 * day, 420 * day, 7000 * day, -7000 * day),
  unsure: fc.constantFrom(false, false, false, false, false, false, false, true),
});

interface Teller {
  entries: Entry[];
  now: number;
  east: number;
}

function tell(teller: Teller, { what, phone: platform, zone, pause, west, stopped, word }: Episode): void {
  const phone: Phone = { platform: platform === 0 ? 'android' : 'ios', zone };
  const from = teller.now + pause;
  const sign = west ? -1 : 1;
  const add = (entries: Entry[]) => teller.entries.push(...entries);
  const move = (seconds: number, speed: number, after = 0) => {
    const start = from + after;
    add(pushedMove(phone, { from: start, to: start + seconds, east: teller.east, speed: sign * speed }));
    if (word) add(pushedMotions(phone, start, start + seconds, word, 45));
    teller.east += sign * speed * seconds;
    teller.now = start + seconds;
  };
  const rest = (seconds: number) => {
    if (phone.platform === 'android')
      add(pushedMove(phone, { from: teller.now + 30, to: teller.now + seconds, east: teller.east }));
    teller.now += seconds;
  };
  if (what === 'ride') move(420, 12);
  else if (what === 'walk' || what === 'midnight') move(what === 'walk' ? 480 : 900, 1.4);
  else if (what === 'stroll') move(60, 1);
  else if (what === 'open') move(300, 6);
  else if (what === 'jump') {
    move(300, 8);
    add([pushedFix(phone, teller.now - 155, teller.east, 5000)]);
  } else if (what === 'tunnel') {
    move(240, 10);
    if (word) add(pushedMotions(phone, teller.now, teller.now + 800, word, 60));
    teller.east += sign * 9000;
    move(240, 10, teller.now - from + 830);
  } else if (what === 'boot') {
    add([pushedTransition(phone, from, 'BOOTED', 'START')]);
    teller.now = from;
  } else if (what === 'off' || what === 'visit') {
    // Only iPhones report visits.
    const event = (of: Phone, name: 'STOP_TRACKING' | 'VISIT_ENDED') =>
      pushedTransition(of, from, name, 'WAITING_FOR_TRIP_START');
    add([what === 'off' ? event(phone, 'STOP_TRACKING') : event({ platform: 'ios', zone }, 'VISIT_ENDED')]);
    teller.now = from;
  } else if (what === 'twice') {
    // The phone sends the same location again, as another entry with another accuracy.
    const recent = teller.entries.slice(-20).filter((e) => e.metadata.key === keys.filteredLocation);
    add(
      recent.map(({ metadata, data }, i) => ({
        metadata: { ...metadata, write_ts: metadata.write_ts + (west ? 0.25 : 700) },
        data: { ...data, accuracy: i % 3 === 0 ? 5 : 20, latitude: Number(data.latitude) + (stopped ? 0.002 : 0) },
      })),
    );
  } else if (what === 'teleport') {
    teller.east += sign * 5000;
    teller.now = from;
  } else if (what === 'incident') {
    add([pushedIncident(phone, teller.now - 100, teller.east, 40, from + 0.5)]);
    teller.now = from;
  }
  if (['ride', 'walk', 'stroll', 'jump', 'tunnel', 'stay', 'midnight'].includes(what))
    rest(what === 'stay' ? 1500 : 480);
  if (stopped) add([pushedTransition(phone, teller.now + 10, 'STOPPED_MOVING')]);
  if (zone) add([pushed(phone, keys.battery, teller.now + 11, batteryOf(phone))]);
}

const batteryOf = ({ platform }: Phone) =>
  platform === 'ios'
    ? { battery_level_ratio: 0.5, battery_status: 1, ts: 1 }
    : { battery_level_pct: 50, battery_status: 3, ts: 1 };

/** Entries of a random history, one per identity. */
export function lifeOf(life: readonly Episode[]): Entry[] {
  const teller: Teller = { entries: [], now: 0, east: 0 };
  for (const one of life) {
    const known = teller.entries.length;
    tell(teller, one);
    for (const entry of teller.entries.splice(known)) teller.entries.push(meanwhile(one, entry));
  }
  return lastOfEach(teller.entries);
}

/** The entry as a phone sends it in this episode. */
function meanwhile({ clock, unsure }: Episode, { metadata, data }: Entry): Entry {
  const ts = typeof data.ts === 'number' && data.ts > 1 ? { ts: data.ts + clock } : {};
  const accuracy = unsure && metadata.key === keys.filteredLocation ? { accuracy: 900 } : {};
  return { metadata: { ...metadata, write_ts: metadata.write_ts + clock }, data: { ...data, ...ts, ...accuracy } };
}

/** Phones with tracking always on send no filtered locations; some begin to send them later. */
function fromUnfiltered(entries: Entry[], until: number): Entry[] {
  return entries.map((entry, i) =>
    entry.metadata.key === keys.filteredLocation && i < until * entries.length
      ? { ...entry, metadata: { ...entry.metadata, key: keys.location } }
      : entry,
  );
}

/** Of several entries with one identity the last: what counts. */
export function lastOfEach(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((entry) => [identityText(identityOf(entry)), entry])).values()];
}

export const anyLife: fc.Arbitrary<Entry[]> = fc
  .tuple(
    fc.oneof(fc.array(episode, { minLength: 1, maxLength: 3 }), fc.array(episode, { minLength: 3, maxLength: 12 })),
    fc.constantFrom(0, 0, 0, 0, 0, 0, 0.5, 1),
  )
  .map(([life, unfiltered]) => fromUnfiltered(lifeOf(life), unfiltered));

/** An earlier content of an identity, wrong in some way; the last content corrects it. */
function earlier(entry: Entry, kind: number): Entry {
  const { metadata, data } = entry;
  const ts = typeof data.ts === 'number' ? data.ts : metadata.write_ts;
  const { time_zone: _, ...zoneless } = metadata;
  if (kind === 0) return { metadata, data: { ...data, latitude: 10, longitude: 20 } };
  if (kind === 1) return { metadata, data: { ...data, ts: ts + 7200 } };
  if (kind === 2) return { metadata, data: { ...data, ts: ts - 90_000, latitude: 52.6 } };
  if (kind === 3) return { metadata: zoneless, data };
  if (kind === 4) return { metadata: { ...metadata, time_zone: 'Asia/Tokyo' }, data };
  if (kind === 5) return { metadata: { ...metadata, platform: 'palm' }, data }; // does not convert
  if (kind === 6) return { metadata, data: { ...data, ts: ts - 600 * day } };
  if (kind === 7) return { metadata, data: { ...data, filter: data.filter === 'time' ? 'distance' : 'time' } };
  if (kind === 8) return { metadata, data: { ...data, latitude: Number(data.latitude ?? 52) + 0.3, type: 8 } };
  if (kind === 9) return { metadata, data: { ...data, accuracy: 12 } };
  return { metadata, data: { ...data, accuracy: 900, type: 3 } };
}

/** One push after another, and after which of them the pipeline runs, with stretches of which size. */
export interface Delivery {
  pushes: { entries: Entry[]; run: boolean; stretchSize: number }[];
}

/** The entries in any order and batches, some repeated; the last content of each identity is always the same. */
export function deliveriesOf(entries: readonly Entry[]): fc.Arbitrary<Delivery> {
  const n = entries.length;
  return fc
    .record({
      order: fc.constantFrom('sorted', 'reversed', 'shuffled', 'late', 'late'),
      seed: fc.nat(),
      pushes: fc.integer({ min: 1, max: 8 }),
      wrong: fc.array(
        fc.record({ at: fc.nat(Math.max(0, n - 1)), kind: fc.nat(10), many: fc.constantFrom(1, 1, 1, 8, 200) }),
        { maxLength: 6 },
      ),
      again: fc.array(fc.nat(Math.max(0, n - 1)), { maxLength: 20 }),
    })
    .map(({ order, seed, pushes, wrong, again }) => {
      const chance = seededRandom(seed).next;
      const listed = ordered(entries, order, chance);
      const place = new Map(listed.map((entry, i) => [entry, i]));
      // Positions are real numbers: an entry before or after another one gets a smaller or larger position.
      const queue = listed.map((entry, i) => ({ entry, at: i }));
      for (const { at, kind, many } of wrong)
        for (const entry of entries.slice(at, at + many))
          queue.push({ entry: earlier(entry, kind), at: chance() * place.get(entry)! - 0.001 });
      for (const at of again)
        if (n > 0) queue.push({ entry: entries[at]!, at: place.get(entries[at]!)! + 0.5 + chance() * n });
      queue.sort((a, b) => a.at - b.at);
      const all = queue.map(({ entry }) => entry);
      return { pushes: split(all, pushes, chance) };
    });
}

function ordered(entries: readonly Entry[], order: string, chance: () => number): Entry[] {
  const sorted = [...entries].sort((a, b) => a.metadata.write_ts - b.metadata.write_ts);
  if (order === 'reversed') return sorted.reverse();
  if (order === 'sorted') return sorted;
  if (order === 'shuffled') return shuffled(sorted, chance);
  // A piece from the middle of history comes at the end.
  const cuts = [chance(), chance()].sort((x, y) => x - y).map((x) => Math.floor(x * sorted.length));
  const [a, b] = cuts as [number, number];
  return [...sorted.slice(0, a), ...sorted.slice(b), ...sorted.slice(a, b)];
}

function shuffled<T>(list: readonly T[], chance: () => number): T[] {
  return list
    .map((item) => ({ item, key: chance() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

function split(entries: Entry[], pushes: number, chance: () => number): Delivery['pushes'] {
  const cuts = Array.from({ length: pushes - 1 }, () => Math.floor(chance() * entries.length)).sort((a, b) => a - b);
  const edges = [0, ...cuts, entries.length];
  return edges.slice(1).map((edge, i) => ({
    entries: entries.slice(edges[i], edge),
    run: chance() < 0.7,
    stretchSize: [2, 3, 17, 100, 5000][Math.floor(chance() * 5)]!,
  }));
}
