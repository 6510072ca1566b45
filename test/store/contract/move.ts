// Contract: the move of waiting entries to the timeseries or the error timeseries, and what it marks.
import { describe, expect } from 'vitest';
import type { Judge } from '../../../src/store/store.ts';
import type { Person, Use } from './kit.ts';
import { accept, battery, entry, fix, fixes, incident, location, numbers, refuse, same, storedAt } from './kit.ts';

const clean = { changed: null, documents_due: false };

/** What is marked as changed; then takes the marks away. */
async function marks(user: Person) {
  const { changed, documents_due } = await user.state();
  await user.mergeState(clean);
  return { changed, documents_due };
}

export function moveTests(use: Use): void {
  use.it('entries that the judge accepts are in the timeseries, at the time that it returns', async (user) => {
    const entries = [fix(1), fix(2), entry(battery, 3)];
    await user.put(entries);
    const judge: Judge = ({ metadata: { write_ts } }) => ({ ts: write_ts === 3 ? null : 100 - write_ts });
    const identities = [3, 1, 2].map((write_ts) => ({ key: write_ts === 3 ? battery : location, write_ts }));
    const marked = { changed: { from: 98, to: 99 }, documents: false };
    const counts = { inserted: 3, updated: 0, unchanged: 0 };
    same(await user.moveAll(judge), { moved: identities, ...counts, failed: [], dirty: marked, more: false });
    same(await user.waiting(), []);
    same(await user.stored(), entries);
    same((await use.store.timeseries.find(user.id, { time: 'ts', limit: 9 })).entries, [fix(2), fix(1)]);
  });

  use.it('a move without due entries keeps the times of the last one', async (user) => {
    await user.put([fix(1), fix(500)], 0);
    await user.moveAll(accept, { at: 100 });
    const { moved_ts, converted_ts } = await user.state();
    expect([moved_ts, converted_ts]).toEqual([100, 100]);
    await user.put([entry(battery, 1_000_000_000)], 100);
    await user.moveAll(refuse(), { at: 200 });
    expect(await user.state()).toMatchObject({ moved_ts, converted_ts });
  });

  use.it('new, different and same contents are counted, and the newest is kept', async (user) => {
    await user.moveIn([fix(1), fix(2), entry(battery, 3)]);
    const result = await user.moveIn([fix(1), fix(2, { a: 1 }), fix(4), entry(battery, 3)]);
    expect(result).toMatchObject({ inserted: 1, updated: 1, unchanged: 2, failed: [] });
    expect(result.moved).toHaveLength(4);
    same(await user.stored(), [fix(1), fix(2, { a: 1 }), entry(battery, 3), fix(4)]);
    expect((await use.store.counts(user.id)).timeseries).toBe(4);
  });

  use.it('keys are those of pending entries, not of moved entries or other users', async (user, other) => {
    expect(await use.store.usercache.keys(user.id)).toEqual([]);
    await user.moveIn([entry(battery, 1)]);
    await other.put([entry(battery, 1)]);
    await user.put([fix(1), fix(2), entry('odd.$key\\', 1)]);
    expect((await use.store.usercache.keys(user.id)).sort()).toEqual([location, 'odd.$key\\']);
  });

  use.it('moves begin with the oldest puts, and report whether more entries are pending', async (user) => {
    for (const from of [90, 60, 30, 0]) await user.put(fixes(from, from + 10));
    await user.put([fix(65, { again: true })]); // moves behind the others
    await user.leased(async (lease) => {
      const page = async () => {
        const { moved, more } = await user.move(lease, accept, { limit: 20 });
        return [moved.map((one) => one.write_ts), more];
      };
      expect([await page(), await page(), await page()]).toEqual([
        [[...numbers(90, 100), ...numbers(60, 65), ...numbers(66, 70)], true],
        [[...numbers(30, 40), ...numbers(0, 10)], true],
        [[65], false],
      ]);
    });
  });

  use.it('many small puts are moved completely, and a move that empties the usercache reports it', async (user) => {
    await Promise.all(numbers(0, 200).map((ts) => user.put([fix(ts)])));
    const first = await user.leased((lease) => user.move(lease, accept, { limit: 1_000 }));
    expect(first).toMatchObject({ inserted: 200, more: false });
    await Promise.all(numbers(0, 250).map((ts) => user.put([fix(ts, { again: true })])));
    expect(await user.moveAll()).toMatchObject({ inserted: 50, updated: 200, more: false });
    expect((await user.stored()).every(({ data }) => data.again === true)).toBe(true);
  });

  use.it('a large put is moved in parts, and counts as one change', async (user) => {
    const many = fixes(0, 5_500);
    expect(await user.moveIn(many)).toMatchObject({ inserted: 5_500 });
    expect(await user.moveIn(many)).toMatchObject({ unchanged: 5_500 });
    expect((await user.state()).changed).toEqual({ from: 0, to: 5_499 });
    same(await user.stored(), many);
  });

  use.it('a failed entry is rejected as it was pushed, with the reason and the time', async (user) => {
    const sent = entry('manual/survey', 7.25, { 'a.b': [-0, null] }, { $x: { y: '\u0000' } });
    await user.put([sent, fix(1)]);
    const message = 'data.x: expected é, found "\u0000"';
    const judge: Judge = (one) => (one.metadata.key === location ? accept(one) : { reason: 'bad_value', message });
    const identity = { key: 'manual/survey', write_ts: 7.25 };
    const failed = [{ ...identity, reason: 'bad_value', message }];
    expect(await user.moveAll(judge, { at: 50.5 })).toMatchObject({ inserted: 1, failed });
    const [error, ...others] = await user.errors();
    const times = { first_ts: 50.5, last_ts: 50.5, tries: 1, received_ts: 1_000 };
    same(error, { id: error!.id, entry: sent as never, identity, reason: 'bad_value', message, ...times });
    same([others, await user.waiting(), await user.stored()], [[], [], [fix(1)]]);
  });

  use.it('newer content that fails replaces the earlier content, and its time becomes dirty', async (user) => {
    await user.moveIn([entry(location, 7, { ts: 123 }), fix(1)]);
    await marks(user);
    const result = await user.putFailed([entry(location, 7, { ts: 'bad' })]);
    expect(result.dirty).toEqual({ changed: { from: 123, to: 123 }, documents: false });
    expect((await marks(user)).changed).toEqual({ from: 123, to: 123 });
    expect(await storedAt(use.store, user.id, { key: location, write_ts: 7 })).toBeNull();
    same(await user.stored(), [fix(1)]);
    expect(await user.errors()).toHaveLength(1);
  });

  use.it('simultaneous puts lose nothing, and the newest content is moved', async (user) => {
    const times = numbers(0, 30);
    await user.put(times.map((ts) => fix(ts, { round: 0 })));
    const again = times.filter((ts) => ts % 2 === 0);
    await Promise.all([user.moveAll(accept, { limit: 5 }), ...again.map((ts) => user.put([fix(ts, { round: 1 })]))]);
    await user.moveAll();
    const newest = times.map((ts) => fix(ts, { round: ts % 2 === 0 ? 1 : 0 }));
    same([await user.stored(), await user.waiting()], [newest, []]);
  });

  use.it('a put while a move decides about the entry that it replaces loses nothing', async (user) => {
    await user.put([fix(1, { round: 0 })]);
    let put: Promise<unknown> | null = null;
    const judge: Judge = (one) => {
      put ??= user.put([fix(1, { round: 1 }), fix(2)]);
      return accept(one);
    };
    await user.moveAll(judge);
    await put;
    await user.moveAll();
    same([await user.stored(), await user.waiting()], [[fix(1, { round: 1 }), fix(2)], []]);
  });

  use.it('a judge that throws changes nothing', async (user) => {
    await user.putFailed([fix(1, { bad: true })], 10);
    await user.put([fix(1), fix(2), fix(3)]);
    const before = [await user.waiting(), await user.errors()];
    const judge: Judge = ({ metadata }) => {
      if (metadata.write_ts === 3) throw new RangeError('broken on purpose');
      return { ts: null };
    };
    await expect(user.moveAll(judge)).rejects.toThrow('broken on purpose');
    same([await user.waiting(), await user.errors()], before);
    same(await user.stored(), []);
    expect(await marks(user)).toEqual(clean);
    await user.moveAll();
    same(await user.stored(), [fix(1), fix(2), fix(3)]);
  });

  describe('dirty ranges of a move', () => {
    use.it('are the data times of all new entries that affect trips, both ends included', async (user) => {
      expect(await marks(user)).toEqual(clean);
      await user.mergeState({ complete_until: 77.5 });
      for (const times of [[100, 50], [300], [200]]) await user.moveIn(times.map((ts) => fix(ts)));
      expect(await user.state()).toMatchObject({ complete_until: 77.5 });
      expect(await marks(user)).toEqual({ changed: { from: 50, to: 300 }, documents_due: false });
      for (const key of ['background/filtered_location', 'background/motion_activity', 'statemachine/transition']) {
        await user.moveIn([entry(key, 9, { ts: 8.5 })]);
        expect((await marks(user)).changed).toEqual({ from: 8.5, to: 8.5 });
      }
    });

    use.it('are the old and the new data time of a different content, and nothing of the same', async (user) => {
      await user.moveIn([fix(100), entry(incident, 2, { ts: 2 })]);
      await marks(user);
      await user.moveIn([entry(location, 100, { ts: 40 })]);
      expect((await marks(user)).changed).toEqual({ from: 40, to: 100 });
      await user.moveIn([entry(location, 100, { ts: 40, accuracy: 5 })]);
      expect((await marks(user)).changed).toEqual({ from: 40, to: 40 });
      await user.moveIn([entry(location, 100, { ts: 40, accuracy: 5 }), entry(incident, 2, { ts: 2 })]);
      expect(await marks(user)).toEqual(clean);
    });

    use.it('make documents due for entries that affect only these: new, different and failed ones', async (user) => {
      const steps = [
        () => user.moveIn([entry(incident, 5, { ts: 5, stress: 1 })]),
        () => user.moveIn([entry(incident, 5, { ts: 5, stress: 2 })]),
        () => user.putFailed([entry(incident, 5, { ts: 'bad' })]),
      ];
      for (const step of steps) {
        expect((await step()).dirty).toEqual({ changed: null, documents: true });
        expect(await marks(user)).toEqual({ changed: null, documents_due: true });
      }
    });

    use.it('are none for entries that affect nothing, or have no data time', async (user) => {
      await user.moveIn([entry(battery, 5, { ts: 5 }), entry('no/such key', 6, { ts: 6 }), entry(location, 7)]);
      expect(await marks(user)).toEqual(clean);
    });

    use.it('cover the entries without a zone whose zone follows from the new entry, and no other day', async (user) => {
      const day = 86_400;
      const zoned = (ts: number, time_zone: string) => entry(battery, ts, {}, { time_zone });
      const zoneless = [1, 3, 5, 7].map((n) => fix(n * day + 10));
      await user.moveIn([...zoneless, zoned(4 * day, 'Europe/Berlin')]);
      await marks(user);

      // Between the first zone and the end: those after it, until the next zone.
      const after = { from: 5 * day + 10, to: 7 * day + 10 };
      const before = { from: day + 10, to: 3 * day + 10 };
      for (const [one, changed] of [
        [zoned(6 * day, 'Europe/Paris'), after],
        [zoned(6 * day, 'Europe/Paris'), null],
        [zoned(6 * day, 'Europe/Madrid'), after],
        [entry(battery, 6 * day), after],
        [zoned(2 * day, 'Nowhere/Land'), null],
        [zoned(2 * day, 'Europe/Berlin'), before],
      ] as const) {
        await user.moveIn([one]);
        expect(await marks(user)).toEqual({ changed, documents_due: false });
      }
      await user.putFailed([zoned(2 * day, 'Europe/Berlin')], 1e9);
      expect((await marks(user)).changed).toEqual(before);
    });

    use.it('cover all entries without a zone if the first zone arrives late', async (user) => {
      await user.moveIn([fix(100), fix(1e6), entry('statemachine/transition', 2e6, { ts: 2e6 })]);
      await marks(user);
      await user.moveIn([entry(battery, 5e5, {}, { time_zone: 'Europe/Berlin' })]);
      expect((await marks(user)).changed).toEqual({ from: 100, to: 2e6 });
    });
  });
}
