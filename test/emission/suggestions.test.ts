// What the server suggests a participant who labelled their trips for some days, in the shape that apps read.
import { beforeAll, expect, it } from 'vitest';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import { type Kit, openKit } from '../server/kit.ts';
import { pipeline, put } from '../support/diary.ts';
import type { Untyped } from '../support/untyped.ts';

const zone = 'Europe/Berlin';
const days = 9;
let kit: Kit;
let lastDay: string;

async function find(key: string): Promise<Untyped[]> {
  const query = { key_list: [key], start_time: 0, end_time: 4e9, key_time: 'data.end_ts' };
  return (await kit.post('/datastreams/find_entries/timestamp', { user: 'ada', ...query })).json
    .phone_data as Untyped[];
}
const isOfLastDay = ({ data }: Untyped): boolean => data.start_fmt_time.startsWith(lastDay);

const places: [number, number][] = [];
function placeAt([lon, lat]: [number, number]): number {
  const known = places.findIndex(([x, y]) => Math.hypot((x - lon) * Math.cos((y * Math.PI) / 180), y - lat) < 0.0027);
  return known >= 0 ? known : places.push([lon, lat]) - 1;
}

/** What the participant calls a trip: by its modes, and as its purpose the way that it was. */
const wordsOf = ({ data }: Untyped) => ({
  mode_confirm: Object.keys(data.inferred_section_summary.distance).sort().join('_and_').toLowerCase(),
  purpose_confirm: `from_${placeAt(data.start_loc.coordinates)}_to_${placeAt(data.end_loc.coordinates)}`,
});

// They name every trip of all days but the last; some of their labels still wait for the pipeline.
beforeAll(async () => {
  kit = await openKit();
  const { uuid } = await kit.user('ada');
  for (const day of simulateDays({ platform: 'ios', day: '2024-03-11', seed: 'habits', zone }, days))
    await put(kit.store, uuid, day);
  await pipeline(kit.store, uuid);
  const trips = await find('analysis/confirmed_trip');
  lastDay = trips.at(-1).data.start_fmt_time.slice(0, 10);
  const say = ({ data: { start_ts, end_ts } }: Untyped, name: string, label: string, at: number) => ({
    metadata: { key: `manual/${name}`, type: 'message', platform: 'ios' as const, write_ts: at, time_zone: zone },
    data: { start_ts, end_ts, label },
  });
  const labels = trips
    .filter((trip) => !isOfLastDay(trip))
    .flatMap((trip, i) =>
      Object.entries(wordsOf(trip)).map(([name, label], j) => say(trip, name, label, 1_720_000_000 + 10 * i + j)),
    );
  await put(kit.store, uuid, labels.slice(0, 10));
  await pipeline(kit.store, uuid);
  await put(kit.store, uuid, labels.slice(10));
});

it('suggests the labels that the user gave to similar trips, in composite and confirmed trips and in the diary', async () => {
  const composite = await find('analysis/composite_trip');
  const today = composite.filter(isOfLastDay);
  const suggested = today.filter(({ data }) => data.inferred_labels.length > 0);
  expect(suggested.length).toBeGreaterThan(1);
  for (const { data } of suggested) {
    expect(data.confidence_threshold).toBe(0.55);
    const [{ p, labels }] = data.inferred_labels;
    expect([p > 0.3 && p < 1, labels.purpose_confirm]).toEqual([true, wordsOf({ data }).purpose_confirm]);
    expect(data.expectation).toEqual({ to_label: p < 0.95 });
    expect(data.user_input).toEqual({});
  }
  // The user's own labels are not requested again.
  for (const { data } of composite.filter((trip) => !isOfLastDay(trip)))
    expect([data.user_input, data.inferred_labels]).toEqual([wordsOf({ data }), []]);
  const fields = ({ inferred_labels, expectation }: Untyped) => ({ inferred_labels, expectation });
  const expected = today.map(({ data }) => fields(data));
  expect((await find('analysis/confirmed_trip')).filter(isOfLastDay).map(({ data }) => fields(data))).toEqual(expected);
  const { json } = await kit.post(`/timeline/getTrips/${lastDay}`, { user: 'ada' });
  expect((json.timeline as Untyped[]).map(({ properties }) => fields(properties))).toEqual(expected);
});
