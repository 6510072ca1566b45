// The data of all users of a store as one text, without times of runs: for comparing stores.
import type { Store } from '../../src/store/store.ts';
import type { Program } from '../cli/kit.ts';

/** Users, profiles, waiting and long-term entries, errors, documents and trips. */
export function withoutTimesOfRuns({ withStore }: Program): Promise<string> {
  return withStore(async (store) => {
    const found: unknown[] = [];
    for (const user of await store.users.list({ limit: 100 })) found.push(user, await ofUser(store, user.uuid));
    return JSON.stringify(found, (name, value) => (timesOfRuns.has(name) ? undefined : value), 1);
  });
}

const timesOfRuns: ReadonlySet<string> = new Set(['first_ts', 'last_ts', 'tries', 'sent_ts']);

async function ofUser(store: Store, id: string): Promise<object> {
  const query = { time: 'write_ts', limit: 100_000 } as const;
  return {
    profile: await store.profiles.get(id),
    waiting: (await store.usercache.find(id, query)).entries,
    long_term: (await store.timeseries.find(id, query)).entries,
    errors: await store.errors.list(id, { limit: 10_000 }),
    documents: (await store.documents.list(id)).map(({ key, data }) => ({ key, data })),
    trips: await store.trips.chain(id, { limit: 10_000 }),
  };
}
