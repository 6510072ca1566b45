// What waits in batches, against a list with a row for each entry: the same after any sequence of puts, moves, failures
// and erasures.
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { type Entry, entryTextOf, identityOf, identityText } from '../../../src/model/entry.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import type { Store, WaitingEntry } from '../../../src/store/store.ts';
import { battery, failedOf, findAll, location, newUser, refOf, same, waiting } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();
vi.setConfig({ testTimeout: 240_000 });

/** An entry as the list has it. */
interface Row {
  entry: Entry;
  text: string;
  received_ts: number;
}

interface Model {
  waiting: Map<string, Row>;
  failed: Map<string, Row>;
}

const newModel = (): Model => ({ waiting: new Map(), failed: new Map() });

const keys = [location, battery, 'manual/é'];
/** Extreme times, times without anything in common, and neighbours. */
const extremes = [0, 1e-7, -5, 2 ** 53, -(2 ** 53), 1_463_400_000.123_456, 1.7e308];
const someTime = fc.oneof(fc.nat(60), fc.nat(2_500), fc.constantFrom(...extremes));
/** Some are longer than what is compressed, and than what a row of the table takes. */
const someLength = fc.oneof({ weight: 20, arbitrary: fc.nat(30) }, fc.constantFrom(2_500, 200_000));

/** A few entries anywhere, or many that follow each other. */
const someEntries = fc.oneof(
  fc.array(fc.record({ key: fc.nat(2), at: someTime, length: someLength }), { maxLength: 30 }),
  fc
    .record({
      key: fc.nat(2),
      from: fc.nat(60),
      count: fc.constantFrom(3, 90, 1_100),
      step: fc.constantFrom(-1, 0, 1),
    })
    .map(({ key, from, count, step }) =>
      Array.from({ length: count }, (_, i) => ({ key, at: from + (step === 0 ? i % 7 : step * i), length: 3 })),
    ),
);

type Step =
  | { do: 'put'; user: number; entries: { key: number; at: number; length: number }[] }
  | { do: 'read'; user: number }
  | { do: 'move' | 'fail' | 'take back'; user: number; every: number; from: number }
  | { do: 'erase'; user: number };

const user = fc.nat(1);
const settled = { user, every: fc.constantFrom(1, 2, 3, 7), from: fc.nat(3) };
const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), user, entries: someEntries }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const), user }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('move' as const, 'fail' as const), ...settled }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('take back' as const), ...settled }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('erase' as const), user }) },
);

/** Texts as JSON.stringify would not write them: blanks, digits, names twice, and marks that forms have too. */
function textOf({ key, at, length }: { key: number; at: number; length: number }, n: number): string {
  const name = JSON.stringify(keys[key]);
  const data = `{"n":0,"n":${n}.0, "big":12345678901234567890,"zero":-0 ,"x":"\\u001e\\ud800${'é'.repeat(length)}","ts":${at}}`;
  return `{ "data":${data},"metadata":{"write_ts":${at},"key":${name}}}`;
}

const byIdentity = (a: WaitingEntry, b: WaitingEntry): number =>
  identityText(identityOf(a.entry)) < identityText(identityOf(b.entry)) ? -1 : 1;

const timesOf = (model: Model): number[] => [...model.waiting.values()].map((row) => row.entry.metadata.write_ts);

async function sameCounts(store: Store, id: string, model: Model): Promise<void> {
  const times = timesOf(model);
  const [oldest, newest] = times.length === 0 ? [null, null] : [Math.min(...times), Math.max(...times)];
  same(await store.usercache.summary(id), { count: times.length, oldest_ts: oldest, newest_ts: newest });
  expect((await store.counts(id)).usercache).toBe(times.length);
  const held = new Set([...model.waiting.values()].map((row) => row.entry.metadata.key));
  expect(new Set(await store.usercache.keys(id))).toEqual(held);
  const at = 1_000;
  const ahead = [...model.waiting.values()].filter(
    (row) => row.entry.metadata.write_ts > row.received_ts + 86_400 && row.entry.metadata.write_ts > at,
  );
  expect((await store.usercache.ahead(id, at)).count).toBe(ahead.length);
  expect((await store.errors.list(id, { limit: 100_000 })).length).toBe(model.failed.size);
}

