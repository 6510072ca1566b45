import { MobilityError } from '../../model/mobility-error.ts';
import type { Engine } from '../rows/rows.ts';
import type { Erasure, Store, UserRegistry } from '../store.ts';
import { leases, pipelineStates } from './accounts.ts';
import { ChunkCache } from './chunk-cache.ts';
import { documents } from './documents.ts';
import { countsOf, erase, unfinished } from './erase-rows.ts';
import { errorTimeseries } from './error-timeseries.ts';
import { feeds } from './feeds.ts';
import { figuresOf, monthsOf } from './figures.ts';
import { managers, studies, tokens, users } from './people.ts';
import { profiles } from './profiles.ts';
import { timeseries } from './timeseries.ts';
import { trips } from './trips.ts';
import { usercache } from './usercache.ts';

/** Makes a store from an engine. Closing the store closes the engine. */
export function storeOver(engine: Engine): Store {
  const cache = new ChunkCache();
  const running = new Set<Promise<unknown>>();
  let closed: Promise<void> | null = null;
  const call = async (method: (...args: never[]) => Promise<unknown>, args: never[]): Promise<unknown> => {
    if (closed !== null) {
      const text = `expected an open store, found ${engine.address} closed: open it again`;
      throw new MobilityError('MOBILITY_STORE_CLOSED', text);
    }
    const result = method(...args);
    running.add(result);
    return result.finally(() => running.delete(result));
  };
  const guard = <T extends object>(methods: T): T => {
    const guarded = Object.entries(methods).map(([name, method]) => [name, (...args: never[]) => call(method, args)]);
    return Object.fromEntries(guarded);
  };
  return {
    address: engine.address,
    users: guard({
      ...users(engine),
      figures: (which) => figuresOf(engine, which),
      months: (page, month) => monthsOf(engine, page, month),
    } satisfies UserRegistry),
    tokens: guard(tokens(engine)),
    studies: guard(studies(engine)),
    managers: guard(managers(engine)),
    feeds: guard(feeds(engine)),
    profiles: guard(profiles(engine)),
    usercache: guard(usercache(engine, cache)),
    documents: guard(documents(engine)),
    errors: guard(errorTimeseries(engine, cache)),
    timeseries: guard(timeseries(engine, cache)),
    trips: guard(trips(engine)),
    pipeline: guard(pipelineStates(engine)),
    leases: guard(leases(engine)),
    ...guard({
      counts: (userId: string) => countsOf(engine, userId),
      erase: (userId: string, how?: Erasure) => erase(engine, cache, userId, how),
      unfinished: () => engine.read(unfinished),
      ping: () => engine.ping(),
      version: () => engine.version(),
      disk: () => engine.disk(),
    }),
    close: () => (closed ??= Promise.allSettled(running).then(() => engine.close())),
  };
}
