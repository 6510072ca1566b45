// Contract: the order of keys, which is the same in every store, for any characters.
import { expect } from 'vitest';
import { entry, findAll, same, type Use } from './kit.ts';

/** In order: by code points, NUL and halves of characters as the backslash of their escapes. */
const inOrder = ['a', 'a/[', 'a/\\', 'a/\\\\', 'a/\0', 'a/\ud800', 'a/]', 'a/é', 'a/\uE000', 'a/\uFFFD', 'a/\u{1F6B2}'];
const shuffled = [7, 0, 10, 3, 5, 1, 9, 2, 8, 4, 6].map((i) => inOrder[i]!);

export function orderTests(use: Use): void {
  const made = shuffled.map((key) => entry(key, 1, { ts: 1 }, { time_zone: 'Europe/Berlin' }));
  const wanted = inOrder.map((key) => made.find((one) => one.metadata.key === key)!);

  use.it('entries of equal times, either way, in pages of any size', async (user) => {
    await user.moveIn(made);
    await user.put(made);
    for (const finder of [use.store.usercache, use.store.timeseries]) {
      for (const time of ['write_ts', 'ts'] as const) {
        for (const limit of [1, 3, 100]) {
          same(await findAll(finder, user.id, { time, limit }), wanted);
          same(await findAll(finder, user.id, { time, limit, descending: true }), wanted.toReversed());
        }
      }
    }
  });

  use.it('more keys than a store merges', async (user) => {
    const many = inOrder.flatMap((key) => ['', '!', '~', '\uFFFD!'].map((end) => entry(`${key}${end}`, 1, { ts: 1 })));
    await user.moveIn(many);
    const all = await findAll(use.store.timeseries, user.id, { time: 'ts', limit: 1_000 });
    expect(all).toHaveLength(many.length);
    expect((await use.store.timeseries.summary(user.id)).map((row) => row.key)).toEqual(
      all.map((one) => one.metadata.key),
    );
    for (const limit of [1, 7]) same(await findAll(use.store.timeseries, user.id, { time: 'ts', limit }), all);
  });

  use.it('of many zones at the same time, the zone of the first key is chosen', async (user) => {
    const many = shuffled.flatMap((key) => ['', '1', '2', '3', '4', '5', '6'].map((end) => key + end));
    const zoneOf = (key: string): string => (key === 'a' ? 'America/Lima' : 'Europe/Berlin');
    await user.moveIn(many.map((key) => entry(key, 1, {}, { time_zone: zoneOf(key) })));
    const sighting = { write_ts: 1, zone: 'America/Lima' };
    expect(await use.store.timeseries.zonesAround(user.id, 1)).toEqual({ before: sighting, after: null });
    expect(await use.store.timeseries.zonesAround(user.id, 0)).toEqual({ before: null, after: sighting });
  });
}
