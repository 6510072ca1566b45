// Phone apps besides e-mission's that push to this server. CONTRIBUTING.md says how to add an app.

interface PhoneApp {
  name: string;
  path: `/${string}`;
  summary: string;
  /** Where the app sends its token; see `Dialect` of the routes. */
  token: { tokenField: string | null; tokenPlace: string; tokenParameters?: readonly string[] };
  /** The answer that means "received" to the app. */
  answer: object;
  /** True: people scan the QR code within the app, not with the camera. */
  isScannedInApp?: true;
  /** `address` has no slash at the end. People type `settings` into the app, or open `link`. */
  setUp(address: string, userName: string, token: string): { settings: Readonly<Record<string, string>>; link: string };
}

const rows = {
  owntracks: {
    name: 'OwnTracks',
    path: '/pub',
    summary: 'Stores one message of OwnTracks in HTTP mode; the token is the password',
    token: {
      tokenField: null,
      // Overland has an OwnTracks mode, but sends no readable token in it.
      tokenPlace:
        'as the password of Basic authentication. If this is Overland: give it the address /overland and leave its OwnTracks mode',
    },
    answer: [],
    setUp: (address, userName, token) => {
      const url = `${address}/pub`;
      const login = { auth: true, username: userName, password: token };
      const config = { _type: 'configuration', mode: 3, url, ...login, monitoring: 2 };
      const inline = Buffer.from(JSON.stringify(config)).toString('base64');
      return {
        settings: { Mode: 'HTTP', URL: url, 'User ID': userName, Password: token, Monitoring: 'move' },
        link: `owntracks:///config?inline=${encodeURIComponent(inline)}`,
      };
    },
  },
  overland: {
    name: 'Overland',
    path: '/overland',
    summary: 'Stores a batch of GeoJSON features from Overland; the token is sent as Bearer',
    token: {
      tokenField: null,
      tokenPlace: 'as "Authorization: Bearer TOKEN", or in the address as ?token=TOKEN',
      tokenParameters: ['token', 'access_token', 'api_key'],
    },
    answer: { result: 'ok' },
    setUp: (address, _, token) => {
      const url = `${address}/overland`;
      return {
        settings: { 'Receiver Endpoint': url, 'Access Token': token, 'Consider HTTP 200 Success': 'off' },
        link: `overland://setup?url=${encodeURIComponent(url)}&token=${encodeURIComponent(token)}`,
      };
    },
  },
  traccar: {
    name: 'Traccar Client',
    path: '/traccar',
    summary: "Stores a position of Traccar Client, OsmAnd or a tracker that speaks OsmAnd's protocol",
    token: {
      tokenField: 'device_id',
      tokenPlace: 'as the device identifier ("device_id" of the body, "id" of the query)',
      tokenParameters: ['id', 'deviceid'],
    },
    answer: { result: 'ok' },
    isScannedInApp: true,
    setUp: (address, _, token) => {
      const url = `${address}/traccar`;
      const parameters = 'accuracy=highest&distance=50&interval=30&buffer=true';
      return {
        settings: {
          'Server URL': url,
          'Device identifier': token,
          Accuracy: 'highest',
          Distance: '50',
          Interval: '30',
        },
        link: `${url}?id=${encodeURIComponent(token)}&${parameters}`,
      };
    },
  },
} satisfies Record<string, PhoneApp>;

/** The id of an app, as in the flag `--app` and in the kind of its tokens. */
export type AppId = keyof typeof rows;

export const phoneApps: Readonly<Record<AppId, PhoneApp>> = rows;

export const appIds = Object.keys(rows) as AppId[];

export const appOfToken = (kind: string | undefined): PhoneApp | undefined =>
  kind !== undefined && Object.hasOwn(rows, kind) ? phoneApps[kind as AppId] : undefined;
