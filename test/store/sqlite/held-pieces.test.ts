// Waiting entries in columns: read without their texts, and taken over by the timeseries as they are.
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { type Entry, entryTextOf } from '../../../src/model/entry.ts';
import { checkAll } from '../../../src/pipeline/move-to-long-term.ts';
import { HeldPiece } from '../../../src/store/chunks/held-piece.ts';
import { readTexts } from '../../../src/store/sqlite/batch-form.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import type { Store, WaitingEntry } from '../../../src/store/store.ts';
import { apply, battery, findAll, fix, location, newUser, put, rejects, same, waiting } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();
vi.setConfig({ testTimeout: 240_000 });

const everything = { limit: 100_000, lazily: true };

async function newStore(): Promise<{ store: Store; folder: string }> {
  const folder = join(await places.folder(), 'store');
  return { store: await places.open(folder), folder };
}

function rowsOf<Row>(folder: string, role: string, sql: string): Row[] {
  const connection = connect(join(folder, `${role}-0.sqlite`));
  const rows = connection.prepare(sql).all() as Row[];
  connection.close();
  return rows;
}

/** Entries of the usercache's rows that lie in columns. */
function countInColumns(folder: string): number {
  const rows = rowsOf<{ size: number; entries: Uint8Array }>(folder, 'usercache', 'SELECT size, entries FROM batches');
  return rows.reduce((sum, { size, entries }) => {
    const texts = readTexts(entries, size);
    return sum + Array.from({ length: size }, (_, i) => texts.held(i)).filter((held) => held !== null).length;
  }, 0);
}

const chunksOf = (folder: string): unknown[] =>
  rowsOf(
    folder,
    'timeseries',
    `SELECT name, first, last, count, chunks.size, first_ts, last_ts, zones, hex(times), hex(entries)
     FROM chunks JOIN keys ON keys.id = chunks.key ORDER BY name, first`,
  );

/** What the move does with a page. */
async function move(store: Store, user: string, page: readonly WaitingEntry[]): Promise<void> {
  const { kept, moved, failed } = checkAll(page);
  await apply(store, user, { put: kept, remove: failed });
  await store.usercache.settle(user, { moved, failed }, 5);
}

const start = 1_463_400_000;

/** An entry as its text: of a phone, of another app, that fails, with odd spellings. */
interface Made {
  key: string;
  at: number;
  odd: number;
}

function textOf({ key, at, odd }: Made, n: number): string {
  const time = start + at / 8;
  const zone = odd === 1 ? '' : `"time_zone":"${odd === 2 ? 'nowhere' : 'Europe/Berlin'}",`;
  const metadata = `{"key":${JSON.stringify(key)},${zone}"platform":"android","write_ts":${time}}`;
  const ts = odd === 3 ? 'null' : odd === 4 ? '"soon"' : String(time - (n % 3));
  const latitude = odd === 5 ? '91' : `48.${1e6 + n}`;
  const more = odd === 6 ? `"x":"\\u001e\\ud800${'é'.repeat(n % 90)}", ` : '';
  const fields = `"battery_level_pct":${n % 101},"battery_status":${odd === 5 ? 9 : 3}`;
  return `{"metadata":${metadata},"data":{${more}${fields},"ts":${ts},"latitude":${latitude},"longitude":9.05}}`;
}

