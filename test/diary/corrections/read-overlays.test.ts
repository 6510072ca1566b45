// Each reader of corrected trips, for any part of the chain, gives what the corrections make of the whole chain.
import { expect, it } from 'vitest';
import { applyCorrections } from '../../../src/diary/corrections/apply.ts';
import { correctedTrips, everyLinkAndDraft, movedOnly } from '../../../src/diary/corrections/corrected-trips.ts';
import {
  activeCorrections,
  concernedTime,
  mostCorrections,
  readCorrections,
  repeatsNewest,
  undoneTimes,
  withoutUndone,
} from '../../../src/diary/corrections/read-corrections.ts';
import type { Correction, Stated } from '../../../src/model/correction.ts';
import { justAfter, localDay } from '../../../src/model/time.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import { briefOf } from '../../../src/model/trip-fields.ts';
import type { Store, Trips } from '../../../src/store/store.ts';
import { allOf } from '../../support/all-of.ts';
import { correction } from '../../support/corrections.ts';
import { chained, trip, untracked } from '../../support/equator-trips.ts';

const day = 86_400;
const from0 = 1_000_000;
/** Twelve trips, one each 8 hours, with a dropped link among them, and unseen time before the seventh. */
const links: TripRecord[] = chained(
  ...Array.from({ length: 12 }, (_, i) => {
    const start = from0 + i * 28_800;
    const [east, next] = i % 2 === 0 ? [0, 6000] : [6000, 0];
    const more = i === 6 ? { untracked: untracked(start - 9000, start - 3000, 0, 0) } : {};
    const made = trip(`t${i}`, [{ times: [start, start + 300, start + 600], easts: [east, 3000, next] }], more);
    return { ...made, day: localDay(start, 'UTC') };
  }),
);
const dropped: TripRecord = { ...links[4]!, id: 'd', kind: 'dropped', trip: null, chain_ts: from0 + 4.5 * 28_800 };
const analysed = [...links, dropped].sort((a, b) => a.chain_ts - b.chain_ts);
const draft: TripRecord = {
  ...trip('draft', [{ times: [from0 + 12 * 28_800, from0 + 12 * 28_800 + 60], easts: [0, 1] }]),
  kind: 'draft',
};

type Range = { from: number; to: number };
type Days = { from: string; to: string };
/** The store of a user with these links and corrections. */
const storeOf = (corrections: Stated[], more: Partial<Trips> = {}) => ({
  trips: { ...readersOf(analysed), ...more },
  timeseries: {} as never,
  corrections,
});

/** The readers of these links, without corrections. `written_ts`: the place in the chain. */
function readersOf(all: readonly TripRecord[]): Trips {
  const trips = all.filter(({ kind }) => kind === 'trip');
  const [first, last] = [trips[0], trips.at(-1)];
  const within = (list: readonly TripRecord[], from = -Infinity, to = Infinity) =>
    list.filter(({ chain_ts }) => chain_ts >= from && chain_ts < to);
  const byDay = (days: Days) => trips.filter((link) => link.day >= days.from && link.day <= days.to);
  return {
    chain: async (_: string, { from, to, limit }: { from?: number; to?: number; limit: number }) =>
      within(all, from, to).slice(0, limit),
    drafts: async () => [draft],
    byDay: async (_: string, days: Days) => byDay(days),
    starts: async (_: string, days: Days) => byDay(days).map(({ chain_ts, day: on }) => ({ chain_ts, day: on })),
    next: async (_: string, ts: number) => trips.find(({ chain_ts }) => chain_ts > ts) ?? null,
    previous: async (_: string, ts: number) => trips.findLast(({ chain_ts }) => chain_ts < ts) ?? null,
    summary: async () => ({ count: trips.length, start_ts: first?.start_ts ?? null, end_ts: last?.end_ts ?? null }),
    spans: async (_: string, { from, to }: Range) =>
      within(trips, from, to).map(({ chain_ts, start_ts, end_ts }) => {
        return { chain_ts, start_ts, end_ts, written_ts: 100 + analysed.findIndex((one) => one.chain_ts === chain_ts) };
      }),
    neighbours: async (_: string, ts: number) => [
      ...trips.filter(({ chain_ts }) => chain_ts < ts).slice(-2),
      ...trips.filter(({ chain_ts }) => chain_ts >= ts).slice(0, 3),
    ],
    briefs: async (_: string, { from, to }: Range) => {
      const first = trips.findLast(({ chain_ts }) => chain_ts < from)?.chain_ts ?? from;
      const last = all.find(({ chain_ts }) => chain_ts >= to)?.chain_ts ?? to;
      const drafts = within([draft], from, to);
      return [...all.filter(({ chain_ts }) => chain_ts >= first && chain_ts <= last), ...drafts].map(briefOf);
    },
    briefsAt: async (_: string, times: readonly number[]) =>
      trips.filter(({ chain_ts }) => times.includes(chain_ts)).map(briefOf),
  } as unknown as Trips;
}

