// Contract: transit feeds.
import { expect, it } from 'vitest';
import { noise } from '../../support/noise.ts';
import { newId, type Use } from './kit.ts';

const part = 8 * 1024 * 1024; // bytes

async function* zip(bytes: number, fail = false): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= 1_000_000) yield new Uint8Array(Math.min(left, 1_000_000)).fill(left % 251);
  if (fail) throw new Error('interrupted');
}

export function feedTests(use: Use): void {
  const present = async () => (await use.store.feeds.list()).filter(({ facts }) => facts !== null);

  it('a feed is listed with its facts, gives its index, and is removed with its parts', async () => {
    const { feeds } = use.store;
    const [id, other] = [newId(), newId()].sort();
    await feeds.add({ id: other!, facts: { name: 'b' }, index: '{"b":1}' }, zip(10));
    await feeds.add({ id: id!, facts: { name: 'a', agencies: ['x'] }, index: '{"a":1}' }, zip(part + 3_000_000));
    expect(await present()).toEqual([
      { id, facts: { name: 'a', agencies: ['x'] } },
      { id: other, facts: { name: 'b' } },
    ]);
    expect(await feeds.index(id!)).toBe('{"a":1}');
    expect(await feeds.index('none')).toBeNull();
    const parts = [await feeds.part(id!, 1), await feeds.part(id!, 2), await feeds.part(id!, 3)];
    expect(parts.map((bytes) => bytes?.length)).toEqual([part, 3_000_000, undefined]);
    for (const one of [id!, other!]) expect(await feeds.remove(one)).toBe(true);
    expect(await feeds.remove(id!)).toBe(false);
    expect(await feeds.index(id!)).toBeNull();
    expect((await feeds.list()).filter((feed) => feed.id === id)).toEqual([{ id, facts: null }]);
    expect(await present()).toEqual([]);
  });

  it('an index that is larger than a part is returned whole', async () => {
    const { feeds } = use.store;
    const id = newId();
    const index = noise('index', 12_800_000);
    await feeds.add({ id, facts: {}, index }, zip(10));
    expect((await feeds.index(id)) === index).toBe(true);
    expect((await present()).map((feed) => feed.id)).toEqual([id]);
    await feeds.remove(id);
  });

  it('a feed that was added again replaces the one before', async () => {
    const { feeds } = use.store;
    const id = newId();
    for (const index of ['1', '2']) await feeds.add({ id, facts: { index }, index }, zip(part));
    expect(await present()).toEqual([{ id, facts: { index: '2' } }]);
    expect(await feeds.index(id)).toBe('2');
    await feeds.remove(id);
  });

  it('an interrupted addition leaves nothing visible, and does not prevent the next', async () => {
    const { feeds } = use.store;
    const feed = { id: newId(), facts: {}, index: '1' };
    await expect(feeds.add(feed, zip(part + 1, true))).rejects.toThrow('interrupted');
    expect(await present()).toEqual([]);
    await feeds.add(feed, zip(1_000));
    expect(await present()).toHaveLength(1);
    await feeds.remove(feed.id);
  });
}
