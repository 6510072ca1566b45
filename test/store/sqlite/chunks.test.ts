// Chunks of entries: their form on disk, and what they hold whatever comes in whatever order.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dataTime, type Entry } from '../../../src/model/entry.ts';
import {
  BrokenChunk,
  type ChunkRow,
  decodeContent,
  decodeTexts,
  decodeTimes,
  encodeChunk,
} from '../../../src/store/chunks/form.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import {
  apply,
  battery,
  entry,
  findAll,
  fix,
  location,
  newUser,
  put,
  refOf,
  rejects,
  same,
  waiting,
} from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

// ---------------------------------------------------------------- the form

const time = fc.oneof(
  fc.integer({ min: 1_400_000_000_000, max: 1_800_000_000_000 }).map((ms) => ms / 1e3),
  fc.integer({ min: 1_400_000_000_000_000, max: 1_800_000_000_000_000 }).map((us) => us / 1e6),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0), // whatever a phone claims
  fc.constantFrom(0, -1, 0.1, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53),
);

const row: fc.Arbitrary<ChunkRow> = fc.record({
  write_ts: time,
  ts: fc.option(time),
  received_ts: time,
  zone: fc.constantFrom(null, 'Europe/Berlin', 'Asia/Kathmandu'),
  text: fc.json({ depthSize: 'small' }),
});

it('a chunk returns exactly the entries stored in it, and so does what is kept of it without its bytes', () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 60 }), (rows) => {
      const { times, entries, opened } = encodeChunk(rows);
      const found = decodeTimes(times, rows.length);
      const texts = decodeTexts(entries, found);
      const back = rows.map((_, i) => ({
        write_ts: found.write_ts[i],
        ts: Number.isNaN(found.ts[i]) ? null : found.ts[i],
        received_ts: found.received_ts[i],
        zone: found.zones[found.zone[i]!],
        text: texts[i],
      }));
      // -0 and 0 are the same time; the text tells them apart.
      const plain = rows.map((one) => ({
        ...one,
        write_ts: one.write_ts + 0,
        ts: one.ts === null ? null : one.ts + 0,
      }));
      expect(
        back.map((one) => ({ ...one, write_ts: one.write_ts! + 0, ts: one.ts === null ? null : one.ts! + 0 })),
      ).toEqual(plain);
      const [kept, read] = [opened.content(), decodeContent(entries, found)];
      expect(kept.texts()).toEqual(texts);
      expect(kept.columns?.bytes).toEqual(read.columns?.bytes);
      const { write_ts, ts, received_ts, zone, zones } = opened.times;
      expect({ received_ts, zone, zones }).toEqual({
        ...{ received_ts: found.received_ts, zone: found.zone, zones: found.zones },
      });
      for (const [own, other] of [
        [write_ts, found.write_ts],
        [ts, found.ts],
      ] as const) {
        expect(own.map((value) => value + 0)).toEqual(other.map((value) => value + 0));
      }
    }),
  );
});

it('a chunk of which one byte is different is refused', () => {
  const rows = [1, 2, 3].map((ts) => ({
    write_ts: ts,
    ts,
    received_ts: ts,
    zone: null,
    text: JSON.stringify(fix(ts)),
  }));
  const { times, entries } = encodeChunk(rows);
  const columns = decodeTimes(times, rows.length);
  const damaged = (blob: Uint8Array): Uint8Array[] =>
    [...blob.keys()].map((at) => blob.map((byte, i) => (i === at ? byte ^ 1 : byte)));
  for (const blob of damaged(times)) expect(() => decodeTimes(blob, rows.length)).toThrow(BrokenChunk);
  for (const blob of damaged(entries)) expect(() => decodeTexts(blob, columns)).toThrow(BrokenChunk);
});

// ---------------------------------------------------------------- many entries, in any order

/**
 * Locations written `step` s apart from `from` on; data times lie `shift` s before, those of every `stray`th entry far
 * away.
 */
const stretch = fc.record({
  from: fc.integer({ min: 0, max: 40 }).map((tenths) => tenths * 25_000),
  count: fc.integer({ min: 1, max: 900 }),
  step: fc.constantFrom(1, 30, 700, 86_400),
  shift: fc.constantFrom(0, 5, 4_000),
  stray: fc.constantFrom(0, 0, 97),
  key: fc.constantFrom(location, location, battery),
  how: fc.constantFrom('put', 'put', 'put', 'other content', 'backwards', 'remove'),
});
type Stretch = typeof stretch extends fc.Arbitrary<infer T> ? T : never;

function entriesOf({ from, count, step, shift, stray, key, how }: Stretch): Entry[] {
  const entries = Array.from({ length: count }, (_, i) => {
    const write_ts = from + i * step;
    const ts = write_ts - shift - (stray > 0 && i % stray === 0 ? 9e6 : 0);
    const zone = i % 3 === 0 ? {} : { time_zone: 'Europe/Berlin' };
    return entry(key, write_ts, { ts, ...(how === 'other content' && { note: i }) }, zone);
  });
  return how === 'backwards' ? entries.reverse() : entries;
}

