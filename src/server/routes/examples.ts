// Examples of each call for `/openapi.json`. docs/api.md shows the same bodies.

/** Without `body` and `query`, a call needs only the token. `path` replaces the `:name` in a path. */
export interface CallExample {
  body?: object;
  query?: Readonly<Record<string, string>>;
  path?: string;
  answer: object;
}

const user = 'ada@example.org';
const label = { key: 'mode', label: 'cargo_bike' };
const kept = { inserted: 1, updated: 0, rejected: 0 };
const day = { year: 2016, month: 5, day: 17 };
const location = { latitude: 37.8716, longitude: -122.2727, accuracy: 12, ts: 1463501999.8 };
const metadata = {
  key: 'background/location',
  type: 'sensor-data',
  platform: 'android',
  write_ts: 1463502000.412,
  time_zone: 'America/Los_Angeles',
};
const incident = { ts: 1463502090, stress: 100, loc: { type: 'Point', coordinates: [-122.27, 37.87] } };
const document = { key: 'diary/trips-2016-05-17', type: 'document', write_ts: 1463540400.1 };
const feature = {
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [-7.909, 38.571] },
  properties: { timestamp: '2024-03-12T08:00:00Z', horizontal_accuracy: 12, speed: 5 },
};
const dayFigures = { WALKING: 1830.2, ts: 1463443200, fmt_time: '2016-05-17T00:00:00+00:00', nUsers: 1 };
const entry = {
  _id: { $oid: '573b5d2e1c9d440000a1b2c3' },
  user_id: { $uuid: '6f1c0a520f4e4d0e9a576f3b6f0d9a11' },
  metadata,
  data: location,
};

export const examples: Readonly<Record<string, CallExample>> = {
  '/usercache/put': { body: { user, phone_to_server: [{ metadata, data: location }] }, answer: kept },
  '/usercache/putone': {
    body: {
      user,
      the_entry: { metadata: { key: 'manual/incident', platform: 'android', write_ts: 1463502100.5 }, data: incident },
    },
    answer: { putone: true, ...kept },
  },
  '/usercache/get': { answer: { server_to_phone: [{ metadata: document, data: [] }] } },
  '/timeline/getTrips/:date': { path: '2016-05-17', answer: { timeline: [] } },
  '/pipeline/get_complete_ts': { answer: { complete_ts: 1463540401.2 } },
  '/pipeline/get_range_ts': { answer: { start_ts: 1463500800, end_ts: 1463540400 } },
  '/profile/create': { answer: { uuid: '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11' } },
  '/profile/get': {
    answer: {
      _id: entry._id,
      user_id: entry.user_id,
      update_ts: { $date: 1463500050250 },
      client_app_version: '1.0.2',
      pipeline_range: { start_ts: 1463500800, end_ts: 1463540400 },
      total_trips: 5,
      labeled_trips: 2,
    },
  },
  '/profile/update': {
    body: { user, update_doc: { client_app_version: '1.0.2', curr_platform: 'android' } },
    answer: { update: true },
  },
  '/customlabel/get': { body: { user, keys: ['mode', 'purpose'] }, answer: { mode: ['tandem'], purpose: [] } },
  '/customlabel/insert': { body: { user, inserted_label: label }, answer: { label: ['cargo_bike'] } },
  '/customlabel/update': {
    body: {
      user,
      updated_label: { key: 'mode', old_label: 'cargo_bike', new_label: 'tandem', is_new_label_must_added: true },
    },
    answer: { label: ['tandem'] },
  },
  '/customlabel/delete': { body: { user, deleted_label: label }, answer: { label: [] } },
  '/result/metrics/timestamp': {
    body: { user, freq: 'D', start_time: 1463356800, end_time: 1463616000, metric: 'distance' },
    answer: { user_metrics: [dayFigures], aggregate_metrics: [] },
  },
  '/result/metrics/local_date': {
    body: {
      user,
      freq: 'MONTHLY',
      start_time: { ...day, day: 1 },
      end_time: { year: 2016, month: 6 },
      metric: 'count',
    },
    answer: { user_metrics: [{ WALKING: 3, ts: 1462086000, fmt_time: '2016-05', nUsers: 1 }], aggregate_metrics: [] },
  },
  '/result/metrics/yyyy_mm_dd': {
    body: { user, start_time: '2016-05-17', end_time: '2016-05-18', metric_list: { distance: ['mode_confirm'] } },
    answer: { distance: [{ date: '2016-05-17', nUsers: 1, mode_confirm_bike: 5200.4 }] },
  },
  '/datastreams/find_entries/timestamp': {
    body: { user, key_list: [metadata.key], start_time: 1463500000, end_time: 1463600000, key_time: 'data.ts' },
    answer: { phone_data: [entry], truncated: false },
  },
  '/pub': { body: { _type: 'location', lat: 38.571, lon: -7.909, tst: 1710230400, acc: 12, tid: 'AD' }, answer: [] },
  '/overland': { body: { locations: [feature] }, answer: { result: 'ok' } },
  '/traccar': {
    body: {
      device_id: user,
      location: {
        timestamp: '2024-03-12T08:00:00.250Z',
        coords: { latitude: 38.571, longitude: -7.909, accuracy: 12, speed: 5 },
      },
    },
    query: { id: user, lat: '38.571', lon: '-7.909', timestamp: '1710230400', speed: '10' },
    answer: { result: 'ok' },
  },
  '/configs/:file': { path: 'sunny.nrel-op.json', answer: { version: 1, ts: 1710230400, url_abbreviation: 'sunny' } },
  '/healthz': { answer: { status: 'ok' } },
  '/readyz': { answer: { status: 'ready' } },
};
