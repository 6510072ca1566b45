// An evaluation client with its own keys, shaped like MobilityNet's: it reads the same before and after the
// pipeline.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { type Kit, openKit } from '../server/kit.ts';
import type { Opened } from '../store/contract.ts';
import { describeOnServers, newStoreOn } from '../store/servers.ts';
import { pipeline } from '../support/diary.ts';
import { words } from '../support/words.ts';

let kit: Kit;

const start = 1_558_000_000;

const entry = (key: string, platform: string, write_ts: number, data: JsonObject, more = {}): JsonObject => ({
  metadata: { key, platform, write_ts, type: 'message', ...more },
  data,
});

/** An entry as the client's registration writes it: with its own platform name, and no zone. */
function specification(i: number): JsonObject {
  const times = { start_ts: start, end_ts: start + 86_400 };
  const label = { id: `spec-${i}`, name: 'walk and bus', ...times, evaluation_trips: [] };
  return entry('config/evaluation_spec', 'script', start + i, { label, ...times }, { read_ts: 0 });
}

const runOfTrip = words('START_CALIBRATION_PERIOD START_EVALUATION_TRIP STOP_EVALUATION_SECTION STOP_EVALUATION_TRIP');

/** What the phone under test is set to: the start or the end of a run, a trip or a section. */
function transition(i: number): JsonObject {
  const ids = { trip_id: `trip_${i}`, spec_id: 'spec-0', device_os: 'android' };
  const data = { transition: runOfTrip[i % 4]!, ...ids, ts: start + 99 + i };
  const platform = i % 2 === 0 ? 'android' : 'ios';
  const zoned = { time_zone: 'America/Los_Angeles' };
  return entry('manual/evaluation_transition', platform, start + 100 + i, data, zoned);
}

function battery(i: number): JsonObject {
  const data = { battery_level_pct: 50, battery_status: 3, ts: start + i };
  return entry('background/battery', 'android', start + i, data, { time_zone: 'UTC' });
}

/** All the rows of the keys, page by page, as the client asks: inclusive bounds, from the last time it has seen. */
async function retrieve(key: string, page: number): Promise<string[]> {
  const rows = new Map<string, JsonObject>();
  for (let from = 0, more = true; more; ) {
    const { json } = await kit.post('/datastreams/find_entries/timestamp', {
      user: 'evaluated-phone',
      key_list: [key],
      start_time: from,
      end_time: Number.MAX_SAFE_INTEGER,
      max_entries: page,
      trunc_method: 'first',
    });
    const found = json.phone_data as JsonObject[];
    for (const row of found) rows.set(JSON.stringify(row), row);
    const last = (found.at(-1)?.metadata as JsonObject | undefined)?.write_ts as number | undefined;
    more = found.length === page && last! > from;
    from = last ?? from;
  }
  return [...rows.keys()];
}

describe('on the embedded store', () => evaluation());
describeOnServers('an evaluation on MongoDB', (server) => evaluation(() => newStoreOn(server())));

function evaluation(open?: () => Promise<Opened>): void {
  it('reads its own keys, and the phone’s, in the same number before and after the pipeline', async () => {
    const other = await open?.();
    kit = await openKit({ wrap: (embedded) => other?.store ?? embedded });
    const store = other?.store ?? kit.store;
    const { uuid } = (await store.users.register('evaluated-phone', { now: 1 })).user;
    const count = { 'config/evaluation_spec': 7, 'manual/evaluation_transition': 40, 'background/battery': 12 };
    const entries = [
      ...Array.from({ length: 7 }, (_, i) => specification(i)),
      ...Array.from({ length: 40 }, (_, i) => transition(i)),
      ...Array.from({ length: 12 }, (_, i) => battery(i)),
    ];
    await kit.put(entries, 'evaluated-phone');
    const readKey = async (key: string) => [key, await retrieve(key, 9)] as const;
    const read = async () => Object.fromEntries(await Promise.all(Object.keys(count).map(readKey)));
    const before = await read();
    const report = await pipeline(store, uuid);
    expect(report.stages[0]!.counts).toMatchObject({ moved: 59, unknown_keys: 47, set_aside: 0 });
    const after = await read();
    for (const [key, rows] of Object.entries(count)) expect([key, after[key]!.length]).toEqual([key, rows]);
    // Of keys without a converter each row is the same to the last bit, the pushed entry in it.
    for (const key of ['config/evaluation_spec', 'manual/evaluation_transition'])
      expect(after[key]).toEqual(before[key]);
    expect(JSON.parse(after['config/evaluation_spec']![0]!)).toMatchObject(specification(0));
    // What was read back, in the form in which it is kept, may be pushed again: nothing is translated twice.
    const stored = Object.values(after).flatMap((rows) => rows.map((row) => JSON.parse(row)));
    const again = stored.map(({ metadata, data }) => ({ metadata, data }));
    const { json } = await kit.put(again, 'evaluated-phone');
    expect(json).toMatchObject({ inserted: 0, updated: 59, rejected: 0 });
    expect((await pipeline(store, uuid)).stages[0]!.counts).toMatchObject({ inserted: 0, set_aside: 0 });
    expect(await read()).toEqual(after);
  });
}