const at = (i: number): number => from0 + i * 28_800;
/** The corrected trips of these links. */
const corrected = (...of: Parameters<typeof storeOf>) => correctedTrips(storeOf(...of));
const stated = (list: object[]): Stated[] =>
  list.map((one, i) => ({ write_ts: 10 + i, received_ts: 50 + i, ...one }) as Stated);
const drop = (i: number) => ({ kind: 'drop', ts: at(i) + 60 });
const mode = (i: number) => ({ kind: 'mode', ts: at(i) + 60, mode: 'tram' });
const join = (i: number) => ({ kind: 'join', ts: at(i) - 60 });
const split = (i: number) => ({ kind: 'split', ts: at(i) + 200 });
const named = (i: number) => ({ kind: 'place_name', ts: at(i) - 100, name: 'W' });
const undo = (of: number) => ({ kind: 'undo', of });
const add = (i: number) => ({ kind: 'add', mode: 'bus', start_ts: at(i) + 2000, end_ts: at(i) + 4000 });

const cases: [string, object[]][] = [
  ['the mode of the first trip', [mode(0)]],
  ['the mode of the last trip', [mode(11)]],
  ['a split of the second trip', [split(1)]],
  ['a join of the first two', [join(1)]],
  ['a drop of the first and the last', [drop(0), drop(11)]],
  ['two drops in a row and a name', [drop(5), drop(6), named(8)]],
  ['joins of all trips', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(join)],
  ['added trips around a dropped link', [add(3), add(4)]],
  ['added trips before the first and after the last', [add(-1), add(11)]],
  ['a stay of two days', [{ kind: 'at_home', start_ts: at(2), end_ts: at(7) + 5 }]],
  ['a stay after unseen time', [{ kind: 'at_place', at: 'next', start_ts: at(6) - 6000, end_ts: at(6) - 100 }]],
  ['modes of distant trips and a split between', [mode(0), split(5), mode(11)]],
  ['a drop of all trips', links.map((_, i) => drop(i))],
  ['corrections without effect', [{ kind: 'split', ts: at(3) - 999 }, mode(20)]],
  ['an undone drop', [drop(3), undo(10)]],
  ['an exclusion', [{ kind: 'set_aside', start_ts: at(2), end_ts: at(4) }]],
];

it.each(cases)('with %s', async (_, list) => {
  const all = stated(list);
  const counting = activeCorrections(all).filter(({ kind }) => kind !== 'set_aside');
  const whole = applyCorrections('ada', analysed, counting);
  const [expected, trips] = [readersOf(whole.links), corrected(all)];
  const same = async (read: (from: Pick<Trips, keyof typeof trips & keyof Trips>) => Promise<unknown>, what = '') =>
    expect(await read(trips), what).toEqual(await read(expected));
  const times = [...new Set([...whole.links, ...analysed].map(({ chain_ts }) => chain_ts))];
  for (const ts of [-Infinity, ...times, ...times.map(justAfter), Infinity]) {
    await same((from) => from.next('ada', ts));
    await same((from) => from.previous('ada', ts));
    for (const limit of [1, 3, 99]) {
      await same((from) => from.chain('ada', { from: ts, to: ts + 2 * 28_800, limit }));
      await same((from) => from.chain('ada', { from: ts, limit }));
    }
    for (const to of [ts, ts + 28_800, Infinity]) {
      const final = async (from: Pick<Trips, 'briefs'>) =>
        (await from.briefs('ada', { from: ts, to })).filter(({ kind }) => kind !== 'draft');
      await same(final, `briefs from ${ts} to ${to}`);
    }
  }
  const days = [...new Set(whole.links.map((link) => link.day))];
  for (const [i, first] of days.entries())
    for (const last of days.slice(i)) {
      await same((from) => from.byDay('ada', { from: first, to: last }));
      await same((from) => from.starts('ada', { from: first, to: last }));
    }
  await same((from) => from.summary('ada'));
  const shown = whole.links.filter((link) => link.kind === 'trip');
  const starts = shown.map(({ chain_ts }) => chain_ts);
  for (const asked of [starts, starts.slice(0, 1), starts.slice(-1)])
    if (asked.length > 0) await same((from) => from.briefsAt('ada', asked));
  const spans = await trips.spans('ada', { from: -Infinity, to: Infinity });
  expect(spans.map(({ written_ts: _written, ...span }) => span)).toEqual(
    shown.map(({ chain_ts, start_ts, end_ts }) => ({ chain_ts, start_ts, end_ts })),
  );
  const part = await trips.spans('ada', { from: at(2), to: at(5) });
  expect(part).toEqual(spans.filter(({ chain_ts }) => chain_ts >= at(2) && chain_ts < at(5)));
  const found = await trips.corrections('ada');
  expect(found).toEqual(expect.arrayContaining(whole.standings));
  expect(found.map(({ correction }) => correction)).toEqual(all);
  for (const range of [{ from: at(2), to: at(4) }, { from: at(0), to: at(1) }, ...all.map(concernedTime)]) {
    const concerned = found.filter(({ correction }) => {
      const { from, to } = concernedTime(correction);
      return from <= range.to && to >= range.from;
    });
    expect(await trips.corrections('ada', range)).toEqual(concerned);
  }
});

