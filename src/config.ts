import { join } from 'node:path';
import { folderIn, isMongoAddress } from './model/address.ts';
import { MobilityError } from './model/mobility-error.ts';
import { networksOf } from './model/networks.ts';

const text = (value: string): string => value;
const oneOf =
  <Word extends string>(...allowed: Word[]) =>
  (value: string): Word => {
    const word = allowed.find((one) => one === value);
    if (word === undefined) throw new TypeError(`one of ${allowed.join(', ')}`);
    return word;
  };
const integer =
  (min: number, max: number) =>
  (value: string): number => {
    if (!/^\d+$/.test(value) || Number(value) < min || Number(value) > max)
      throw new TypeError(`a whole number from ${min} to ${max}`);
    return Number(value);
  };
const flag = (value: string): boolean => {
  if (['1', 'true', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['', '0', 'false', 'no', 'off'].includes(value.toLowerCase())) return false;
  throw new TypeError('true or false');
};

const networkList = (value: string): string => {
  networksOf(value);
  return value;
};

const webAddress = (value: string): string => {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (value !== '' && (url === null || !/^https?:$/.test(url.protocol) || `${url.search}${url.hash}` !== ''))
    throw new TypeError('an address such as https://mobility.example.org or https://example.org/mobility');
  return value;
};

const row = <Value>(variable: string, preset: string, parse: (text: string) => Value, meaning: string) => ({
  variable,
  default: preset,
  parse,
  meaning,
});

const rows = {
  store: row('MOBILITY_STORE', 'sqlite:./data', text, 'store address: sqlite:FOLDER or mongodb://…'),
  logDir: row('MOBILITY_LOG_DIR', '', text, "folder of the log files; default: logs in the store's folder, or ./logs"),
  logLevel: row(
    'MOBILITY_LOG_LEVEL',
    'debug',
    oneOf('debug', 'info', 'warning', 'error'),
    'lowest level that is logged: debug, info, warning or error',
  ),
  logMaxFiles: row('MOBILITY_LOG_MAX_FILES', '30', integer(1, 10_000), 'rotated log files to keep, of each kind'),
  host: row('MOBILITY_HOST', '127.0.0.1', text, 'address the server listens on'),
  port: row('MOBILITY_PORT', '8080', integer(0, 65_535), 'port the server listens on; 0: any free port'),
  workers: row('MOBILITY_WORKERS', '2', integer(1, 256), 'processes that answer calls'),
  auth: row('MOBILITY_AUTH', 'token', oneOf('dev', 'token'), 'token, or dev (plain names, for development)'),
  openRegistration: row('MOBILITY_OPEN_REGISTRATION', 'false', flag, 'with dev: /profile/create registers any name'),
  devAnywhere: row('MOBILITY_DEV_ANYWHERE', 'false', flag, 'with dev: allow addresses other than loopback'),
  publicUrl: row('MOBILITY_PUBLIC_URL', '', webAddress, 'address of the server for phones, used in links and QR codes'),
  tiles: row('MOBILITY_TILES', '', text, 'PMTiles file of raster tiles behind the maps of days; default: no base map'),
  bodyLimitMiB: row('MOBILITY_BODY_LIMIT', '64', integer(1, 1024), 'largest body in MiB, also when decompressed'),
  mibPerDay: row(
    'MOBILITY_MIB_PER_DAY',
    '8192',
    integer(0, 10_000_000),
    'MiB that a worker accepts from one caller in a day; 0: no limit',
  ),
  pendingEntries: row(
    'MOBILITY_WAITING_ENTRIES',
    '2000000',
    integer(0, 1_000_000_000),
    'entries per user that may be pending or rejected; 0: no limit',
  ),
  trustedProxies: row(
    'MOBILITY_TRUSTED_PROXIES',
    '',
    networkList,
    'addresses or networks of proxies whose X-Forwarded-For names the caller, separated by commas',
  ),
  metrics: row('MOBILITY_METRICS', 'false', flag, 'answer GET /metrics with figures for Prometheus'),
  readyDiskMiB: row(
    'MOBILITY_READY_DISK',
    '100',
    integer(0, 1_000_000_000),
    'least free space on the disk of the store, MiB; with less, GET /readyz answers 503; 0: no limit',
  ),
  leaseSeconds: row('MOBILITY_LEASE_SECONDS', '60', integer(1, 86_400), 'seconds that the lease of a killed run lasts'),
};

/** The checked value of each setting. */
export type Config = { [Name in keyof typeof rows]: ReturnType<(typeof rows)[Name]['parse']> };

/** All settings in the order of docs/configuration.md. `meaning` states the unit. */
export const settings = Object.entries(rows).map(([name, one]) => ({ name: name as keyof Config, ...one }));

/** Takes each setting from its flag, else variable, else default. Throws `MOBILITY_CONFIG`. */
export function readConfig(
  env: Record<string, string | undefined>,
  flags: Partial<Record<keyof Config, string | boolean>> = {},
): Config {
  const found: Record<string, unknown> = {};
  for (const setting of settings) {
    const given = flags[setting.name];
    const value = given === undefined ? (env[setting.variable] ?? setting.default) : String(given);
    try {
      found[setting.name] = setting.parse(value);
    } catch (error) {
      const source = given === undefined ? setting.variable : flagOf(setting.name);
      throw new MobilityError(
        'MOBILITY_CONFIG',
        `${source}: expected ${(error as Error).message}, found ${JSON.stringify(value)}`,
      );
    }
  }
  const config = found as unknown as Config;
  if (config.logDir === '') {
    config.logDir = isMongoAddress(config.store) ? './logs' : join(folderIn(config.store), 'logs');
  }
  return config;
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