async function sameAs(store: Store, id: string, model: Model): Promise<void> {
  await sameCounts(store, id, model);
  const rows = (await waiting(store, id, 700)).sort(byIdentity);
  const expected = [...model.waiting.keys()].sort();
  expect(rows.map(({ entry: one }) => identityText(identityOf(one)))).toEqual(expected);
  for (const [i, name] of expected.entries()) {
    const { text, received_ts } = model.waiting.get(name)!;
    expect(rows[i]!.text === text && rows[i]!.received_ts === received_ts, name).toBe(true);
  }
  const times = timesOf(model);
  for (const time of ['ts', 'write_ts'] as const) {
    for (const descending of [false, true]) {
      const found = await findAll(store.usercache, id, { time, limit: 900, descending });
      const sorted = times.toSorted((a, b) => (descending ? b - a : a - b));
      expect(found.map(({ metadata }) => metadata.write_ts)).toEqual(sorted);
    }
  }
}

async function follow(store: Store, steps: readonly Step[]): Promise<void> {
  const users = [await newUser(store), await newUser(store)];
  const models = [newModel(), newModel()];
  const read: WaitingEntry[][] = [[], []];
  /** Revisions of what was read and was not pushed again since. */
  const revisions = [new Map<string, string>(), new Map<string, string>()];
  for (const [n, step] of steps.entries()) {
    const id = users[step.user]!;
    const model = models[step.user]!;
    if (step.do === 'put') {
      const texts = step.entries.map((one, i) => textOf(one, n * 10_000 + i));
      const entries = texts.map((text) => entryTextOf(JSON.parse(text) as Entry, text));
      const results = await store.usercache.put(id, { entries, unusable: [] }, n);
      for (const [i, text] of texts.entries()) {
        const parsed = JSON.parse(text) as Entry;
        const name = identityText(identityOf(parsed));
        const before = model.waiting.get(name) ?? model.failed.get(name);
        expect(results[i], name).toBe(before ? 'updated' : 'inserted');
        model.waiting.set(name, { entry: parsed, text, received_ts: before?.received_ts ?? n });
        revisions[step.user]!.delete(name);
      }
    } else if (step.do === 'read') {
      read[step.user] = await waiting(store, id, 800);
      revisions[step.user] = new Map(
        read[step.user]!.map((row) => [identityText(identityOf(row.entry)), row.revision]),
      );
    } else if (step.do === 'erase') {
      await store.erase(id);
      await store.users.admit(id);
      models[step.user] = newModel();
      revisions[step.user]!.clear();
    } else if (step.do === 'take back') {
      const errors = (await store.errors.list(id, { limit: 100_000 })).filter(
        (_, i) => (i + step.from) % step.every === 0,
      );
      const back = errors.map((error) => ({ id: error.id, entry: error.entry as unknown as Entry }));
      await store.errors.takeBack(id, back);
      for (const { entry: one } of back) {
        const name = identityText(identityOf(one));
        const failed = model.failed.get(name)!;
        model.failed.delete(name);
        if (model.waiting.has(name)) continue;
        model.waiting.set(name, { ...failed, text: JSON.stringify(one).replace('"zero":0', '"zero":-0') });
        revisions[step.user]!.delete(name);
      }
    } else {
      const chosen = read[step.user]!.filter((_, i) => (i + step.from) % step.every === 0);
      const isMove = step.do === 'move';
      const outcome = isMove
        ? { moved: chosen.map(refOf), failed: [] }
        : { moved: [], failed: chosen.map((row) => failedOf(row)) };
      const count = await store.usercache.settle(id, outcome, n);
      let left = 0;
      for (const row of chosen) {
        const name = identityText(identityOf(row.entry));
        if (revisions[step.user]!.get(name) !== row.revision) continue;
        const gone = model.waiting.get(name);
        if (gone === undefined) continue;
        left++;
        model.waiting.delete(name);
        revisions[step.user]!.delete(name);
        if (isMove) model.failed.delete(name);
        else model.failed.set(name, { ...gone, received_ts: model.failed.get(name)?.received_ts ?? gone.received_ts });
      }
      expect(count).toBe(left);
    }
    await sameCounts(store, id, models[step.user]!);
  }
  for (const [i, id] of users.entries()) await sameAs(store, id, models[i]!);
}

it('what waits is what a list of entries would hold, after any puts, moves, failures and erasures', async () => {
  const store = await openSqliteStore({ folder: await places.folder() });
  places.later(() => store.close());
  const numRuns = Number(process.env.MOBILITY_BATCH_RUNS ?? 8);
  await fc.assert(
    fc.asyncProperty(fc.array(someStep, { minLength: 1, maxLength: 14 }), (steps) => follow(store, steps)),
    { numRuns, endOnFailure: true },
  );
});
