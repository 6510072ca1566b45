// The move from usercache to timeseries and the way back of errors, with pushes and deaths between any two calls.
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import { newUuid } from '../../src/model/ids.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { recoverErrors } from '../../src/upkeep/recover-user.ts';
import { allEntries } from '../support/diary.ts';
import { countRejected, newUser, putDocument, useStore } from '../support/store.ts';
import { dyingAt, interposedStore } from './interposed-store.ts';
import { everythingOf, pushesOf, releaseLease } from './kit.ts';

// A converter that fails on some entries until it is repaired.
const converter = vi.hoisted(() => ({ repaired: false }));
vi.mock('../../src/intake/converters/convert.ts', async (original) => {
  const actual = await original<typeof import('../../src/intake/converters/convert.ts')>();
  const flawless = (entry: Entry): Entry => {
    if (entry.data.flaw === 'repairable' && !converter.repaired) {
      throw new actual.ConversionError('unknown_value', 'data.flaw: expected none, found one');
    }
    return entry;
  };
  return {
    ...actual,
    convert: (entry: Entry) => actual.convert(flawless(entry)),
    convertedTime: (entry: Entry) => actual.convertedTime(flawless(entry)),
  };
});

const store = useStore();
beforeEach(() => {
  converter.repaired = false;
});

const options = { log: silentLog, now: () => 1_720_000_000 };
const push = (userId: string, entries: readonly Entry[]) =>
  store.usercache.put(userId, { entries, unusable: [] }, options.now());

// ---------------------------------------------------------------- pushes between the calls of a move

type Flaw = 'none' | 'repairable' | 'bad';

/** A push of one identity out of three, with a content like no other. */
const pushArbitrary = fc.record({
  identity: fc.nat({ max: 2 }),
  flaw: fc.constantFrom<Flaw>('none', 'none', 'repairable', 'bad'),
});
/** A run with pushes before some of its calls; it may die before one of its writes. */
const runArbitrary = fc.record({
  pushes: fc.array(fc.record({ before: fc.nat({ max: 24 }), push: pushArbitrary }), { maxLength: 6 }),
  diesAt: fc.option(fc.nat({ max: 8 }), { freq: 3 }),
  kind: fc.constantFrom('pipeline' as const, 'recovery' as const),
});

function entryOf({ identity, flaw }: { identity: number; flaw: Flaw }, content: number): Entry {
  const ts = 1_700_000_000 + identity;
  return {
    metadata: { key: 'background/location', write_ts: ts, type: 'sensor-data', platform: 'android', time_zone: 'UTC' },
    data: { ts, latitude: flaw === 'bad' ? 'nowhere' : 48.5, longitude: 9.05, accuracy: 5, content, flaw },
  };
}

/** The contents by identity, wherever they are. */
async function contentsIn(userId: string): Promise<{ timeseries: unknown[]; errors: unknown[]; waiting: number }> {
  const errors = (await store.errors.list(userId, { limit: 100 })).map((row) => (row.entry as unknown as Entry).data);
  const timeseries = (await allEntries(store.timeseries, userId)).map((entry) => entry.data);
  const count = await store.usercache.count(userId);
  const inOrder = (list: typeof timeseries) => list.map((data) => data.content as number).sort((a, b) => a - b);
  return { timeseries: inOrder(timeseries), errors: inOrder(errors), waiting: count };
}

