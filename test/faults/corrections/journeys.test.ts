// Corrections of a person whose data are pushed late and repeated, analysed anew, recovered, migrated, exported and
// imported: none is lost, none applied twice, and undoing all gives the diary of before.
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { correctedTrips } from '../../../src/diary/corrections/corrected-trips.ts';
import type { Entry } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import { affectsOf } from '../../../src/model/keys.ts';
import type { Store } from '../../../src/store/store.ts';
import { run, tempFolder } from '../../cli/kit.ts';
import { describeOnServers, newStoreOn } from '../../store/servers.ts';
import { correctionsOf, undoing, withTokens } from '../../support/corrections.ts';
import { type Derived, deliver, derived, expectSame, inOnePush, pipeline, put } from '../../support/diary.ts';
import { anyLife, deliveriesOf, runs } from '../../support/lives.ts';
import { newUser, openStoreIn } from '../../support/store.ts';

/** What may happen to a person after a push. */
const acts = ['nothing', 'run', 'push again', 'rebuild', 'recover', 'migrate', 'export and import'] as const;

const journeys = anyLife.chain((untold) => {
  const entries = withTokens(untold);
  return correctionsOf(entries).chain((corrections) =>
    fc.record({
      entries: fc.constant(entries),
      corrections: fc.constant(corrections),
      delivery: deliveriesOf([...entries, ...corrections]),
      acts: fc.array(fc.constantFrom(...acts), { minLength: 8, maxLength: 8 }),
    }),
  );
});

/** A store that stays open, and its address. */
interface Place {
  address: string;
  store: Store;
}

/** A command line on a store; fails if it does. */
async function command(address: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await run(args, { env: { MOBILITY_STORE: address }, now: 4_000_000_000 });
  // 3: an entry was rejected, as here, where an earlier content is wrong.
  expect([0, 3], `${args.join(' ')}: ${stderr}`).toContain(code);
}

/** Does this to the person, who is at the first place; the places after it. */
async function done(act: (typeof acts)[number], uuid: string, pushed: Entry[], places: Place[]): Promise<Place[]> {
  const [here, there] = places as [Place, Place];
  if (act === 'run') await pipeline(here.store, uuid);
  if (act === 'push again') await put(here.store, uuid, pushed);
  if (act === 'rebuild') await command(here.address, 'rebuild', '--user', uuid);
  if (act === 'recover') await command(here.address, 'recover-errors', '--user', uuid);
  if (act !== 'migrate' && act !== 'export and import') return places;
  const folder = join(tempFolder(), 'out');
  if (act === 'migrate') await command(here.address, 'migrate', '--to', there.address);
  else await command(here.address, 'export', '--user', uuid, '--out', folder);
  await here.store.erase(uuid);
  if (act === 'export and import') await command(there.address, 'import', folder);
  return [there, here];
}

/** The corrections hold on journeys between these places. */
async function expectToHold(places: readonly Place[], usual: number): Promise<void> {
  const plain = places[0]!.store;
  const after = (uuid: string, entries: Entry[]): Promise<Derived> =>
    deliver(plain, uuid, inOnePush(entries), () => derived(plain, uuid));
  const property = fc.asyncProperty(journeys, fc.constant(newUuid()), async (journey, uuid) => {
    const { entries, corrections, delivery } = journey;
    fc.pre(entries.some(({ metadata }) => affectsOf(metadata.key) === 'trips')); // else undoing leaves an analysis of nothing
    const before = await after(uuid, entries);
    const expected = await after(uuid, [...entries, ...corrections]);
    let at = [...places];
    await newUser(at[0]!.store, uuid);
    try {
      for (const [i, { entries: pushed }] of delivery.pushes.entries()) {
        await put(at[0]!.store, uuid, pushed);
        at = await done(journey.acts[i]!, uuid, pushed, at);
      }
      const { store } = at[0]!;
      await pipeline(store, uuid);
      expectSame(await derived(store, uuid), expected);
      const standings = await correctedTrips(store).corrections(uuid);
      expect(standings.map(({ correction }) => correction.write_ts)).toEqual(
        corrections.map(({ metadata }) => metadata.write_ts).sort((a, b) => a - b),
      );
      await put(store, uuid, undoing(corrections));
      at = await done(journey.acts.at(-1)!, uuid, [], at);
      await pipeline(at[0]!.store, uuid);
      expectSame(await derived(at[0]!.store, uuid), before, ['chain', 'documents', 'state']);
    } finally {
      for (const { store } of places) await store.erase(uuid);
    }
  });
  await fc.assert(property, runs(usual));
}

async function embedded(): Promise<Place> {
  const address = `sqlite:${tempFolder()}`;
  return { address, store: await openStoreIn(address) };
}

const title = 'are neither lost nor applied twice, and leave the diary of before when they are undone';

describe('corrections of a random history between embedded stores', () => {
  it(title, async () => expectToHold([await embedded(), await embedded()], 4));
});

describeOnServers('corrections of a random history between an embedded store and MongoDB', (server) => {
  it(title, async () => expectToHold([await embedded(), await newStoreOn(server())], 2));
});
