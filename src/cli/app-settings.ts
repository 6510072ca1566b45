// What other apps are set up with: address, token, and a link that does it at one tap.
import { usageError } from '../model/mobility-error.ts';

/** Apps that a token can be made for. */
export const otherApps = ['owntracks', 'overland', 'traccar'] as const;
/** The name of a phone app for which `users token --app` prints settings. */
export type OtherApp = (typeof otherApps)[number];

/** How an app is set up for one user. */
export interface AppSetup {
  /** What to type into the app, by the app's own names. */
  settings: Readonly<Record<string, string>>;
  /** Opens the app and sets it up; the QR code holds the same. */
  link: string;
}

/**
 * The address at which phones reach the server, without a slash at its end. Throws `MOBILITY_USAGE` for none and for
 * what is no address.
 */
export function phoneAddress(given: string | undefined, configured: string): string {
  const text = given ?? configured;
  if (text === '') {
    throw usageError(
      'expected the address at which phones reach the server: give --server https://…, or set MOBILITY_PUBLIC_URL',
    );
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw usageError(`expected an address such as https://mobility.example.org, found ${JSON.stringify(text)}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** The set-up of an app. `address`: see `phoneAddress`. */
export function appSetup(app: OtherApp, address: string, name: string, token: string): AppSetup {
  if (app === 'owntracks') {
    const url = `${address}/pub`;
    const config = { _type: 'configuration', mode: 3, url, auth: true, username: name, password: token, monitoring: 2 };
    const inline = Buffer.from(JSON.stringify(config)).toString('base64');
    return {
      settings: { Mode: 'HTTP', URL: url, 'User ID': name, Password: token, Monitoring: 'move' },
      link: `owntracks:///config?inline=${encodeURIComponent(inline)}`,
    };
  }
  if (app === 'overland') {
    const url = `${address}/overland`;
    return {
      settings: { 'Receiver Endpoint': url, 'Access Token': token, 'Consider HTTP 200 Success': 'off' },
      link: `overland://setup?url=${encodeURIComponent(url)}&token=${encodeURIComponent(token)}`,
    };
  }
  const url = `${address}/traccar`;
  const wishes = 'accuracy=highest&distance=50&interval=30&buffer=true';
  return {
    settings: { 'Server URL': url, 'Device identifier': token, Accuracy: 'highest', Distance: '50', Interval: '30' },
    link: `${url}?id=${encodeURIComponent(token)}&${wishes}`,
  };
}
