// Classes of modes: one for all names of a mode, and for the words with which people label it.

/** A class of modes. */
export type ModeClass = 'walk' | 'bike' | 'scooter' | 'car' | 'bus' | 'rail' | 'motor' | 'still' | 'other';

/** Names of modes, and words of the usual sets of labels. */
const classNames: Record<Exclude<ModeClass, 'other'>, readonly string[]> = {
  walk: ['WALKING', 'ON_FOOT', 'RUNNING', 'WALK', 'RUN', 'FOOT'],
  bike: ['BICYCLING', 'ON_BICYCLE', 'E_BIKE', 'BIKE', 'BICYCLE', 'CYCLING', 'EBIKE', 'PILOT_EBIKE', 'BIKESHARE'],
  scooter: ['ESCOOTER', 'SCOOTER', 'E_SCOOTER', 'SCOOTERSHARE'],
  car: [
    'CAR',
    'TAXI',
    'DROVE_ALONE',
    'SHARED_RIDE',
    'CARPOOL',
    'DRIVING',
    'DRIVE',
    'E_CAR_DROVE_ALONE',
    'E_CAR_SHARED_RIDE',
  ],
  bus: ['BUS', 'FREE_SHUTTLE', 'SHUTTLE'],
  rail: ['TRAIN', 'LIGHT_RAIL', 'TRAM', 'SUBWAY', 'TRAMWAY', 'METRO', 'RAIL'],
  motor: ['IN_VEHICLE', 'STOPPED_WHILE_IN_VEHICLE'],
  still: ['STILL', 'STOPPED'],
};
const classByName = new Map(
  Object.entries(classNames).flatMap(([name, modes]) => modes.map((mode) => [mode, name as ModeClass])),
);

/** `PredictedModeTypes.LIGHT_RAIL`, `light rail` -> `rail`. */
export function modeClass(mode: string): ModeClass {
  const name = mode.slice(mode.lastIndexOf('.') + 1);
  return (
    classByName.get(
      name
        .trim()
        .toUpperCase()
        .replace(/[\s-]+/g, '_'),
    ) ?? 'other'
  );
}

/** m/s; over 500 m or more nobody is faster on average in a mode of the class (physical, by hand). */
export const fastest = { walk: 4, bike: 14, scooter: 14, car: 60, bus: 40, rail: 90, motor: 90 } as const;
