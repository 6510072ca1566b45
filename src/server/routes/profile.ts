// The profile: what the app reports about itself. `/profile/create` also creates accounts.
import { correctedTrips } from '../../diary/corrections/corrected-trips.ts';
import { noLabels, readLabels } from '../../diary/labels/load-labels.ts';
import { dateValue, oid, uuidValue } from '../../model/extended-json.ts';
import { idOf } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { allTime } from '../../model/time.ts';
import { badRequest, tooLarge } from '../problem.ts';
import { arrayOf, objectOf, values } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

/** Fields that only the server writes. An update cannot change them. */
const serverFields: ReadonlySet<string> = new Set(
  (
    '_id user_id uuid user_email create_ts update_ts last_put_ts last_stored_ts last_located_ts last_location_ts ' +
    'last_usable_ts last_unusable_ts last_unusable_why last_phone_data_ts last_fetch_ts waiting_since_ts ' +
    'last_limit last_limit_ts last_refusal last_refusal_ts last_refusal_why imports erasure_asked_ts ' +
    'pipeline_range total_trips labeled_trips __proto__'
  ).split(' '),
);

const maxProfileLength = 1024 * 1024; // characters; a profile is read and written as a whole
const defaultMpg = 32; // miles per gallon of a car without a description, as in the e-mission server

export const profileRoutes: readonly Route[] = [
  {
    path: '/profile/create',
    summary: 'Returns the UUID of the account; creates the account if that is allowed',
    answers: objectOf({ uuid: { type: 'string', format: 'uuid' } }),
    registers: true,
    answer: async ({ caller: { uuid }, store, now }) => {
      const ts = now();
      const defaults = { create_ts: ts, mpg_array: [defaultMpg], mode: {}, purpose: {}, study_list: [] };
      await store.profiles.merge(uuid, { update_ts: ts }, defaults);
      return { uuid };
    },
  },
  {
    path: '/profile/get',
    summary: 'Returns the profile: what the app reported, and what the server recorded',
    answers: objectOf({
      _id: values.oid,
      user_id: values.uuid,
      update_ts: objectOf({ $date: { type: 'integer' } }),
    }),
    answer: get,
  },
  {
    path: '/profile/update',
    summary: 'Sets fields of the profile',
    answers: objectOf({ update: { const: true } }, { ignored: arrayOf({ type: 'string' }) }),
    body: objectOf({}, { update_doc: { type: 'object' }, mpg_array: { type: 'array', items: values.number } }),
    large: true,
    answer: update,
  },
];

async function get({ caller, store }: RouteCall): Promise<object> {
  const { update_ts: updated = caller.update_ts, ...fields } = (await store.profiles.get(caller.uuid)) ?? {};
  const { count, start_ts, end_ts } = await correctedTrips(store).summary(caller.uuid);
  const labels = count === 0 ? noLabels : await readLabels(store, caller.uuid, allTime);
  return {
    ...fields,
    pipeline_range: { start_ts, end_ts },
    total_trips: count,
    labeled_trips: labels.labelledTrips,
    _id: oid(idOf(caller.uuid, 'profile')),
    user_id: uuidValue(caller.uuid),
    update_ts: dateValue(Number(updated)),
  };
}

async function update({ caller, body, store, now }: RouteCall): Promise<JsonObject> {
  const { mpg_array } = body; // apps before 2017 send this field instead of `update_doc`
  const given = (body.update_doc ?? (mpg_array && { mpg_array })) as JsonObject | undefined;
  if (given === undefined) throw badRequest('expected a field "update_doc", found none');
  const names = Object.keys(given).filter((name) => !serverFields.has(name));
  const ignored = Object.keys(given).filter((name) => serverFields.has(name));
  // `fromEntries` makes every name an own field, even `__proto__`.
  const fields = Object.fromEntries(names.map((name) => [name, given[name]]));
  const update_ts = now();
  await store.profiles.merge(caller.uuid, (stored) => {
    if (JSON.stringify({ ...stored, ...fields }).length <= maxProfileLength) return { ...fields, update_ts };
    throw tooLarge(`expected a profile of at most ${maxProfileLength} characters of JSON in all`, {
      limit_characters: maxProfileLength,
    });
  });
  return { update: true, ...(ignored.length > 0 && { ignored }) };
}
