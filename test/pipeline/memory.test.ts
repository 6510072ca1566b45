// What a run holds of a long history: it stores the trips stretch by stretch, and keeps few of them.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { Trip } from '../../src/model/trip.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import type { Trips } from '../../src/store/store.ts';
import { pipeline, put } from '../support/diary.ts';
import { hourlySegmenter as segmenter } from '../support/hourly-segmenter.ts';
import { newStore, newUser } from '../support/store.ts';

it('holds a few of the trips that it stored, for any number of days', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const opened = await newStore();
  const stored: WeakRef<Trip>[] = [];
  const apply: Trips['apply'] = (userId, change, ...rest) => {
    for (const { trip } of change.put) if (trip) stored.push(new WeakRef(trip));
    return opened.trips.apply(userId, change, ...rest);
  };
  const store = { ...opened, trips: { ...opened.trips, apply } };
  const user = await newUser(opened);
  for (const day of simulateDays({ platform: 'android', day: '2024-01-01', seed: 'ada' }, 60))
    await put(opened, user, day);
  let alive = Number.NaN;
  const onStage = (stage: string): void => {
    if (stage !== 'documents') return;
    collect();
    alive = stored.filter((trip) => trip.deref() !== undefined).length;
  };
  await pipeline(store, user, { segmenter, stretchSize: 400, onStage });
  expect(stored.length).toBeGreaterThan(200);
  expect(alive).toBeLessThan(100);
});
