// P5: nothing new, nothing done; and what is new costs what it changes, not what the history weighs.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import type { UserReport } from '../../src/pipeline/run-pipeline.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import { derived, pipeline, putAndRun } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, commute, pushed, pushedFix, pushedIncident } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

const day = 86_400;
const history = (days: number): Entry[] => Array.from({ length: days }, (_, d) => commute(d)).flat();
const figures = (report: UserReport, stage: string) => report.stages.find((s) => s.stage === stage)!.counts;

/** Every file of the store's folder, but for the index of the write-ahead log, which readers change as well. */
async function files(): Promise<Map<string, Buffer>> {
  const names = await readdir(store.address.replace(/^sqlite:/, ''), { recursive: true, withFileTypes: true });
  const paths = names
    .filter((file) => file.isFile() && !file.name.endsWith('-shm'))
    .map((file) => join(file.parentPath, file.name));
  return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
}

describe('a run without new entries', () => {
  it('reports it, and writes nothing', async () => {
    const user = await newUser(store);
    const days = [...simulateDays({ platform: 'android', day: '2024-03-12', seed: 3 }, 2)].flat();
    expect((await putAndRun(store, user, days)).status).toBe('done');
    const before = await files();
    expect(before.size).toBeGreaterThan(1);
    expect(await pipeline(store, user)).toMatchObject({ status: 'nothing_new', stages: [] });
    const after = await files();
    expect([...after.keys()]).toEqual([...before.keys()]);
    for (const [path, content] of after) expect(content.equals(before.get(path)!), path).toBe(true);
    expect((await pipeline(store, await newUser(store))).status).toBe('nothing_new');
  });

  it('but with all entries pushed again changes neither the timeseries nor the diary', async () => {
    const user = await newUser(store);
    await putAndRun(store, user, history(3));
    const before = await derived(store, user);
    const documents = await store.documents.list(user);
    const report = await putAndRun(store, user, history(3), { now: () => 1_900_000_000 });
    const unchanged = history(3).length;
    expect(figures(report, 'move to long term')).toMatchObject({ inserted: 0, updated: 0, unchanged });
    expect(figures(report, 'analyse trips')).toEqual({});
    expect(await derived(store, user)).toEqual(before);
    expect(await store.documents.list(user)).toEqual(documents);
  });
});

describe('the cost of a run', () => {
  /** What a run over `entries` looked at, after a history of so many days. */
  async function analysed(days: number, entries: Entry[], stretchSize = 200): Promise<Record<string, number>> {
    const user = await newUser(store);
    await putAndRun(store, user, history(days));
    return figures(await putAndRun(store, user, entries, { stretchSize }), 'analyse trips');
  }

  it('of one new day does not depend on the days before', async () => {
    const short = await analysed(2, commute(40));
    const long = await analysed(30, commute(40));
    expect(long).toEqual(short);
    // The last trip of before is looked at again: that nothing followed it is known now.
    expect(long).toMatchObject({ links: 3, added: 2, removed: 0, changed: 1 });
  });

  it('of a changed entry in the middle does not depend on later days: it stops where links are unchanged', async () => {
    const late = [pushedFix(android, 2 * day + 300, 3000, 0, { altitude: 90 })];
    const short = await analysed(12, late);
    const long = await analysed(30, late);
    expect(long).toEqual(short);
    expect(long.locations).toBeLessThan(500);
    expect(long).toMatchObject({ added: 0, removed: 0, changed: 1 });
  });

  it('of a day before all others does not depend on the days after', async () => {
    const user = await newUser(store);
    const days = [...simulateDays({ platform: 'android', day: '2024-03-12', seed: 'late' }, 16)].toReversed();
    const locations: number[] = [];
    for (const entries of days) {
      const report = await putAndRun(store, user, entries, { stretchSize: 200 });
      locations.push(figures(report, 'analyse trips').locations!);
    }
    expect(Math.max(...locations.slice(8))).toBeLessThan(2 * Math.max(...locations.slice(0, 8)));
    expect(locations.at(-1)).toBeLessThan(800); // about 140 a day
  });

  it('includes writing the trips that changed, and no others', async () => {
    const user = await newUser(store);
    await putAndRun(store, user, history(3));
    const spans = () => store.trips.spans(user, { from: 0, to: Number.POSITIVE_INFINITY });
    const before = await spans();
    await pipeline(store, user, { reanalyseFrom: 0 });
    expect(await spans()).toEqual(before);
    await putAndRun(store, user, [pushedFix(android, day + 300, 3000, 0, { altitude: 90 })]);
    const rewritten = (await spans()).filter(({ written_ts }, i) => written_ts !== before[i]!.written_ts);
    expect(rewritten.map(({ chain_ts }) => chain_ts)).toEqual([before[2]!.chain_ts]);
  });

  it('of an incident concerns the documents only, of entries without derived data the move only', async () => {
    const user = await newUser(store);
    await putAndRun(store, user, history(2));
    const report = await putAndRun(store, user, [pushedIncident(android, 300, 3000, 5)]);
    expect(figures(report, 'analyse trips')).toEqual({});
    expect(figures(report, 'documents')).toEqual({ days: 2, written: 1, unchanged: 1, removed: 0 });
    const stats = pushed(android, 'stats/client_time', 0, { name: 'push_duration', ts: t0, reading: 1 });
    const { stages } = await putAndRun(store, user, [stats]);
    expect(stages.map(({ counts }) => Object.values(counts).reduce((a, b) => a + b, 0))).toEqual([2, 0, 0]);
  });
});
