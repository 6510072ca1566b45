// The travel modes. CONTRIBUTING.md says how to add one.
import { motionTypes } from './payloads.ts';

/** Evaluations and flags do not distinguish modes of one class. */
export type ModeClass = 'walk' | 'bike' | 'scooter' | 'car' | 'bus' | 'rail' | 'motor' | 'still' | 'other';

/** Two looks never differ by colour alone. `light`, `dark`: colours on light and dark pages. */
export interface ModeLook {
  light: string;
  dark: string;
  /** Width and `stroke-dasharray` of lines. An empty dash: solid. */
  width: number;
  dash: string;
  /** A second line within the first, in the colour of the page. */
  core?: readonly [width: number, dash: string];
  /** An SVG path that fills bars, and the size of its tile. An empty path: a plain fill. */
  pattern: string;
  tile: readonly [width: number, height: number];
  character: string;
  /** One of the 256 colours of a terminal. Its contrast to black and white is 3 to 1 or more. */
  terminal: number;
}

interface ModeRow {
  name: string;
  /** Names that follow `PredictedModeTypes.` or `MotionTypes.`, the usual name first. */
  wire: readonly string[];
  labels?: readonly string[];
  class: ModeClass;
  /** m/s, the greatest `knownAverage` (physical limit, by hand). Default: 90. */
  fastest?: number;
  /** False: a correction cannot state the mode. It can never state a mode without a name in `wire`. */
  isStated?: false;
  /** Names with an icon in e-mission's app, and their codes; 0: no code. Default: UNKNOWN. */
  app?: Readonly<Record<string, number>>;
  /** The motion that a phone reports. Default: UNKNOWN. */
  motion?: keyof typeof motionTypes;
  /** The look, or the name of another mode with the same look and drawing. Default: `other`. */
  look?: ModeLook | string;
}

/**
 * Legends and forms have this order. Any two colours of a theme differ by 20 or more in CIE Lab,
 * also for people who see no red, green or blue (Machado 2009). Contrast to the page: over 4.5.
 */
