// Calls every method of a store, for tests of the statements that they make.
import type { Store } from '../../../src/store/store.ts';
import { studySettings } from '../../support/study.ts';
import { accept, battery, entry, fix, location, never, newPerson, refuse } from '../contract/kit.ts';

/** Calls every method that runs statements. */
export async function useAll(store: Store): Promise<void> {
  const user = await newPerson(store);
  const { id } = user;
  await store.users.register(`${id}@example.org`, { now: 2, uuid: id });
  await store.users.byUuid(id);
  await store.users.list({ limit: 10 });
  await store.users.figures({ study: 'sunny', limit: 10 });
  await store.users.months({ study: 'sunny', limit: 10 }, '2024-03');
  await store.tokens.add({ hash: 'x', user_id: id, created_ts: 1, expires_ts: null });
  await store.tokens.touch('x', 5);
  await store.tokens.list(id);
  await store.tokens.revoke(id, 'x', { ts: 6, why: 'revoked' });
  await store.profiles.merge(id, { a: 1 });
  await store.studies.put(studySettings());
  const token = { hash: 'z', created_ts: 1, expires_ts: null };
  await store.studies.enrol({ study: 'sunny', subgroup: 'default', email: 'z', token, now: 1 });
  await store.studies.removeIdle('sunny', { limit: 1 });
  await store.feeds.add({ id: 'f', facts: {}, index: '{}' }, (async function* () {})());
  await store.feeds.list();
  await store.feeds.index('f');
  await store.feeds.part('f', 1);
  await store.feeds.remove('f');
  const zoned = { time_zone: 'Europe/Berlin' };
  await user.put([fix(1), fix(2), entry(battery, 4, {}, zoned), entry(battery, 9e9)]);
  await store.usercache.put(id, { entries: [fix(1)], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1);
  await store.usercache.keys(id);
  await store.usercache.count(id);
  await user.moveAll((one) => (one.metadata.write_ts === 2 ? refuse()(one) : accept(one)));
  await user.put([fix(1), fix(0.5), entry(battery, 5, {}, zoned)]);
  await user.moveAll();
  await user.put([fix(3)]);
  await store.errors.count(id);
  await store.errors.remove(id, ['a']);
  await store.errors.list(id, { limit: 10, key: location, reason: 'bad_value', after: '0' });
  const errors = await user.errors();
  await store.errors.put(id, errors);
  await store.errors.recover(
    id,
    errors.map((error) => ({ id: error.id, entry: fix(8) })),
  );
  await user.leased(async (lease) => {
    const change = { put: [{ key: 'a', write_ts: 1, data: 1 }], remove: ['a'] };
    for (let i = 0; i < 2; i++) await store.documents.apply(id, change, lease, { state: { documents_due: false } });
    await store.leases.renew(lease, 10);
    const link = { kind: 'trip', chain_ts: 1, start_ts: 1, end_ts: 1, day: '2016-05-17', trip: {} } as never;
    await store.trips.apply(id, { put: [link], remove: [2], months: [] }, {}, lease);
  });
  await store.documents.list(id);
  for (const place of [store.usercache, store.timeseries]) {
    for (const time of ['write_ts', 'ts'] as const) {
      for (const descending of [false, true]) {
        await place.find(id, { time, descending, limit: 10 });
        await place.find(id, { time, descending, limit: 10, from: 1, to: 3, keys: [location] });
      }
    }
  }
  await store.timeseries.summary(id);
  await store.timeseries.zonesAround(id, 1);
  await store.trips.chain(id, { limit: 10 });
  await store.trips.lastSettledBefore(id, 10);
  await store.trips.byDay(id, { from: '2016-05-17', to: '2016-05-18' });
  await store.trips.starts(id, { from: '2016-05-17', to: '2016-05-18' });
  await store.trips.next(id, 0);
  await store.trips.previous(id, 9);
  await store.trips.spans(id, { from: 0, to: 10 });
  await store.trips.neighbours(id, 5);
  await store.trips.briefsAt(id, [1]);
  await store.trips.summary(id);
  await store.pipeline.withWork([id, (await newPerson(store)).id], never, 'a');
  await store.pipeline.outdated('b');
  await store.counts(id);
  await store.erase(id);
  await store.ping();
}
