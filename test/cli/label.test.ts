// `mobility label`: an operator labels a trip, and the label is shown with the trip.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { madeTrip, storeTrips } from '../server/trips.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram } from './kit.ts';

const noon = Date.parse('2016-05-17T12:00:00-07:00') / 1000;

async function withTwoTrips() {
  const program = await freshProgram('ada');
  const trips = [madeTrip(noon, [{ mode: 'CAR' }]), madeTrip(noon + 7200, [{ mode: 'WALKING' }])];
  await program.withUser('ada', (store, uuid) => storeTrips(store, uuid, trips));
  return { ...program, words: ['label', '--user', 'ada', '--trip', trips[0]!.trip!.id] };
}

it('labels a trip, in the diary as text and as GeoJSON, and the last label counts, before and after a run', async () => {
  const { run, show, words, folder } = await withTwoTrips();
  const first = [...words, '--mode', 'Shared Ride', '--purpose', 'work'];
  await show(first, /^ada, .*: mode_confirm shared_ride, purpose_confirm work\n$/);
  expect((await run(['pipeline', '--user', 'ada'])).code).toBe(0);
  const second = await run([...words, '--mode', 'bus', '--json'], { now: 1_720_000_001 });
  expect(second.json()).toMatchObject({ said: { mode_confirm: 'bus', purpose_confirm: 'work' } });

  const diary = ['diary', '--user', 'ada', '--day', '2016-05-17'];
  const { stdout } = await show(diary, /user input: .*\bbus\b/);
  expect(stdout).toContain('work');
  expect(stdout).not.toContain('shared_ride');
  const file = join(folder, 'day.geojson');
  await run([...diary, '--geojson', file]);
  const { features } = JSON.parse(await readFile(file, 'utf8'));
  const named = features.filter(({ properties }: Untyped) => properties.mode_confirm === 'bus');
  expect(named.map(({ properties }: Untyped) => properties.purpose_confirm)).toEqual(named.map(() => 'work'));
  expect([named.length > 0, named.length < features.length]).toEqual([true, true]);
});

it('refuses an unknown trip, and an empty label', async () => {
  const { words, refuse } = await withTwoTrips();
  const unknown = ['label', '--user', 'ada', '--trip', '0'.repeat(24), '--mode', 'bus'];
  await refuse(unknown, 'expected the id of a trip of ada');
  for (const flags of [[], ['--mode', '  '], ['--mode', 'x'.repeat(101)]])
    await refuse([...words, ...flags], /MOBILITY_USAGE: expected .*found/);
});
