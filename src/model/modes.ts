// The travel modes. CONTRIBUTING.md says how to add one.
import { motionTypes } from './payloads.ts';

/** The class of a mode. Evaluations and flags do not distinguish modes of one class. */
export type ModeClass = 'walk' | 'bike' | 'scooter' | 'car' | 'bus' | 'rail' | 'motor' | 'still' | 'other';

/** The look of a mode on pages and in a terminal. Two looks never differ by colour alone. */
export interface ModeLook {
  /** Colours, on a light and on a dark page. */
  light: string;
  dark: string;
  /** Width and `stroke-dasharray` of lines. An empty dash: solid. */
  width: number;
  dash: string;
  /** Width and dash of a second line within the first, in the colour of the page. */
  core?: readonly [width: number, dash: string];
  /** SVG path that is repeated in bars, and the size of its tile. An empty path: a plain fill. */
  pattern: string;
  tile: readonly [width: number, height: number];
  /** Fills bars in a terminal. */
  character: string;
  /** Colour in a terminal with 256 colours. Its contrast against black and white is 3 to 1 or more. */
  terminal: number;
}

interface ModeRow {
  /** The name in exports and pages, and the key of texts. */
  name: string;
  /** Names in a `sensed_mode`, after `PredictedModeTypes.` or `MotionTypes.`. The first is the usual one. */
  wire: readonly string[];
  /** Other names in the usual sets of labels. */
  labels?: readonly string[];
  class: ModeClass;
  /** m/s, default 90: the greatest average over 500 m or more in this mode (physical limit, by hand). */
  fastest?: number;
  /** False if a correction cannot state the mode. A mode without a name in `wire` cannot be stated either. */
  isStated?: false;
  /**
   * The names of this mode for which e-mission's phone app has an icon, each with the app's number for the mode; 0: the
   * app has no number. Default: UNKNOWN.
   */
  app?: Readonly<Record<string, number>>;
  /** The motion type that a phone reports in this mode. Default: UNKNOWN. */
  motion?: keyof typeof motionTypes;
  /** The look of this mode, or the name of another mode whose look and drawing are used. Default: `other`. */
  look?: ModeLook | string;
}

/**
 * All modes, in the order of legends and forms. Any two colours of a theme differ by 20 or more in CIE Lab, also for
 * people who see no red, no green or no blue (Machado 2009). The contrast of each to its page is 4.5 to 1 or more.
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
    labels: [
      'TAXI',
      'DROVE_ALONE',
      'SHARED_RIDE',
      'CARPOOL',
      'DRIVING',
      'DRIVE',
      'E_CAR_DROVE_ALONE',
      'E_CAR_SHARED_RIDE',
      'E_CAR',
    ],
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

/** Finds the mode of a `sensed_mode`, or of a label such as `light rail`. */
const findMode = (text: string): ModeRow | undefined =>
  byAnyName.get(
    wireName(text)
      .trim()
      .replace(/[\s-]+/g, '_'),
  );

/** The name of a mode without its type: `PredictedModeTypes.LIGHT_RAIL` gives `light_rail`. */
export function plainMode(sensedMode: string): string {
  const name = wireName(sensedMode);
  return byWireName.get(name)?.name ?? name.toLowerCase();
}

/** The class of a mode by any of its names: `PredictedModeTypes.LIGHT_RAIL` and `light rail` give `rail`. */
export const modeClass = (text: string): ModeClass => findMode(text)?.class ?? 'other';

/** The mode of a label such as `drove_alone`; null: the label is not a means of travel. */
export function modeOfLabel(label: string): ModeName | null {
  const name = findMode(label)?.name as ModeName | undefined;
  return name === undefined || name === 'unknown' || name === 'still' ? null : name;
}

/** Converts a stated mode to a `sensed_mode`: `bus` -> `PredictedModeTypes.BUS`. */
export function sensedModeOf(mode: string): string {
  if (mode === 'unknown') return 'MotionTypes.UNKNOWN';
  return `PredictedModeTypes.${byName.get(mode)?.wire[0] ?? mode.toUpperCase()}`;
}

/** m/s, the highest average speed over 500 m or more in this `sensed_mode` */
export const fastestIn = (sensedMode: string): number => findMode(sensedMode)?.fastest ?? 90;

type DistanceColumn = 'walking_m' | 'bicycling_m' | 'car_m' | 'public_transport_m' | 'other_m';

const distanceColumns: Partial<Record<ModeClass, DistanceColumn>> = {
  walk: 'walking_m',
  bike: 'bicycling_m',
  car: 'car_m',
  bus: 'public_transport_m',
  rail: 'public_transport_m',
};

/** The column of the table `days` that sums the distance of a mode with this plain name. */
export const distanceColumn = (mode: string): DistanceColumn =>
  distanceColumns[byName.get(mode)?.class ?? 'other'] ?? 'other_m';

/** The look of a mode. `name`: the mode that defines the look, which is another mode if several have the same look. */
export function modeLook(mode: string): ModeLook & { name: string } {
  const look = byName.get(mode)?.look ?? 'other';
  return typeof look === 'string' ? modeLook(look) : { name: mode, ...look };
}

/** The modes that a correction can state, in lower case, such as `air_or_hsr`. */
export const statedModes = rows
  .filter(({ wire, isStated = true }) => isStated && wire.length > 0)
  .map(({ wire }) => wire[0]!.toLowerCase());

/** The name and code that e-mission's phone app has for a `sensed_mode`. */
export function inferredMode(sensedMode: string): { name: string; code: number } {
  const name = wireName(sensedMode);
  const codes = byWireName.get(name)?.app ?? { UNKNOWN: 0 };
  const known = Object.hasOwn(codes, name) ? name : Object.keys(codes)[0]!;
  return { name: known, code: codes[known]! };
}

/** The motion type of phones that corresponds to a `sensed_mode`. Phones have one type for all vehicles. */
export function motionMode(sensedMode: string): { name: string; code: number } {
  const name = byWireName.get(wireName(sensedMode))?.motion ?? 'UNKNOWN';
  return { name, code: motionTypes[name] };
}
