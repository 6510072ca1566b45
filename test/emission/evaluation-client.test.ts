// An evaluation client with its own keys, shaped like MobilityNet's, reads the same before and after the pipeline.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { openKit } from '../server/kit.ts';
import type { Opened } from '../store/contract.ts';
import { describeOnServers, newStoreOn } from '../store/servers.ts';
import { pipeline } from '../support/diary.ts';

const start = 1_558_000_000;
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const entry = (key: string, platform: string, write_ts: number, data: JsonObject, more: JsonObject): JsonObject => ({
  metadata: { key, platform, write_ts, type: 'message', ...more },
  data,
});

/** As the client registers an evaluation: with its own platform name, and no zone. */
const specifications = numbers(7).map((i) => {
  const times = { start_ts: start, end_ts: start + 86_400 };
  const label = { id: `spec-${i}`, name: 'walk and bus', ...times, evaluation_trips: [] };
  return entry('config/evaluation_spec', 'script', start + i, { label, ...times }, { read_ts: 0 });
});
/** What the phone under test is set to. */
const transitions = numbers(40).map((i) => {
  const ids = { trip_id: `trip_${i}`, spec_id: 'spec-0', device_os: 'android' };
  const data = { transition: 'START_EVALUATION_TRIP', ...ids, ts: start + 99 + i };
  const platform = i % 2 === 0 ? 'android' : 'ios';
  return entry('manual/evaluation_transition', platform, start + 100 + i, data, { time_zone: 'America/Los_Angeles' });
});
const batteries = numbers(12).map((i) => {
  const data = { battery_level_pct: 50, battery_status: 3, ts: start + i };
  return entry('background/battery', 'android', start + i, data, { time_zone: 'UTC' });
});

describe('on the embedded store', () => evaluation());
describeOnServers('an evaluation on MongoDB', (server) => evaluation(() => newStoreOn(server())));

function evaluation(open?: () => Promise<Opened>): void {
  it('reads its own keys, and the phone’s, in the same number before and after the pipeline', async () => {
    const other = await open?.();
    const kit = await openKit({ wrap: (embedded) => other?.store ?? embedded });
    const store = other?.store ?? kit.store;
    const { uuid } = (await store.users.register('evaluated-phone', { now: 1 })).user;
    const put = async (entries: JsonObject[]) => (await kit.put(entries, 'evaluated-phone')).json;
    const read = async (key: string): Promise<JsonObject[]> => {
      const query = { key_list: [key], start_time: 0, end_time: Number.MAX_SAFE_INTEGER };
      const { json } = await kit.post('/datastreams/find_entries/timestamp', { user: 'evaluated-phone', ...query });
      return json.phone_data as JsonObject[];
    };
    const readOwn = async () => [
      ...(await read('config/evaluation_spec')),
      ...(await read('manual/evaluation_transition')),
    ];
    await put([...specifications, ...transitions, ...batteries]);
    const own = await readOwn();
    expect(own).toMatchObject([...specifications, ...transitions]);
    const report = await pipeline(store, uuid);
    expect(report.stages[0]!.counts).toMatchObject({ moved: 59, unknown_keys: 47, set_aside: 0 });
    expect(JSON.stringify(await readOwn())).toBe(JSON.stringify(own));
    const moved = await read('background/battery');
    expect(moved).toHaveLength(12);
    // The client may push what it read: nothing is translated twice.
    const again = [...own, ...moved].map(({ metadata, data }) => ({ metadata: metadata!, data: data! }));
    expect(await put(again)).toMatchObject({ inserted: 0, updated: 59, rejected: 0 });
    expect((await pipeline(store, uuid)).stages[0]!.counts).toMatchObject({ inserted: 0, set_aside: 0 });
    expect([await readOwn(), await read('background/battery')]).toEqual([own, moved]);
  });
}
