// Every setting once: name, environment variable, default, unit, meaning. Flags of the command line override variables.
import { join } from 'node:path';
import { folderIn, isMongoAddress } from './model/address.ts';
import { MobilityError } from './model/errors.ts';

/** The settings of the program, checked and with defaults filled in. */
export interface Config {
  /** Store address: `sqlite:FOLDER`, a plain folder, or `mongodb://…`. */
  store: string;
  /** Folder of the server's and the pipeline's log files. */
  logDir: string;
  logLevel: 'debug' | 'info' | 'warning' | 'error';
  /** MiB a log file may reach before the next one begins. */
  logMaxSizeMiB: number;
  /** Rotated log files kept, of each kind. */
  logMaxFiles: number;
  host: string;
  port: number;
  /** Server processes. */
  workers: number;
  auth: 'dev' | 'token';
  /** Lets `/profile/create` register names that nobody preloaded. */
  openRegistration: boolean;
  /** Lets the method `dev` listen on other addresses than loopback. */
  devAnywhere: boolean;
  /** Address at which phones reach the server; empty: not known. */
  publicUrl: string;
  /** largest request body in MiB, compressed and decompressed. */
  bodyLimitMiB: number;
  /** MiB of request bodies that one server process holds at once before it answers 503. */
  waitingLimitMiB: number;
  /** Calls of one caller a minute; 0: no limit. */
  callsPerMinute: number;
  /** Calls of one caller a day; 0: no limit. */
  callsPerDay: number;
  /** MiB that one caller sends a minute; 0: no limit. */
  mibPerMinute: number;
  /** MiB that one caller sends a day; 0: no limit. */
  mibPerDay: number;
  /** Entries of one user that may wait for the pipeline; 0: no limit. */
  waitingEntries: number;
  /** Different keys unknown to the service that one user may use; 0: no limit. */
  unknownKeys: number;
  /** Connections that one server process has open at once. */
  maxConnections: number;
  /** %; apps show a suggested label that is more probable than this. */
  suggestFrom: number;
  /** %; a trip with a set of labels this probable is not asked about; 100: every trip is. */
  suggestSure: number;
  /** People that figures of everybody stand for at least; 0: there are none. */
  leastPeople: number;
  /** Answers `GET /metrics`. */
  metrics: boolean;
  /** MiB that must be free on the disk of the store for `GET /readyz` to answer 200; 0: any. */
  readyDiskMiB: number;
  /** Waiting entries of all users up to which `GET /readyz` answers 200; 0: any number. */
  readyWaiting: number;
  /** s; how long a killed pipeline run keeps its user. */
  leaseSeconds: number;
  /** s; how long a stopping server waits for running calls. */
  drainSeconds: number;
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
    name: 'logMaxSizeMiB',
    variable: 'MOBILITY_LOG_MAX_SIZE',
    default: '100',
    meaning: 'MiB at which a log file is rotated',
    parse: integer(1, 10_000),
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
    meaning: 'address at which phones reach the server, for links and QR codes',
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
    name: 'waitingLimitMiB',
    variable: 'MOBILITY_WAITING_LIMIT',
    default: '64',
    meaning: 'MiB of request bodies that one server process holds at once; others wait, and get 503 after 30 s',
    parse: integer(1, 65_536),
  },
  {
    name: 'callsPerMinute',
    variable: 'MOBILITY_CALLS_PER_MINUTE',
    default: '3000',
    meaning: 'calls per caller and minute; 0: no limit',
    parse: integer(0, 1_000_000),
  },
  {
    name: 'callsPerDay',
    variable: 'MOBILITY_CALLS_PER_DAY',
    default: '100000',
    meaning: 'calls per caller and day; 0: no limit',
    parse: integer(0, 100_000_000),
  },
  {
    name: 'mibPerMinute',
    variable: 'MOBILITY_MIB_PER_MINUTE',
    default: '512',
    meaning: 'MiB received per caller and minute; 0: no limit',
    parse: integer(0, 1_000_000),
  },
  {
    name: 'mibPerDay',
    variable: 'MOBILITY_MIB_PER_DAY',
    default: '8192',
    meaning: 'MiB received per caller and day; 0: no limit',
    parse: integer(0, 10_000_000),
  },
  {
    name: 'waitingEntries',
    variable: 'MOBILITY_WAITING_ENTRIES',
    default: '2000000',
    meaning: 'entries per user that may wait for the pipeline; 0: no limit',
    parse: integer(0, 1_000_000_000),
  },
  {
    name: 'unknownKeys',
    variable: 'MOBILITY_UNKNOWN_KEYS',
    default: '1000',
    meaning: 'different unknown keys that one user may push; 0: no limit',
    parse: integer(0, 1_000_000),
  },
  {
    name: 'maxConnections',
    variable: 'MOBILITY_MAX_CONNECTIONS',
    default: '5000',
    meaning: 'open connections per server process',
    parse: integer(1, 1_000_000),
  },
  {
    name: 'suggestFrom',
    variable: 'MOBILITY_SUGGEST_FROM',
    default: '55',
    meaning: '% from which the app shows a label that the server suggests',
    parse: integer(0, 100),
  },
  {
    name: 'suggestSure',
    variable: 'MOBILITY_SUGGEST_SURE',
    default: '95',
    meaning: '% from which the app does not ask about a trip; 100: it asks about every trip',
    parse: integer(1, 100),
  },
  {
    name: 'leastPeople',
    variable: 'MOBILITY_LEAST_PEOPLE',
    default: '0',
    meaning: 'fewest people behind a figure of everybody in the app, 5 or more; 0: no such figures',
    parse: (value) => (value === '0' ? 0 : integer(5, 1_000_000)(value)),
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
    name: 'readyWaiting',
    variable: 'MOBILITY_READY_WAITING',
    default: '0',
    meaning: 'waiting entries of all users above which GET /readyz answers 503; 0: any number',
    parse: integer(0, 1_000_000_000),
  },
  {
    name: 'leaseSeconds',
    variable: 'MOBILITY_LEASE_SECONDS',
    default: '60',
    meaning: 'seconds until the lease of a pipeline run that was killed expires',
    parse: integer(1, 86_400),
  },
  {
    name: 'drainSeconds',
    variable: 'MOBILITY_DRAIN_SECONDS',
    default: '30',
    meaning: 'seconds that a stopping server waits for running calls',
    parse: integer(1, 3600),
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
