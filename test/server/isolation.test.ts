// P8: a caller reads and writes one user's data. Goes over the table of routes: a new route fails here until it is
// added.
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { routes } from '../../src/server/routes/all-routes.ts';
import { putDocument } from '../support/store.ts';
import { androidLocation, type Kit, openKit } from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

const ts = 1463502000.5;
const day = '2016-05-17';
const range = { start_time: 0, end_time: 2e9 };
const dates = { year: 2016, month: 5, day: 17 };

/** For each route a body that asks for as much as can be asked for, or writes. */
const bodies: Record<string, JsonObject> = {
  '/usercache/put': { phone_to_server: [androidLocation(ts + 7)] },
  '/usercache/putone': { the_entry: androidLocation(ts + 8) },
  '/usercache/get': {},
  '/timeline/getTrips/:date': {},
  '/profile/create': {},
  '/profile/get': {},
  '/profile/update': { update_doc: { note: 'of eve' } },
  '/result/metrics/timestamp': { ...range, freq: 'D', metric: 'distance' },
  '/result/metrics/local_date': { freq: 'DAILY', start_time: dates, end_time: dates, metric: 'distance' },
  '/result/metrics/yyyy_mm_dd': {
    start_time: day,
    end_time: day,
    metric_list: { distance: ['mode_confirm'], count: ['purpose_confirm'] },
  },
  '/customlabel/get': { keys: ['mode', 'purpose'] },
  '/customlabel/insert': { inserted_label: { key: 'mode', label: 'sled' } },
  '/customlabel/update': {
    updated_label: { key: 'mode', old_label: 'bus', new_label: 'sled', is_new_label_must_added: true },
  },
  '/customlabel/delete': { deleted_label: { key: 'mode', label: 'bus' } },
  '/datastreams/find_entries/timestamp': { ...range, key_list: null },
  '/pipeline/get_complete_ts': {},
  '/pipeline/get_range_ts': {},
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
  for (const label of ['bus', `of ${name}`]) {
    await kit.post('/customlabel/insert', { user: name, inserted_label: { key: 'mode', label } });
  }
  await putDocument(kit.store, uuid, { key: `diary/trips-${day}`, write_ts: ts, data: { note: `of ${name}` } });
  await storeTrips(kit.store, uuid, [madeTrip(ts - distance, [{ mode: 'CAR', distance }])]);
  return uuid;
}

/** Routes of other apps read no name from the body: other-apps.test.ts tests them. */
const ofPhones = routes.filter(({ dialect }) => dialect === undefined);

it('the table of bodies covers every route', () => {
  expect(Object.keys(bodies).sort()).toEqual(ofPhones.map(({ path }) => path).sort());
});

it.each(ofPhones.map(({ path }) => path))(
  '%s returns and changes the data of the caller only, even if the call names another user',
  async (path) => {
    const kit = await openKit();
    const ada = await fillUser(kit, 'ada', 1111.0625);
    const eve = await fillUser(kit, 'eve', 2222);
    const before = await snapshot(kit, ada);
    const url = path.replace(':date', day);
    const plain = await kit.post(url, { user: 'eve', ...bodies[path] });
    expect(plain.status).toBe(200);

    // Many ways to name another user.
    const names = { user_email: 'ada', email: 'ada', user_uuid: { $uuid: ada } };
    const named = { user_id: ada, uuid: ada, userId: ada, _id: ada, ...names };
    const query = `?user=ada&user_id=${ada}&uuid=${ada}`;
    const headers = { User: 'ada', 'X-User': 'ada', 'X-Limit-U': 'ada', Cookie: 'user=ada' };
    const body = { user: 'eve', ...named, ...bodies[path], update_doc: { ...named, note: 'of eve' } };
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
    expect((await kit.post(url, { user: 'ada', ...bodies[path] })).status).toBe(200);
  },
);
