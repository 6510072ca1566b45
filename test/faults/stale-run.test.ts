// A run that is held up past its lease, at each of its writes in turn, while another run takes the user over.
import { describe, expect, it } from 'vitest';
import { readTripsOfDay } from '../../src/diary/build-trip-documents.ts';
import { simulateDay } from '../../src/simulate/simulate-day.ts';
import { pipeline, put } from '../support/diary.ts';
import { newUser, useStore } from '../support/store.ts';
import { interposedStore } from './interposed-store.ts';

const day = '2024-03-12';
const entries = simulateDay({ platform: 'android', day, seed: 'ada' });
const morning = entries.slice(0, Math.floor(entries.length * 0.7));
const evening = entries.slice(morning.length);

let clock = 1_710_300_000;
const store = useStore({ now: () => clock });

describe('a run that continues after its lease expired', () => {
  it.each(['usercache.move', 'trips.apply', 'documents.apply'])(
    'and was delayed before its %s changes nothing that the next run wrote',
    async (write) => {
      const user = await newUser(store);
      await put(store, user, morning);
      let overtaken = false;
      const heldUp = interposedStore(store, async (call) => {
        if (call !== write || overtaken) return;
        overtaken = true;
        clock += 61; // the lease has expired without a renewal
        await put(store, user, evening);
        expect((await pipeline(store, user, { leaseSeconds: 60 })).status).toBe('done');
      });
      const late = await pipeline(heldUp, user, { leaseSeconds: 60 });
      expect(overtaken).toBe(true);
      expect(late).toMatchObject({ status: 'busy', message: expect.stringContaining('nothing was written') });
      const document = (await store.documents.list(user)).find(({ key }) => key === `diary/trips-${day}`);
      const shown = JSON.parse(JSON.stringify(await readTripsOfDay(store, user, day)));
      expect(shown.length).toBeGreaterThan(3);
      expect(document!.data).toEqual(shown);
      expect((await pipeline(store, user)).status).toBe('nothing_new');
      expect(await store.leases.get(user)).toBeNull();
    },
  );
});
