// Stage "documents": which days have documents, when they are written, and which go.

import { describe, expect, it } from 'vitest';
import { shippedSegmenter } from '../../src/analysis/segment.ts';
import { readTripsOfDay } from '../../src/diary/build-trip-documents.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import { documentWindow, obsoleteKeys } from '../../src/pipeline/document-keys.ts';
import { hasEntry } from '../../src/store/paging.ts';
import { purgeKeys } from '../../src/upkeep/purge-documents.ts';
import { retain } from '../../src/upkeep/retain-user.ts';
import { chainAfter, memoryLog, pipeline, put, putAndRun } from '../support/diary.ts';
import { since, t0 } from '../support/phone.ts';
import { android, commute, iphone, pushed, pushedIncident, pushedRide } from '../support/pushes.ts';
import { newUser, putDocument, removeDocument, useStore } from '../support/store.ts';
import { workday } from '../support/trips.ts';
import { words } from '../support/words.ts';

const store = useStore();

const hour = 3600;
const day = 24 * hour;
/** A stroll around the house, too short to be a trip. */
const stroll = (seconds: number): Entry[] =>
  pushedRide(android, seconds, 0, 0.1).filter((e) => e.metadata.key !== 'background/motion_activity');

const keysOf = async (user: string): Promise<string[]> =>
  (await store.documents.keys(user)).map((key) => key.replace('diary/trips-2023-', ''));
const documentOf = async (user: string, wanted: string) =>
  (await store.documents.list(user)).find(({ key }) => key === wanted);

const lastTrip = (user: string) => store.trips.previous(user, Number.POSITIVE_INFINITY);

describe('the window', () => {
  it('is empty without complete data: nothing is written, and nothing removed', async () => {
    const user = await newUser(store);
    await putDocument(store, user, { key: 'diary/trips-2020-01-01', write_ts: 1, data: [] });
    await putAndRun(store, user, commute(0).slice(0, 10));
    expect(documentWindow(await lastTrip(user))).toBeNull();
    expect(await keysOf(user)).toEqual(['diary/trips-2020-01-01']);
    expect((await purgeKeys(store, user)).obsolete).toEqual([]);
    const another = await newUser(store);
    await putAndRun(store, another, [...stroll(0), ...stroll(2 * hour)]); // too short to be trips
    expect(documentWindow(await lastTrip(another))).toBeNull();
  });

  it('is whole days: the oldest keeps its morning until it leaves', async () => {
    const user = await newUser(store);
    const log = memoryLog();
    for (let d = 0; d <= 8; d += 1) await putAndRun(store, user, commute(d), { log });
    expect(log.lines.join('\n')).toContain('Result of removing document with key diary/trips-2023-11-14 is removed');
    expect(await keysOf(user)).toEqual(['11-15', '11-16', '11-17', '11-18', '11-19', '11-20', '11-21', '11-22']);
    const [oldest] = await store.documents.list(user);
    expect(oldest!.data).toHaveLength(2);
  });

  it('of a user at rest remains at their last week, also after weeks', async () => {
    const user = await newUser(store);
    await putAndRun(store, user, [...commute(0), ...commute(3)]);
    expect(await keysOf(user)).toEqual(['11-14', '11-17']);
    // Strolls around the house continue, and complete data with them.
    for (const d of [6, 9, 11, 40]) {
      await putAndRun(store, user, stroll(d * day));
      expect(await keysOf(user)).toEqual(['11-14', '11-17']);
    }
    await putAndRun(store, user, commute(42));
    expect(await keysOf(user)).toEqual(['12-26']);
  });

  it('ends a day after the last trip in the last zone of the user, who may have crossed the date line westwards', () => {
    const last = workday()[1]!;
    const windowOf = (fields: object) => documentWindow({ ...last, trip: { ...last.trip!, ...fields } });
    const [start_zone, end_zone] = ['Pacific/Auckland', 'Pacific/Honolulu']; // 15 November there, and the 14th
    expect(windowOf({ start_zone, end_zone: start_zone })).toEqual({ from: '2023-11-08', to: '2023-11-16' });
    expect(windowOf({ start_zone, end_zone })).toEqual({ from: '2023-11-07', to: '2023-11-15' });
    // It begins a week before the start of a trip of over a week.
    expect(windowOf({ end_ts: last.end_ts + 9 * day })).toEqual({ from: '2023-11-07', to: '2023-11-15' });
  });

  it('has a document again of a day that lost its own, and the trips of a day whose document lacks them', async () => {
    const user = await newUser(store);
    await putAndRun(store, user, [...commute(0), ...commute(1)]);
    await removeDocument(store, user, 'diary/trips-2023-11-14');
    await putDocument(store, user, { key: 'diary/trips-2023-11-17', write_ts: 1, data: [] });
    await putAndRun(store, user, commute(3));
    expect(await keysOf(user)).toEqual(['11-14', '11-15', '11-17']);
    expect((await documentOf(user, 'diary/trips-2023-11-17'))!.data).toHaveLength(2);
  });
});

