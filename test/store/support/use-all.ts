// For tests of the statements that a store makes.
import type { Store } from '../../../src/store/store.ts';
import { studySettings } from '../../support/study.ts';
import { accept, battery, entry, fix, location, never, newPerson, refuse } from '../contract/kit.ts';

/** Calls every method that runs statements. */
export async function useAll(store: Store): Promise<void> {
  const user = await newPerson(store);
  const { id } = user;
  const { users, tokens, studies, feeds, usercache, errors, documents, timeseries, trips, pipeline } = store;
  const page = { limit: 10 };
  await users.list(page);
  await users.figures({ study: 'sunny', ...page });
  await users.months({ study: 'sunny', ...page }, '2024-03');
  await tokens.add({ hash: 'x', user_id: id, created_ts: 1, expires_ts: null });
  await tokens.touch('x', 5);
  await tokens.revoke(id, 'x', { ts: 6, why: 'revoked' });
  await store.profiles.merge(id, { a: 1 });
  await studies.put(studySettings());
  const token = { hash: 'z', created_ts: 1, expires_ts: null };
  await studies.enrol({ study: 'sunny', subgroup: 'default', email: 'z', token, now: 1 });
  await studies.removeIdle('sunny', { limit: 1 });
  await feeds.add({ id: 'f', facts: {}, index: '{}' }, (async function* () {})());
  await feeds.list();
  await feeds.index('f');
  await feeds.part('f', 1);
  await feeds.remove('f');
  const zoned = { time_zone: 'Europe/Berlin' };
  await user.put([fix(1), fix(2), entry(battery, 4, {}, zoned), entry(battery, 9e9)]);
  await usercache.put(id, { entries: [fix(1)], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1);
  await usercache.keys(id);
  await usercache.count(id);
  await user.moveAll((one) => (one.metadata.write_ts === 2 ? refuse()(one) : accept(one)));
  await user.put([fix(1), fix(0.5), entry(battery, 5, {}, zoned)]);
  await user.moveAll();
  await user.put([fix(3)]);
  await errors.count(id);
  await errors.remove(id, ['a'], 0);
  await errors.list(id, { ...page, key: location, reason: 'bad_value', after: '0' });
  const rejected = await user.errors();
  await errors.put(id, rejected);
  await user.recover(rejected, () => fix(8));
  await user.leased(async (lease) => {
    const change = { put: [{ key: 'a', write_ts: 1, data: 1 }], remove: ['a'] };
    for (let i = 0; i < 2; i++) await documents.apply(id, change, lease, { state: { documents_due: false } });
    await store.leases.renew(lease, 10);
    const link = { kind: 'trip', chain_ts: 1, start_ts: 1, end_ts: 1, day: '2016-05-17', trip: {} } as never;
    await trips.apply(id, { put: [link], remove: [2], months: [] }, {}, lease);
  });
  for (const place of [usercache, timeseries]) {
    for (const time of ['write_ts', 'ts'] as const) {
      for (const descending of [false, true]) {
        await place.find(id, { time, descending, ...page });
        await place.find(id, { time, descending, ...page, from: 1, to: 3, keys: [location] });
      }
    }
  }
  await timeseries.zonesAround(id, 1);
  await user.content();
  const days = { from: '2016-05-17', to: '2016-05-18' };
  await trips.lastSettledBefore(id, 10);
  await trips.byDay(id, days);
  await trips.starts(id, days);
  await trips.next(id, 0);
  await trips.previous(id, 9);
  await trips.spans(id, { from: 0, to: 10 });
  await trips.neighbours(id, 5);
  await trips.briefsAt(id, [1]);
  await timeseries.summary(id);
  await trips.summary(id);
  await pipeline.withWork([id, (await newPerson(store)).id], never, 'a');
  await pipeline.outdated('b');
  await store.erase(id);
  await store.ping();
}