export const travelModes = [
  {
    name: 'walking',
    wire: ['WALKING', 'ON_FOOT', 'RUNNING'],
    labels: ['WALK', 'RUN', 'FOOT'],
    class: 'walk',
    fastest: 4,
    app: { WALKING: 1, ON_FOOT: 0 },
    motion: 'ON_FOOT',
    look: {
      light: '#1e8159',
      dark: '#3cdaa5',
      width: 3.6,
      dash: '0 5.4',
      pattern: 'M.65 2a1.35 1.35 0 1 0 2.7 0a1.35 1.35 0 1 0-2.7 0',
      tile: [4, 4],
      character: '•',
      terminal: 29,
    },
  },
  {
    name: 'bicycling',
    wire: ['BICYCLING', 'ON_BICYCLE'],
    labels: ['E_BIKE', 'BIKE', 'BICYCLE', 'CYCLING', 'EBIKE', 'PILOT_EBIKE', 'BIKESHARE'],
    class: 'bike',
    fastest: 14,
    app: { BICYCLING: 2 },
    motion: 'BICYCLING',
    look: {
      light: '#0a4e9c',
      dark: '#98bdff',
      width: 3,
      dash: '8 3.5',
      pattern: 'M0 4 4 0h2L0 6zM4 6 6 4v2z',
      tile: [6, 6],
      character: '▒',
      terminal: 69,
    },
  },
  {
    name: 'scooter',
    wire: [],
    labels: ['ESCOOTER', 'SCOOTER', 'E_SCOOTER', 'SCOOTERSHARE'],
    class: 'scooter',
    fastest: 14,
    motion: 'IN_VEHICLE',
  },
  {
    name: 'car',
    wire: ['CAR'],
    labels: 'TAXI DROVE_ALONE SHARED_RIDE CARPOOL DRIVING DRIVE E_CAR_DROVE_ALONE E_CAR_SHARED_RIDE E_CAR'.split(' '),
    class: 'car',
    fastest: 60,
    app: { CAR: 5 },
    motion: 'IN_VEHICLE',
    look: {
      light: '#7d3a0d',
      dark: '#d58b4b',
      width: 4,
      dash: '',
      pattern: '',
      tile: [6, 6],
      character: '█',
      terminal: 202,
    },
  },
  {
    name: 'bus',
    wire: ['BUS', 'TROLLEYBUS'],
    labels: ['FREE_SHUTTLE', 'SHUTTLE'],
    class: 'bus',
    fastest: 40,
    app: { BUS: 3, TROLLEYBUS: 0 },
    motion: 'IN_VEHICLE',
    look: {
      light: '#cc3e90',
      dark: '#f46ab6',
      width: 5,
      dash: '',
      core: [1.6, ''],
      pattern: 'M0 0h6v4h-6zM0 6h6v4h-6z',
      tile: [6, 10],
      character: '▓',
      terminal: 163,
    },
  },
  {
    name: 'tram',
    wire: ['TRAM'],
    labels: ['TRAMWAY'],
    class: 'rail',
    app: { TRAM: 8 },
    motion: 'IN_VEHICLE',
    look: 'train',
  },
  {
    name: 'light_rail',
    wire: ['LIGHT_RAIL'],
    class: 'rail',
    app: { LIGHT_RAIL: 9 },
    motion: 'IN_VEHICLE',
    look: 'train',
  },
  {
    name: 'subway',
    wire: ['SUBWAY'],
    labels: ['METRO'],
    class: 'rail',
    app: { SUBWAY: 7 },
    motion: 'IN_VEHICLE',
    look: 'train',
  },
  {
    name: 'train',
    wire: ['TRAIN'],
    labels: ['RAIL'],
    class: 'rail',
    app: { TRAIN: 4 },
    motion: 'IN_VEHICLE',
    look: {
      light: '#6736ca',
      dark: '#a68aff',
      width: 5,
      dash: '',
      core: [2.4, '5 5'],
      pattern: 'M0 0h3v6h-3z',
      tile: [5, 6],
      character: '═',
      terminal: 92,
    },
  },
  {
    name: 'ferry',
    wire: ['FERRY'],
    class: 'other',
    app: { FERRY: 0 },
    motion: 'IN_VEHICLE',
  },
  {
    name: 'air',
    wire: ['AIR_OR_HSR', 'AIR'],
    class: 'other',
    fastest: 340,
    app: { AIR_OR_HSR: 6, AIR: 0 },
    motion: 'AIR_OR_HSR',
  },
  {
    name: 'unknown',
    wire: ['UNKNOWN', 'TILTING', 'NONE', 'NO_SENSED'],
    class: 'other',
    app: { UNKNOWN: 0 },
  },
  {
    name: 'vehicle',
    wire: ['IN_VEHICLE', 'STOPPED_WHILE_IN_VEHICLE'],
    labels: ['MOPED'],
    class: 'motor',
    isStated: false,
    app: { IN_VEHICLE: 0 },
    motion: 'IN_VEHICLE',
    look: {
      light: '#907300',
      dark: '#e5c34a',
      width: 4,
      dash: '10 3 3 3',
      pattern: 'M0 0h6v6h-6zM2 2v2h2v-2z',
      tile: [6, 6],
      character: '■',
      terminal: 58,
    },
  },
  {
    name: 'still',
    wire: ['STILL'],
    labels: ['STOPPED'],
    class: 'still',
    isStated: false,
  },
  {
    name: 'other',
    wire: [],
    class: 'other',
    look: {
      light: '#3b3f46',
      dark: '#e0e5eb',
      width: 3,
      dash: '4 7',
      pattern: 'M0 0h5v1.5h-5zM0 1.5h1.5v3.5h-1.5z',
      tile: [5, 5],
      character: '┃',
      terminal: 246,
    },
  },
] as const satisfies readonly ModeRow[];

