// Contract: reading the timeseries, the zones around a time, and the state of the pipeline.
import { expect } from 'vitest';
import { battery, entry, fix, fixes, location, newId, type Person, same, type Use } from './kit.ts';

export function timeseriesTests(use: Use): void {
  use.it('a read returns the requested number of entries, also if each is in another chunk', async (user) => {
    const entries = [1, 2e8, 4e8, 6e8, 8e8, 1e9, 1.2e9].map((ts) => fix(ts));
    await user.moveIn(entries);
    for (const time of ['write_ts', 'ts'] as const) {
      for (const descending of [false, true]) {
        for (const limit of [1, 3, 5, 7, 9]) {
          const page = await use.store.timeseries.find(user.id, { keys: [location], time, limit, descending });
          expect([page.entries.length, page.next === null]).toEqual([Math.min(limit, 7), limit >= 7]);
        }
      }
    }
  });

  use.it('facts are known of chunks with one source, and never of a part of the entries', async (user) => {
    const query = { keys: [location], time: 'ts' } as const;
    const facts = (range = {}) => use.store.timeseries.facts(user.id, { ...query, ...range });
    const place = (ts: number, fields = {}, metadata = {}) => fix(ts, fields, { platform: 'ios', ...metadata });
    expect(await facts()).toEqual([]);
    const day = 86_400;
    const times = [1_700_000_000.123, 1_700_000_000.123456, 1_700_000_123] as const;
    await user.moveIn(times.map((ts) => place(ts)));
    await user.moveIn([place(times[0] + 2 * day)]);
    const known = await facts();
    expect(known?.map((one) => one.times)).toEqual([times, [times[0] + 2 * day]]);
    for (const one of known!) expect(one).toMatchObject({ source: 'ios', behind: 0 });
    expect(await facts({ from: times[0] + day })).toEqual(known?.slice(1));
    await user.moveIn([place(times[2] + 1, {}, { platform: 'android' })]);
    expect(await facts()).toBeNull();
    expect(await facts({ from: times[0] + day })).toEqual(known?.slice(1));
    await user.moveIn([place(times[0] + 2 * day + 1, { ts: times[0] + 2 * day + 1001.5 })]);
    expect((await facts({ from: times[0] + day }))?.map(({ behind }) => behind)).toEqual([1000.5]);
  });

  use.it('zonesAround gives the valid zones next to a time', async (user) => {
    const zoned = (key: string, ts: number, time_zone?: unknown) =>
      entry(key, ts, {}, time_zone === undefined ? {} : { time_zone: time_zone as string });
    const berlin = { write_ts: 10, zone: 'Europe/Berlin' };
    const paris = { write_ts: 20, zone: 'Europe/Paris' };
    await user.moveIn([
      zoned(battery, 10, 'Europe/Berlin'),
      zoned(location, 15),
      zoned(location, 16, 'Nowhere/Land'),
      zoned(location, 17, 5),
      zoned(location, 20, 'Europe/Madrid'),
      zoned('a/key', 20, 'Europe/Paris'),
      zoned('0/key', 20),
    ]);
    const around = (ts: number) => use.store.timeseries.zonesAround(user.id, ts);
    expect(await around(9.5)).toEqual({ before: null, after: berlin });
    expect(await around(10)).toEqual({ before: berlin, after: paris });
    expect(await around(17)).toEqual({ before: berlin, after: paris });
    expect(await around(20)).toEqual({ before: paris, after: null });
    expect(await around(1e12)).toEqual({ before: paris, after: null });
    await user.moveIn([zoned('a/key', 20)]);
    await user.putFailed([zoned(battery, 10)]);
    expect(await around(17)).toEqual({ before: null, after: { write_ts: 20, zone: 'Europe/Madrid' } });
    expect(await use.store.timeseries.zonesAround(newId(), 17)).toEqual({ before: null, after: null });
  });

  use.it('old entries of some keys are removed, also from within chunks, no others', async (user, other) => {
    const timeless = entry('a/key', 5, { text: 'no data time' });
    const stays = [entry(battery, 3, { ts: 3 }), fix(40), fix(41), entry('a/key', 60, { text: 'late' })];
    await user.moveIn([...fixes(0, 40), ...stays, timeless]);
    await other.moveIn([fix(1)]);
    const remove = () =>
      user.leased((lease) => use.store.timeseries.remove(user.id, { keys: [location, 'a/key'], before: 40 }, lease));
    expect([await remove(), await remove()]).toEqual([41, 0]);
    same(await user.stored(), stays);
    expect((await use.store.counts(other.id)).timeseries).toBe(1);
    expect((await user.state()).changed).toEqual({ from: 0, to: 41 });
  });

  use.it('a state that was never written is the initial one, and merging keeps the other fields', async (user) => {
    const initial = await user.state();
    expect(initial).toMatchObject({ changed: null, documents_due: false, complete_until: null });
    const first = { complete_until: 5.5, locations_from: 'background/location' as const, last_error: 'e\u0000\ud800' };
    await user.mergeState(first);
    await user.mergeState({ last_run_ts: 9, documents_due: true });
    same(await user.state(), { ...initial, ...first, last_run_ts: 9, documents_due: true });
    await user.mergeState({ complete_until: null, last_error: null });
    expect(await user.state()).toMatchObject({ complete_until: null, last_error: null, last_run_ts: 9 });
  });

  use.it('withWork names users with pending, changed or due data', async (idle, rejected, waits, changed, due) => {
    const all = [idle, rejected, waits, changed, due];
    const withWork = async (of: Person[], at: number, version?: string) => {
      const ids = of.map(({ id }) => id);
      const found = await use.store.pipeline.withWork(ids, at, version);
      return of.filter(({ id }) => found.has(id));
    };
    await idle.mergeState({ complete_until: 5 });
    await rejected.putUnusable([{ entry: 1, reason: 'r', message: 'm' }], 1);
    await waits.put([entry(battery, 1)], 1);
    await changed.moveIn([fix(1)]);
    await due.mergeState({ documents_due: true });
    expect(await withWork(all, 4e9)).toEqual([waits, changed, due]);
    expect(await withWork([idle, due], 4e9)).toEqual([due]);
    expect(await withWork([], 4e9)).toEqual([]);
    await idle.mergeState({ analysis_version: 'first' });
    expect(await withWork(all, 4e9, 'first')).toEqual([waits, changed, due]);
    expect(await withWork(all, 4e9, 'second')).toEqual([idle, waits, changed, due]);
    const seen = { ts: 1e9 + 2.5 * 86_400, phone: 'waits', at: null, reports: 0, stay: null } as const;
    await idle.mergeState({ observed: { from: 1e9, silences: [], seen } });
    for (const version of ['a', 'second']) {
      expect(await use.store.pipeline.outdated(version, idle.id)).toEqual({ people: 1, days: 3 });
      expect(await use.store.pipeline.outdated(version, due.id)).toEqual({ people: 0, days: 0 });
      expect((await use.store.pipeline.outdated(version)).people).toBeGreaterThanOrEqual(1);
    }
    expect(await use.store.pipeline.outdated('first', idle.id)).toEqual({ people: 0, days: 0 });
    await changed.mergeState({ changed: null });
    await due.mergeState({ documents_due: false });
    await waits.moveAll();
    expect(await withWork(all, 4e9)).toEqual([]);
  });
}