const identity = ({ metadata }: Entry): string => `${metadata.key} ${metadata.write_ts}`;

function sorted(entries: Iterable<Entry>, timeOf: (one: Entry) => number): Entry[] {
  return [...entries].sort(
    (a, b) =>
      timeOf(a) - timeOf(b) ||
      (a.metadata.key < b.metadata.key ? -1 : a.metadata.key > b.metadata.key ? 1 : 0) ||
      a.metadata.write_ts - b.metadata.write_ts,
  );
}

it('for any entries in any order, chunks contain each identity once and find it by both times', {
  timeout: 120_000,
}, async () => {
  const store = await places.open(join(await places.folder(), 'store'), { now: () => 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(stretch, { minLength: 1, maxLength: 5 }), fc.nat(), async (stretches, seed) => {
      const user = await newUser(store);
      const model = new Map<string, Entry>();
      for (const one of stretches) {
        const entries = entriesOf(one);
        const known = entries.filter((each) => model.has(identity(each))).length;
        if (one.how === 'remove') {
          const remove = entries.map(({ metadata: { key, write_ts } }) => ({ key, write_ts }));
          expect(await apply(store, user, { remove })).toMatchObject({ removed: known });
          for (const each of entries) model.delete(identity(each));
        } else {
          expect(await apply(store, user, { put: entries })).toMatchObject({ inserted: entries.length - known });
          for (const each of entries) model.set(identity(each), each);
        }
      }
      const byTime = sorted(model.values(), (one) => dataTime(one.data)!);
      const limit = 100 + (seed % 2_000);
      same(await findAll(store.timeseries, user, { time: 'ts', limit }), byTime);
      const backwards = await findAll(store.timeseries, user, { time: 'ts', limit, descending: true });
      same(backwards, [...byTime].reverse());
      const byWritten = sorted(model.values(), (one) => one.metadata.write_ts);
      same(await findAll(store.timeseries, user, { time: 'write_ts', limit }), byWritten);
      const [from, to] = [400_000 - (seed % 300_000), 400_000 + (seed % 500_000)];
      const within = byTime.filter(({ data }) => (data.ts as number) >= from && (data.ts as number) < to);
      for (const descending of [false, true]) {
        const found = await findAll(store.timeseries, user, { time: 'ts', from, to, limit: 150, descending });
        same(found, descending ? [...within].reverse() : within);
      }
      const counts = new Map<string, number>();
      for (const { metadata } of model.values()) counts.set(metadata.key, (counts.get(metadata.key) ?? 0) + 1);
      const summary = await store.timeseries.summary(user);
      expect(summary.map(({ key, count }) => [key, count])).toEqual([...counts].sort());
      for (const one of byTime.slice(0, 3)) {
        same(await store.timeseries.get(user, { key: one.metadata.key, write_ts: one.metadata.write_ts }), one);
      }
      const zoned = byWritten.filter(({ metadata }) => metadata.time_zone !== undefined);
      const { before, after } = await store.timeseries.zonesAround(user, from);
      const last = zoned.filter(({ metadata }) => metadata.write_ts <= from).at(-1);
      expect(before?.write_ts).toBe(last?.metadata.write_ts);
      expect(after?.write_ts).toBe(zoned.find(({ metadata }) => metadata.write_ts > from)?.metadata.write_ts);
      const zoneless = byWritten.filter(({ metadata: { time_zone, write_ts, key } }) => {
        return time_zone === undefined && key === location && write_ts >= from && write_ts < to;
      });
      const times = zoneless.map(({ data }) => data.ts as number);
      const span = times.length === 0 ? null : { from: Math.min(...times), to: Math.max(...times) };
      expect(await store.timeseries.zonelessSpan(user, { from, to })).toEqual(span);
    }),
    { numRuns: 15, endOnFailure: true },
  );
});

/** The chunks of a store with one user and one key. */
function chunksOf(folder: string): { id: number; first: number; count: number }[] {
  const connection = connect(join(folder, 'timeseries-0.sqlite'));
  const rows = connection.prepare('SELECT id, first, count FROM chunks ORDER BY first').all();
  connection.close();
  return rows as { id: number; first: number; count: number }[];
}

it('a put sees what is in chunks, and one entry pushed again changes one chunk', async () => {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await newUser(store);
  const many = Array.from({ length: 2_000 }, (_, i) => fix(1_463_400_000 + i));
  await apply(store, user, { put: many });
  const chunks = (): number[] => chunksOf(folder).map(({ id }) => id);
  const before = chunks();
  expect(before.length).toBeGreaterThan(3);
  expect(before.length).toBeLessThan(10);
  expect(await put(store, user, [many[700]!, fix(1_463_400_000.5)])).toEqual(['updated', 'inserted']);
  await apply(store, user, { put: [fix(1_463_400_700, { a: 1 })] });
  const after = chunks();
  expect(after.filter((id) => !before.includes(id))).toHaveLength(1);
  expect(after).toHaveLength(before.length);
});