type Row = (typeof travelModes)[number];

export type ModeName = Row['name'];

export type LookName = Extract<Row, { look: object }>['name'];

const rows: readonly ModeRow[] = travelModes;
const byName = new Map(rows.map((mode) => [mode.name, mode]));
const byWireName = new Map(rows.flatMap((mode) => mode.wire.map((name) => [name, mode])));
const byAnyName = new Map(rows.flatMap((mode) => [...mode.wire, ...(mode.labels ?? [])].map((name) => [name, mode])));

const wireName = (sensedMode: string): string => sensedMode.slice(sensedMode.lastIndexOf('.') + 1).toUpperCase();

/** Accepts a `sensed_mode`, or a label such as `light rail`. */
const findMode = (text: string): ModeRow | undefined =>
  byAnyName.get(
    wireName(text)
      .trim()
      .replace(/[\s-]+/g, '_'),
  );

/** `PredictedModeTypes.LIGHT_RAIL` -> `light_rail` */
export function plainMode(sensedMode: string): string {
  const name = wireName(sensedMode);
  return byWireName.get(name)?.name ?? name.toLowerCase();
}

/** `PredictedModeTypes.LIGHT_RAIL` and `light rail` give `rail`. */
export const modeClass = (text: string): ModeClass => findMode(text)?.class ?? 'other';

/** Finds the mode that a label names; null: the label is not a means of travel. */
export function modeOfLabel(label: string): ModeName | null {
  const name = findMode(label)?.name as ModeName | undefined;
  return name === undefined || name === 'unknown' || name === 'still' ? null : name;
}

/** `bus` -> `PredictedModeTypes.BUS` */
export function sensedModeOf(mode: string): string {
  if (mode === 'unknown') return 'MotionTypes.UNKNOWN';
  return `PredictedModeTypes.${byName.get(mode)?.wire[0] ?? mode.toUpperCase()}`;
}

export const fastestIn = (sensedMode: string): number => findMode(sensedMode)?.fastest ?? 90;

/** m/s; 0 under 500 m, because a short path between estimated bounds can have any average (by hand) */
export const knownAverage = (metres: number, seconds: number): number => (metres < 500 ? 0 : metres / seconds);

type DistanceColumn = 'walking_m' | 'bicycling_m' | 'car_m' | 'public_transport_m' | 'other_m';

const distanceColumns: Partial<Record<ModeClass, DistanceColumn>> = {
  walk: 'walking_m',
  bike: 'bicycling_m',
  car: 'car_m',
  bus: 'public_transport_m',
  rail: 'public_transport_m',
};

export const distanceColumn = (mode: string): DistanceColumn =>
  distanceColumns[byName.get(mode)?.class ?? 'other'] ?? 'other_m';

/** `name`: the mode that defines the look, which several modes may share. */
export function modeLook(mode: string): ModeLook & { name: string } {
  const look = byName.get(mode)?.look ?? 'other';
  return typeof look === 'string' ? modeLook(look) : { name: mode, ...look };
}

/** The modes that a correction can state, such as `air_or_hsr`. */
export const statedModes = rows
  .filter(({ wire, isStated = true }) => isStated && wire.length > 0)
  .map(({ wire }) => wire[0]!.toLowerCase());

export function inferredMode(sensedMode: string): { name: string; code: number } {
  const name = wireName(sensedMode);
  const codes = byWireName.get(name)?.app ?? { UNKNOWN: 0 };
  const known = Object.hasOwn(codes, name) ? name : Object.keys(codes)[0]!;
  return { name: known, code: codes[known]! };
}

/** Returns the type of motion for a mode. Phones have one type for all vehicles. */
export function motionMode(sensedMode: string): { name: string; code: number } {
  const name = byWireName.get(wireName(sensedMode))?.motion ?? 'UNKNOWN';
  return { name, code: motionTypes[name] };
}