describe('a document', () => {
  it('equals the answer of the timeline, and names the older version of the analysis until it is derived again', async () => {
    const user = await newUser(store);
    const made = async () => {
      const listed = (await store.documents.list(user)).flatMap(({ data }) => data);
      const read = ['2023-11-14', '2023-11-15'].map((wanted) => readTripsOfDay(store, user, wanted));
      const shown = (await Promise.all(read)).flat();
      expect(listed).toEqual(JSON.parse(JSON.stringify(shown)));
      return [...new Set(shown.map(({ properties }) => properties.analysis_version))];
    };
    const segmenter = { ...shippedSegmenter, version: 'older' };
    await putAndRun(store, user, [...commute(0), ...commute(1), pushedIncident(android, 300, 3000, 70)], { segmenter });
    expect(await made()).toEqual(['older']);
    await pipeline(store, user);
    expect(await made()).toEqual([shippedSegmenter.version]);
    await retain(store, user, { before: t0 + 20 * hour, what: 'raw', log: memoryLog(), now: () => 4e9 });
    await pipeline(store, user, { segmenter: { ...segmenter, version: 'newer' } });
    expect(await made()).toEqual([shippedSegmenter.version, 'newer']); // the first day cannot be derived again
  });

  it('is written again only if its content changed, in place', async () => {
    const user = await newUser(store);
    let now = 1000;
    const run = () => pipeline(store, user, { now: () => now });
    await put(store, user, commute(0));
    await run();
    now = 2000;
    await put(store, user, commute(1));
    const report = await run();
    const { counts } = report.stages.find((s) => s.stage === 'documents')!;
    expect(counts).toEqual({ days: 2, written: 2, unchanged: 0, removed: 0 });
    now = 3000;
    await put(store, user, commute(3));
    await run();
    const written = (await store.documents.list(user)).map((d) => [d.key.slice(-5), d.write_ts]);
    // The 14th was written again when its last place got an exit, the 15th as well; neither for what came after.
    expect(Object.fromEntries(written)).toEqual({ '11-14': 2000, '11-15': 3000, '11-17': 3000 });
  });

  it('shows an incident pushed later, and its later content', async () => {
    const user = await newUser(store);
    await putAndRun(store, user, commute(0));
    const stresses = async () => {
      const { data } = (await documentOf(user, 'diary/trips-2023-11-14'))!;
      const trips = data as { features: { properties?: { feature_type?: string; stress?: number } }[] }[];
      return trips.map((t) =>
        t.features.flatMap((f) => (f.properties?.feature_type === 'incident' ? [f.properties.stress] : [])),
      );
    };
    expect(await stresses()).toEqual([[], []]);
    for (const stress of [70, 20]) {
      await putAndRun(store, user, [pushedIncident(android, 300, 3000, stress, 9 * hour)]);
      expect(await stresses()).toEqual([[stress], []]);
    }
  });
});

describe('documents of removed trips', () => {
  const locations = (entries: Entry[], data: object): Entry[] =>
    entries
      .filter(({ metadata }) => metadata.key === 'background/filtered_location')
      .map((entry) => ({ ...entry, data: { ...entry.data, ...data } }));

  it('disappear with the last trip of their day, and when no trip is complete', async () => {
    const user = await newUser(store);
    await putDocument(store, user, { key: 'config/consent', write_ts: 1, data: {} });
    await putAndRun(store, user, [...commute(0), ...commute(1)]);
    expect(await keysOf(user)).toEqual(['config/consent', '11-14', '11-15']);
    // The phone sends the locations of the second day again, as too unsure to use.
    await putAndRun(store, user, locations(commute(1), { accuracy: 500 }));
    expect(await keysOf(user)).toEqual(['config/consent', '11-14']);
    await putAndRun(store, user, locations(commute(0), { accuracy: 500 }));
    expect(await keysOf(user)).toEqual(['config/consent']);
    const incomplete = { complete_until: null, complete_lost: false, documents_due: false };
    expect(await store.pipeline.get(user)).toMatchObject(incomplete);
    // From now on the user is one of whom nothing is known.
    await putDocument(store, user, { key: 'diary/trips-2020-01-01', write_ts: 1, data: [] });
    await putAndRun(store, user, [pushedIncident(android, 300, 3000, 70)]);
    expect(await keysOf(user)).toContain('diary/trips-2020-01-01');
  });
});

describe('obsolete keys', () => {
  it('are all document keys but the days with trips in the window and the configurations', () => {
    const present = words(`
      common-trips config/consent config/sensor_config config/sync_config config/other diary/trips-2023-11-13
      diary/trips-2023-11-14
    `);
    expect(obsoleteKeys(present, ['2023-11-14'])).toEqual([
      { key: 'common-trips', why: 'not in the list of valid keys' },
      { key: 'config/other', why: 'not in the list of valid keys' },
      { key: 'diary/trips-2023-11-13', why: 'phones no longer get this day, or it has no trips' },
    ]);
    expect(obsoleteKeys([], [])).toEqual([]);
  });

  it('go with a run that wrote, and entries that phones pushed under such a key stay', async () => {
    const user = await newUser(store);
    await putDocument(store, user, { key: 'common-trips', write_ts: 1, data: {} });
    await putDocument(store, user, { key: 'config/sensor_config', write_ts: 1, data: { a: 1 } });
    const consent = pushed(iphone, 'config/consent', 5, {});
    await putAndRun(store, user, [...commute(0), consent]);
    expect(await store.documents.keys(user)).toEqual(['config/sensor_config', 'diary/trips-2023-11-14']);
    expect(await hasEntry(store, user, { key: 'config/consent', write_ts: t0 + 5 })).toBe(true);
  });
});

it('complete data end where the last trip ended, kept or not', async () => {
  const user = await newUser(store);
  const chain: TripRecord[] = await chainAfter(store, user, [...commute(0), ...stroll(9 * hour)]);
  const { complete_until } = await store.pipeline.get(user);
  expect(since(complete_until!)).toBe(since(chain.at(-1)!.end_ts));
  expect(chain.at(-1)!.kind).toBe('dropped');
});