it('of entries that come little by little each is written a few times, and a day that is over becomes one chunk', async () => {
  const day = 86_400;
  const midnight = 19_000 * day;
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await newUser(store);
  const seen = new Set<number>();
  let written = 0; // entries, each as often as a chunk with it was written
  let anew = 0; // as often as if each put wrote the chunk of its day
  let most = 0; // chunks of the present day
  const all: Entry[] = [];
  for (let hour = 0; hour < 49; hour++) {
    const some = Array.from({ length: 1 + (hour % 9) }, (_, i) => fix(midnight + 3600 * hour + 60 * i));
    all.push(...some);
    await apply(store, user, { put: some });
    const today = midnight + day * Math.floor(hour / 24);
    anew += all.filter(({ metadata: { write_ts } }) => write_ts >= today).length;
    const now = chunksOf(folder);
    for (const { id, count } of now.filter((one) => !seen.has(one.id))) {
      seen.add(id);
      written += count;
    }
    most = Math.max(most, now.filter(({ first }) => first >= today).length);
  }
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThan(7);
  expect(written).toBeLessThan(anew / 2);
  const after = chunksOf(folder).map(({ first, count }) => [first, count]);
  const ofDay = (from: number): number =>
    all.filter(({ metadata: { write_ts } }) => Math.floor(write_ts / day) === from).length;
  expect(after).toEqual([
    [midnight, ofDay(19_000)],
    [midnight + day, ofDay(19_001)],
    [midnight + 2 * day, ofDay(19_002)],
  ]);
  same(await findAll(store.timeseries, user, { time: 'ts', limit: 50 }), all);
});

it('a chunk that a transaction took back is not found again under its number', async () => {
  const store = await places.open(join(await places.folder(), 'store'));
  const user = await newUser(store);
  const alsoChanged = { from: Number.NaN, to: Number.NaN }; // refused when the chunk is written already
  await expect(apply(store, user, { put: [fix(1), fix(2)], alsoChanged })).rejects.toThrow('found NaN');
  same(await findAll(store.timeseries, user, { time: 'ts', limit: 10 }), []);
  await apply(store, user, { put: [fix(3)] });
  same(await findAll(store.timeseries, user, { time: 'ts', limit: 10 }), [fix(3)]);
  await apply(store, user, { put: [fix(4)], remove: [fix(3).metadata] });
  same(await findAll(store.timeseries, user, { time: 'ts', limit: 10 }), [fix(4)]);
});

it('a damaged chunk is reported by file and number, and is not returned', async () => {
  const folder = join(await places.folder(), 'store');
  const writer = await places.open(folder);
  const user = await newUser(writer);
  await apply(writer, user, { put: [fix(1), fix(2)] });
  await writer.close(); // it need not read what it wrote
  const connection = connect(join(folder, 'timeseries-0.sqlite'));
  connection.exec(`UPDATE chunks SET entries = x'0100000000'`);
  connection.close();
  const store = await places.open(folder);
  await rejects(store.timeseries.find(user, { time: 'ts', limit: 10 }), 'MOBILITY_STORE_DAMAGED');
  await expect(store.timeseries.get(user, { key: location, write_ts: 1 })).rejects.toThrow(
    /timeseries-0.sqlite, table chunks, chunk 1, user /,
  );
});

it('the usercache gives its pages back when what waited has left', async () => {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await newUser(store);
  const sizes: number[] = [];
  for (let round = 0; round < 2; round++) {
    await put(
      store,
      user,
      Array.from({ length: 5_000 }, (_, i) => fix(round * 1e4 + i, { text: randomBytes(300).toString('hex') })),
    );
    const refs = (await waiting(store, user)).map(refOf);
    for (let start = 0; start < refs.length; start += 1_000) {
      await store.usercache.settle(user, { moved: refs.slice(start, start + 1_000), failed: [] }, 1);
    }
    expect(await waiting(store, user)).toEqual([]);
    const connection = connect(join(folder, 'usercache-0.sqlite'));
    sizes.push(connection.prepare('PRAGMA page_count').get<{ page_count: number }>()!.page_count);
    connection.close();
  }
  expect(Math.max(...sizes)).toBeLessThan(150);
});

it('a zone is looked for behind a chunk that begins at zero', async () => {
  const store = await places.open(join(await places.folder(), 'store'));
  const user = await newUser(store);
  await apply(store, user, { put: [fix(0, {}, { time_zone: 'Europe/Berlin' }), fix(1)] });
  const before = { write_ts: 0, zone: 'Europe/Berlin' };
  expect(await store.timeseries.zonesAround(user, 5)).toEqual({ before, after: null });
  expect(await store.timeseries.zonesAround(user, -5)).toEqual({ before: null, after: before });
});