const someKey = fc.constantFrom(location, battery, 'manual/é');
const somePut: fc.Arbitrary<Made[]> = fc
  .record({
    runs: fc.array(
      fc.record({
        key: someKey,
        from: fc.nat(2_000_000),
        step: fc.constantFrom(1, 8, 240, 20_000),
        count: fc.constantFrom(1, 100, 128, 200, 600),
        odd: fc.array(fc.tuple(fc.nat(599), fc.integer({ min: 1, max: 6 })), { maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  })
  .map(({ runs }) =>
    runs.flatMap(({ key, from, step, count, odd }) => {
      const odds = new Map(odd);
      return Array.from({ length: count }, (_, i) => ({ key, at: from + i * step, odd: odds.get(i) ?? 0 }));
    }),
  );

it('columns and texts come to the same: entries, verdicts, and chunks byte for byte', async () => {
  let inColumns = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(somePut, fc.boolean()), { minLength: 1, maxLength: 4 }), async (steps) => {
      const [one, other] = [await newStore(), await newStore()];
      const sides = [
        { ...one, user: await newUser(one.store), lazily: true },
        { ...other, user: await newUser(other.store), lazily: false },
      ];
      for (const [n, [made, isMoved]] of steps.entries()) {
        const texts = made.map((row, i) => textOf(row, 1_000 * n + i));
        const entries = texts.map((text) => entryTextOf(JSON.parse(text) as Entry, text));
        for (const { store, user } of sides) await store.usercache.put(user, { entries, unusable: [] }, n);
        inColumns += countInColumns(one.folder);
        const [lazy, plain] = await Promise.all(
          sides.map(({ store, user, lazily }) => store.usercache.read(user, { ...everything, lazily })),
        );
        const told = lazy!.map(({ entry, text, revision, received_ts, failed }) => ({
          ...{ entry, text, revision, received_ts },
          ...(failed && { failed }),
        }));
        same(told as WaitingEntry[], plain!);
        if (!isMoved && n < steps.length - 1) continue;
        const fresh = await one.store.usercache.read(sides[0]!.user, everything); // nothing of it was looked at yet
        await move(one.store, sides[0]!.user, fresh);
        await move(other.store, sides[1]!.user, plain!);
        expect(chunksOf(one.folder)).toEqual(chunksOf(other.folder));
        const errors = await Promise.all(sides.map(({ store, user }) => store.errors.list(user, { limit: 100_000 })));
        same(errors[0], errors[1]);
      }
      await Promise.all(sides.map(({ store }) => store.close()));
    }),
    { numRuns: Number(process.env.MOBILITY_BATCH_RUNS ?? 6) },
  );
  expect(inColumns).toBeGreaterThan(100);
});

it('a day that waits is checked and stored without a look at its texts', async () => {
  const { store, folder } = await newStore();
  const user = await newUser(store);
  const day = Array.from({ length: 900 }, (_, i) => fix(start + 60 * i, { accuracy: i % 50 }));
  await put(store, user, day);
  expect(countInColumns(folder)).toBe(900);
  const texts = vi.spyOn(HeldPiece.prototype, 'texts', 'get');
  try {
    await move(store, user, await store.usercache.read(user, everything));
    expect(texts).not.toHaveBeenCalled();
  } finally {
    texts.mockRestore();
  }
  expect(chunksOf(folder).length).toBeGreaterThan(1);
  same(await findAll(store.timeseries, user, { time: 'ts', limit: 500 }), day);
});

it('pages end with what lies together, and miss nothing of many days', async () => {
  const { store } = await newStore();
  const user = await newUser(store);
  const all = Array.from({ length: 3_000 }, (_, i) => fix(start + 240 * i));
  await put(store, user, all);
  const found: Entry[] = [];
  for (let after: Entry['metadata'] | undefined; ; after = found.at(-1)!.metadata) {
    const page = await store.usercache.read(user, { limit: 1_000, lazily: true, ...(after && { after }) });
    if (page.length === 0) break;
    expect(page.length).toBeGreaterThan(500);
    found.push(...page.map(({ entry }) => entry));
    if (found.length === all.length) break;
  }
  same(found, all);
  expect(await waiting(store, user, 700)).toHaveLength(3_000);
});

it('a bit of the columns that flips is found before anything is stored', async () => {
  const { store, folder } = await newStore();
  const user = await newUser(store);
  await put(
    store,
    user,
    Array.from({ length: 200 }, (_, i) => fix(start + i, { n: i * i })),
  );
  const [row] = rowsOf<{ entries: Uint8Array }>(folder, 'usercache', 'SELECT entries FROM batches');
  expect(row!.entries[0]).toBe(3);
  const connection = connect(join(folder, 'usercache-0.sqlite'));
  const write = connection.prepare('UPDATE batches SET entries = ?');
  for (let at = 0; at < row!.entries.length; at += 37) {
    const bytes = Uint8Array.from(row!.entries);
    bytes[at]! ^= 1 << (at % 8);
    write.run(bytes);
    await rejects(store.usercache.read(user, everything), 'MOBILITY_STORE_DAMAGED');
  }
  for (let length = 0; length < row!.entries.length; length += 41) {
    write.run(row!.entries.slice(0, length));
    await rejects(store.usercache.read(user, everything), 'MOBILITY_STORE_DAMAGED');
  }
  write.run(row!.entries);
  connection.close();
  expect(await store.usercache.read(user, everything)).toHaveLength(200);
});