it('a page of the chain does not read the links around later corrections', async () => {
  const raw = readersOf(analysed);
  const read: number[] = [];
  const chain: Trips['chain'] = async (user, range) => {
    const found = await raw.chain(user, range);
    read.push(...found.map(({ chain_ts }) => chain_ts));
    return found;
  };
  expect(await corrected(stated([mode(0), mode(11)]), { chain }).chain('ada', { limit: 3 })).toHaveLength(3);
  expect(Math.max(...read)).toBeLessThan(at(3));
});

it('further corrections of a trip cost no further search for the trips around them', async () => {
  const searchesWith = async (count: number) => {
    const raw = readersOf(analysed);
    let searches = 0;
    const neighbours: Trips['neighbours'] = (...asked) => {
      searches += 1;
      return raw.neighbours(...asked);
    };
    const corrections = stated(Array.from({ length: count }, (_, i) => ({ kind: 'split', ts: at(3) + i })));
    await corrected(corrections, { neighbours }).chain('ada', { from: at(5), limit: 1 });
    return searches;
  };
  expect(await searchesWith(40)).toBe(await searchesWith(2));
});

it('a corrected trip is as new as the newest link around it or its correction, and other trips stay as they are', async () => {
  const spansWith = async (...list: Stated[]) =>
    (await corrected(list).spans('ada', { from: at(0), to: at(12) })).map(({ written_ts }) => written_ts);
  const plain = [100, 101, 102, 103, 104, 106, 107, 108, 109, 110, 111, 112];
  expect(await spansWith()).toEqual(plain);
  const [early, late] = [5, 500].map((received_ts) => ({ ...stated([mode(2)])[0]!, received_ts }));
  expect(await spansWith(early!)).toEqual(plain.with(2, 104).with(3, 104));
  expect(await spansWith(late!)).toEqual(plain.with(2, 500).with(3, 500));
});

it('the effects of idle corrections and of undos', async () => {
  const list = stated([drop(3), undo(10), undo(11), undo(99), { kind: 'split', ts: at(3) - 999 }]);
  const effects = (await corrected(list).corrections('ada')).map(({ effect, day: on }) => [effect, on]);
  expect(effects).toEqual([
    ['contradicted', '1970-01-13'],
    ['undone', null],
    ['applied', null],
    ['without effect', null],
    ['without effect', '1970-01-13'],
  ]);
  const ofOneDay = await corrected(stated(Array.from({ length: 102 }, () => mode(3)))).corrections('ada');
  expect(ofOneDay.filter(({ effect }) => effect === 'applied')).toHaveLength(100);
});