describe('while a move or a recovery runs', () => {
  it('an entry pushed again with other content is neither lost nor overwritten by the older one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(pushArbitrary, { maxLength: 4 }),
        fc.array(runArbitrary, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (first, runs, repairedAtTheEnd) => {
          converter.repaired = false;
          const userId = newUuid();
          await newUser(store, userId);
          let contents = 0;
          const last = new Map<number, { content: number; flaw: Flaw }>();
          const pushOne = async (one: { identity: number; flaw: Flaw }): Promise<void> => {
            contents += 1;
            last.set(one.identity, { content: contents, flaw: one.flaw });
            await push(userId, [entryOf(one, contents)]);
          };
          for (const one of first) await pushOne(one);
          for (const run of runs) {
            let calls = 0;
            const dying = dyingAt(run.diesAt ?? Number.POSITIVE_INFINITY);
            const disturbed = interposedStore(store, async (call) => {
              dying(call);
              const now = calls++;
              for (const { before, push: one } of run.pushes) if (before === now) await pushOne(one);
            });
            const work = run.kind === 'pipeline' ? runPipeline : recoverErrors;
            await work(disturbed, userId, options).catch(() => 'it died');
            await releaseLease(store, userId);
          }
          converter.repaired = repairedAtTheEnd;
          await recoverErrors(store, userId, options);
          await runPipeline(store, userId, options);

          const fails = ({ flaw }: { flaw: Flaw }): boolean =>
            flaw === 'bad' || (flaw === 'repairable' && !repairedAtTheEnd);
          const all = [...last.values()].sort((a, b) => a.content - b.content);
          expect(await contentsIn(userId)).toEqual({
            timeseries: all.filter((one) => !fails(one)).map((one) => one.content),
            errors: all.filter(fails).map((one) => one.content),
            waiting: 0,
          });
        },
      ),
      { numRuns: 60 },
    );
  });
});

// ---------------------------------------------------------------- death between any two writes

/** The same user again, with all that their phone pushed and an entry that fails until the converter is repaired. */
async function startOver(userId: string, pushes: readonly (readonly Entry[])[]): Promise<void> {
  await store.erase(userId);
  await newUser(store, userId);
  converter.repaired = false;
  for (const entries of pushes) await push(userId, entries);
  await push(userId, [entryOf({ identity: 0, flaw: 'repairable' }, 0)]);
  await putDocument(store, userId, { key: 'common-trips', write_ts: 1, data: {} });
}

describe.each(['android', 'ios'] as const)('three days of an %s phone', (platform) => {
  const userId = newUuid();
  const pushes = pushesOf('ada', platform, 3);

  it('end in the same diary when the pipeline dies between any two of its writes, also between stretches', async () => {
    const inStretches = { ...options, stretchSize: 40 };
    await startOver(userId, pushes);
    await runPipeline(store, userId, inStretches);
    const undisturbed = await everythingOf(store, userId);
    expect(undisturbed).toContain('diary/trips-2024-03-13');
    for (let at = 0; ; at++) {
      await startOver(userId, pushes);
      const dying = dyingAt(at);
      await runPipeline(interposedStore(store, dying), userId, inStretches);
      if (!dying.died()) {
        expect(at).toBeGreaterThan(8);
        break;
      }
      await releaseLease(store, userId);
      await runPipeline(store, userId, options);
      expect(await everythingOf(store, userId), `died before write ${at}`).toBe(undisturbed);
    }
  });

  it('end in the same diary when the recovery of errors dies between any two of its writes', async () => {
    const until = async (at: number): Promise<boolean> => {
      await startOver(userId, pushes);
      await runPipeline(store, userId, options);
      expect(await countRejected(store, userId)).toHaveLength(1);
      converter.repaired = true;
      const dying = dyingAt(at);
      await recoverErrors(interposedStore(store, dying), userId, options).catch(() => 'it died');
      await releaseLease(store, userId);
      await recoverErrors(store, userId, options);
      await runPipeline(store, userId, options);
      return dying.died();
    };
    await until(Number.POSITIVE_INFINITY);
    const undisturbed = await everythingOf(store, userId);
    expect(JSON.parse(undisturbed)).toMatchObject({ errors: [], waiting: 0 });
    let at = 0;
    while (await until(at)) {
      expect(await everythingOf(store, userId), `died before write ${at}`).toBe(undisturbed);
      at += 1;
    }
    expect(at).toBeGreaterThan(3);
  });
});
