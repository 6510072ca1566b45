// Every setting once: name, environment variable, default, unit, meaning. Flags of the command line override variables.
import { join } from 'node:path';
import { folderIn, isMongoAddress } from './model/address.ts';
import { MobilityError } from './model/mobility-error.ts';
import { networksOf } from './model/networks.ts';

/** The settings of the program, checked and with defaults filled in. */
export interface Config {
  /** Store address: `sqlite:FOLDER`, a plain folder, or `mongodb://…`. */
  store: string;
  /** Folder of the server's and the pipeline's log files. */
  logDir: string;
  logLevel: 'debug' | 'info' | 'warning' | 'error';
  /** Rotated log files kept, of each kind. */
  logMaxFiles: number;
  host: string;
  port: number;
  /** Server processes. */
  workers: number;
  auth: 'dev' | 'token';
  /** Lets `/profile/create` register names that are not preloaded. */
  openRegistration: boolean;
  /** Lets the method `dev` listen on other addresses than loopback. */
  devAnywhere: boolean;
  /** Address of the server for phones; empty: not set. */
  publicUrl: string;
  /** A file of raster tiles behind the maps of days, see `openTiles`; empty: none. */
  tiles: string;
  /** Largest request body in MiB, compressed and decompressed. */
  bodyLimitMiB: number;
  /** MiB that one caller sends to a server process a day; 0: no limit. */
  mibPerDay: number;
  /** Entries of one user that may wait for the pipeline; 0: no limit. */
  waitingEntries: number;
  /** Addresses and networks of proxies whose `X-Forwarded-For` names the caller, separated by commas. */
  trustedProxies: string;
  /** Answers `GET /metrics`. */
  metrics: boolean;
  /** MiB that must be free on the disk of the store for `GET /readyz` to answer 200; 0: any. */
  readyDiskMiB: number;
  /** s; how long a killed pipeline run keeps its user. */
  leaseSeconds: number;
}

interface Setting {
  name: keyof Config;
  variable: string;
  default: string;
  meaning: string;
  parse: (text: string) => unknown;
}

const text = (value: string): string => value;
const oneOf =
  (...allowed: string[]) =>
  (value: string): string => {
    if (!allowed.includes(value)) throw new TypeError(`one of ${allowed.join(', ')}`);
    return value;
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

/** The table of settings, in the order of docs/configuration.md. */
export const settings: readonly Setting[] = [
  {
    name: 'store',
    variable: 'MOBILITY_STORE',
    default: 'sqlite:./data',
    meaning: 'store address: sqlite:FOLDER or mongodb://…',
    parse: text,
  },
  {
    name: 'logDir',
    variable: 'MOBILITY_LOG_DIR',
    default: '',
    meaning: "folder of the log files; default: logs in the store's folder, or ./logs",
    parse: text,
  },
  {
    name: 'logLevel',
    variable: 'MOBILITY_LOG_LEVEL',
    default: 'debug',
    meaning: 'lowest level that is logged: debug, info, warning or error',
    parse: oneOf('debug', 'info', 'warning', 'error'),
  },
  {
    name: 'logMaxFiles',
    variable: 'MOBILITY_LOG_MAX_FILES',
    default: '30',
    meaning: 'number of rotated log files to keep, of each kind',
    parse: integer(1, 10_000),
  },
  {
    name: 'host',
    variable: 'MOBILITY_HOST',
    default: '127.0.0.1',
    meaning: 'address the server listens on',
    parse: text,
  },
  {
    name: 'port',
    variable: 'MOBILITY_PORT',
    default: '8080',
    meaning: 'port the server listens on; 0: any free port',
    parse: integer(0, 65_535),
  },
  {
    name: 'workers',
    variable: 'MOBILITY_WORKERS',
    default: '2',
    meaning: 'processes that answer calls',
    parse: integer(1, 256),
  },
  {
    name: 'auth',
    variable: 'MOBILITY_AUTH',
    default: 'token',
    meaning: 'how callers identify themselves: token, or dev (plain names, for development)',
    parse: oneOf('dev', 'token'),
  },
  {
    name: 'openRegistration',
    variable: 'MOBILITY_OPEN_REGISTRATION',
    default: 'false',
    meaning: 'with dev: /profile/create registers any name',
    parse: flag,
  },
  {
    name: 'devAnywhere',
    variable: 'MOBILITY_DEV_ANYWHERE',
    default: 'false',
    meaning: 'with dev: allow addresses other than loopback',
    parse: flag,
  },
  {
    name: 'publicUrl',
    variable: 'MOBILITY_PUBLIC_URL',
    default: '',
    meaning: 'address of the server for phones, used in links and QR codes',
    parse: text,
  },
  {
    name: 'tiles',
    variable: 'MOBILITY_TILES',
    default: '',
    meaning: 'PMTiles file of raster tiles behind the maps of days; default: no base map',
    parse: text,
  },
  {
    name: 'bodyLimitMiB',
    variable: 'MOBILITY_BODY_LIMIT',
    default: '64',
    meaning: 'largest request body in MiB, compressed and decompressed',
    parse: integer(1, 1024),
  },
  {
    name: 'mibPerDay',
    variable: 'MOBILITY_MIB_PER_DAY',
    default: '8192',
    meaning: 'MiB that a worker receives of one caller a day; 0: no limit',
    parse: integer(0, 10_000_000),
  },
  {
    name: 'waitingEntries',
    variable: 'MOBILITY_WAITING_ENTRIES',
    default: '2000000',
    meaning: 'entries per user that may be pending or rejected; 0: no limit',
    parse: integer(0, 1_000_000_000),
  },
  {
    name: 'trustedProxies',
    variable: 'MOBILITY_TRUSTED_PROXIES',
    default: '',
    meaning: 'addresses or networks of proxies whose X-Forwarded-For names the caller, separated by commas',
    parse: networkList,
  },
  {
    name: 'metrics',
    variable: 'MOBILITY_METRICS',
    default: 'false',
    meaning: 'answer GET /metrics with figures for Prometheus',
    parse: flag,
  },
  {
    name: 'readyDiskMiB',
    variable: 'MOBILITY_READY_DISK',
    default: '100',
    meaning: 'MiB free on the disk of the store below which GET /readyz answers 503; 0: any',
    parse: integer(0, 1_000_000_000),
  },
  {
    name: 'leaseSeconds',
    variable: 'MOBILITY_LEASE_SECONDS',
    default: '60',
    meaning: 'seconds until the lease of a pipeline run that was killed expires',
    parse: integer(1, 86_400),
  },
];

/**
 * The configuration in force: `flags` (texts as given on the command line, undefined: not given), else `env`, else
 * defaults. Throws `MOBILITY_CONFIG` naming the setting, what was found and what was expected.
 */
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
  if (config.logDir === '') config.logDir = defaultLogDir(config.store);
  return config;
}

/** `logDir` -> `--log-dir` */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `logs` in the folder of an embedded store; `./logs` beside any other. */
function defaultLogDir(store: string): string {
  if (isMongoAddress(store)) return './logs';
  return join(folderIn(store), 'logs');
}
