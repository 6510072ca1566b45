// P8: a caller reads and writes one user's data, at every route.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { routes } from '../../src/server/routes/all-routes.ts';
import { examples } from '../../src/server/routes/examples.ts';
import { putDocument } from '../support/store.ts';
import { androidLocation, type Kit, openKit } from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

const ts = 1463502000.5;
const day = '2016-05-17';
/** What is asked in place of fields of the example of a route, so that it answers as much as possible. */
const more: Record<string, JsonObject> = {
  '/result/metrics/local_date': { metric: 'distance' },
  '/result/metrics/yyyy_mm_dd': { metric_list: { distance: ['mode_confirm'], count: ['purpose_confirm'] } },
  '/datastreams/find_entries/timestamp': {
    start_time: 0,
    end_time: 2e9,
    key_list: null,
    key_time: 'metadata.write_ts',
  },
};

/** Everything that is stored of a user, as text. */
async function snapshot({ store }: Kit, user: string): Promise<string> {
  const page = { time: 'write_ts', limit: 100 } as const;
  return JSON.stringify([
    await store.users.byUuid(user),
    await store.profiles.get(user),
    await store.usercache.find(user, page),
    await store.timeseries.find(user, page),
    await store.errors.list(user, { limit: 100 }),
    await store.documents.list(user),
    await store.trips.chain(user, { limit: 100 }),
    await store.pipeline.get(user),
    await store.counts(user),
  ]);
}

/** A user with data of every kind; each value identifies the user. */
async function fillUser(kit: Kit, name: string, distance: number): Promise<string> {
  const { uuid } = await kit.user(name);
  const entry = androidLocation(ts, { note: `of ${name}` });
  await kit.put([entry, `unusable of ${name}`], name);
  await kit.post('/profile/update', { user: name, update_doc: { note: `of ${name}` } });
  for (const label of ['cargo_bike', `of ${name}`])
    await kit.post('/customlabel/insert', { user: name, inserted_label: { key: 'mode', label } });
  await putDocument(kit.store, uuid, { key: `diary/trips-${day}`, write_ts: ts, data: { note: `of ${name}` } });
  await storeTrips(kit.store, uuid, [madeTrip(ts - distance, [{ mode: 'CAR', distance }])]);
  return uuid;
}

/** Routes of other apps read no name from the body: other-apps.test.ts tests them. */
const ofPhones = routes.filter(({ dialect }) => dialect === undefined);

it.each(ofPhones.map(({ path }) => path))(
  '%s returns and changes the data of the caller only, even if the call names another user',
  async (path) => {
    const kit = await openKit();
    const ada = await fillUser(kit, 'ada', 1111.0625);
    const eve = await fillUser(kit, 'eve', 2222);
    const before = await snapshot(kit, ada);
    const url = path.replace(':date', day);
    const asked = { ...examples[path]!.body, ...more[path] };
    const plain = await kit.post(url, { ...asked, user: 'eve' });
    expect(plain.status).toBe(200);

    // Many ways to name another user.
    const names = { user_email: 'ada', email: 'ada', user_uuid: { $uuid: ada } };
    const named = { user_id: ada, uuid: ada, userId: ada, _id: ada, ...names };
    const query = `?user=ada&user_id=${ada}&uuid=${ada}`;
    const headers = { User: 'ada', 'X-User': 'ada', 'X-Limit-U': 'ada', Cookie: 'user=ada' };
    const body = { ...named, ...asked, user: 'eve', update_doc: { ...named, note: 'of eve' } };
    const twisted = await kit.post(url + query, body, headers);
    expect(twisted.status).toBe(200);

    for (const { text } of [plain, twisted]) {
      expect(text).not.toContain('of ada');
      expect(text).not.toContain(ada);
      expect(text).not.toContain(ada.replaceAll('-', ''));
      // With a decimal point: random ids consist of hexadecimal digits, so one may contain 1111.
      expect(text).not.toContain('1111.06');
    }
    expect(await snapshot(kit, ada)).toBe(before);
    expect((await kit.store.users.byEmail('eve'))!.uuid).toBe(eve);
    // Ada gets an answer too: a route that answers no user at all would pass the checks above.
    expect((await kit.post(url, { ...asked, user: 'ada' })).status).toBe(200);
  },
);