it('a draft is left out once a corrected trip reaches into it, and follows the links otherwise', async () => {
  const kindsWith = async (...list: object[]) =>
    (await allOf(everyLinkAndDraft(storeOf(stated(list)), 'ada', { from: at(11) }))).map(({ kind }) => kind).join(' ');
  const until = (seconds: number) => ({ ...add(11), end_ts: draft.start_ts + seconds });
  const found = [await kindsWith(), await kindsWith(until(0)), await kindsWith(until(1))];
  expect(found).toEqual(['trip draft', 'trip trip draft', 'trip trip']);
  const store = storeOf([]);
  const { chain_ts } = draft;
  for (const [from, to, expected] of [
    [chain_ts, chain_ts + 1, ['draft']],
    [chain_ts + 1, Infinity, []],
    [chain_ts - 1, chain_ts, []],
  ] as const) {
    expect((await allOf(everyLinkAndDraft(store, 'ada', { from, to }))).map(({ id }) => id)).toEqual(expected);
    const around = await correctedTrips(store).around('ada', { from, to });
    expect(around.filter(({ kind }) => kind === 'draft').map(({ id }) => id)).toEqual(expected);
  }
  expect(Object.keys(movedOnly({ ...store, usercache: {} as never })).sort()).toEqual(['timeseries', 'trips']);
});

const noon = 20_000 * day + day / 2;
const drops = (count: number, apart: number): Stated[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'drop', ts: noon + i * apart, write_ts: i, received_ts: 1 }));

it('100 corrections of a UTC day count, and 1,000 in all', () => {
  expect(mostCorrections).toEqual({ active: 1000, inAll: 2000 });
  expect(activeCorrections(drops(102, 1)).map(({ write_ts }) => write_ts)).toEqual(
    Array.from({ length: 100 }, (_, i) => i),
  );
  const night = drops(150, 1).map((one, i) => ({ ...one, ts: 20_000 * day + (i < 75 ? -1 : 0) })) as Stated[];
  expect(activeCorrections(night)).toHaveLength(150);
  expect(activeCorrections(drops(1002, day)).at(-1)!.write_ts).toBe(999);
});

it('an undo counts if it is not undone and if it was written later', () => {
  const all = stated([drop(1), drop(2), ...[10, 11, 12, 15].map(undo)]);
  expect([...undoneTimes(all)].sort()).toEqual([11, 12]);
  expect(withoutUndone(all).map(({ write_ts }) => write_ts)).toEqual([10]);
});

it.each<[string, object[], object, boolean]>([
  ['repeats the newest', [named(3)], named(3), true],
  ['has another name', [named(3)], { ...named(3), name: 'X' }, false],
  ['has another time', [named(3)], named(4), false],
  ['has another kind', [drop(3)], split(3), false],
  ['repeats an older one', [mode(3), { ...mode(3), mode: 'bus' }], mode(3), false],
  ['repeats an undone one', [named(3), undo(10)], named(3), false],
  ['repeats an undo', [named(3), undo(10)], undo(10), true],
  ['undoes another', [named(3), undo(10)], undo(9), false],
  ['is the first', [], named(3), false],
])('a correction that %s', (_, list, correction, expected) => {
  expect(repeatsNewest(stated(list), correction as Correction)).toBe(expected);
});

it('pending corrections are read before moved ones, each once, up to 3,000, without those that are invalid', async () => {
  const asked: string[] = [];
  const entryAt = (write_ts: number) =>
    correction(write_ts, { kind: 'drop', ...(write_ts !== 5 && { ts: 1_700_000_000 }) });
  const part = (name: string, times: number[]): Store['timeseries'] => {
    const find = async (_: string, query: { after?: number; limit: number }) => {
      asked.push(name);
      const found = times.filter((ts) => ts > (query.after ?? -1)).slice(0, query.limit);
      const next = found.length === query.limit ? found.at(-1)! : null;
      return { entries: found.map(entryAt), received_ts: found.map(() => 1_800_000_000), next };
    };
    return { find } as unknown as Store['timeseries'];
  };
  const timesOf = async (moved: number[], pending?: number[]) => {
    const usercache = pending && part('pending', pending);
    const found = await readCorrections({ timeseries: part('moved', moved), ...(usercache && { usercache }) }, 'ada');
    return found.map(({ write_ts }) => write_ts);
  };
  expect(await timesOf([1, 5, 9])).toEqual([1, 9]);
  expect(await timesOf([1, 9], [3, 9])).toEqual([1, 3, 9]);
  expect(asked.indexOf('pending')).toBe(1);
  const many = Array.from({ length: 3001 }, (_, i) => 100 + i);
  expect((await timesOf(many)).length).toBe(3000);
  expect((await timesOf(many.slice(0, 2000), many.slice(2000))).at(-1)).toBe(3099);
});
